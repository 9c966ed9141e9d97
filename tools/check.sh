#!/bin/sh
# check.sh [STEP...]: `make check`. Steps: address (address and undefined-behaviour sanitizers over all tests but the slow ones),
# thread (thread sanitizer over loader, sweep workers and server), tidy (clang-tidy), cppcheck. All are made, whatever fails.
cd "$(dirname "$0")/.." || exit 1

# TARGET... of PRESET, all if none is named.
build() {
  preset=$1
  shift
  test -f "build-$preset/build.ninja" || cmake --preset "$preset" >/dev/null || return 1
  cmake --build --preset "$preset" ${*:+--target} "$@"
}

# Leaks and double definitions are reported of libraries that are not ours.
address() {
  build asan &&
    ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
      ctest --test-dir build-asan -LE slow --output-on-failure -j2
}

# Torch and OpenMP are not compiled for the sanitizer, so it knows nothing of their locks: one thread in operators, and no
# reports from inside them. (It also needs the addresses that an older kernel would give: setarch -R.)
thread() {
  build tsan data_test sweep_test serve_test &&
    OMP_NUM_THREADS=1 TSAN_OPTIONS="suppressions=$PWD/tools/tsan_suppressions.txt halt_on_error=0 exitcode=66" \
      setarch -R ctest --test-dir build-tsan -R '^(data|sweep|serve)$' --output-on-failure
}

tidy() { tools/tidy.sh; }

# Without the headers of libraries: what it does not know it takes as it is.
cppcheck() {
  mkdir -p build-cppcheck
  command cppcheck --quiet --std=c++20 --language=c++ --enable=warning,performance,portability --inline-suppr -j 2 \
    '-DNLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(...)=' '-DNLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(...)=' \
    --cppcheck-build-dir=build-cppcheck --suppressions-list=tools/cppcheck_suppressions.txt --error-exitcode=1 -I . \
    --template='{file}:{line}: {severity}: {message} [{id}]' vitrine
}

failed=""
for step in ${*:-address thread tidy cppcheck}; do
  echo "== $step"
  $step || failed="$failed $step"
done
if [ -n "$failed" ]; then
  echo "failed:$failed"
  exit 1
fi
echo "all held"
