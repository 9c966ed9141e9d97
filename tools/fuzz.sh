#!/bin/sh
# fuzz.sh [TARGET...]: builds the harnesses of tests/fuzz and gives each FUZZ_RUNS inputs (10 million), from those kept in
# tests/fuzz/corpus, those of tests/fixtures and what earlier calls found interesting (build-fuzz/corpus). An input that
# crashes, takes more than a second or asks for 64 MB at once is left in build-fuzz/found, and its target ends there.
cd "$(dirname "$0")/.." || exit 1
runs=${FUZZ_RUNS:-10000000}
longest=65536
targets=${*:-safetensors npy pth tfjs image recipe sweep cifar archive http tensor_json}
test -f build-fuzz/build.ninja || cmake --preset fuzz >/dev/null || exit 1
cmake --build --preset fuzz || exit 1
tests/fuzz/make_seeds.sh build-fuzz/seeds || exit 1
mkdir -p build-fuzz/found
failed=0
table=build-fuzz/table.txt
: > $table
for target in $targets; do
  mkdir -p build-fuzz/corpus/$target
  dictionary=""
  [ -f tests/fuzz/$target.dict ] && dictionary=-dict=tests/fuzz/$target.dict
  # Leaks of libraries are not ours, and looking for them after each input takes long.
  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 build-fuzz/fuzz_$target -runs=$runs -max_len=$longest \
    -timeout=1 -rss_limit_mb=1024 -malloc_limit_mb=64 -print_final_stats=1 -verbosity=1 $dictionary \
    -artifact_prefix=build-fuzz/found/$target- build-fuzz/corpus/$target tests/fuzz/corpus/$target build-fuzz/seeds/$target \
    > build-fuzz/$target.log 2>&1
  result=$?
  [ $result = 0 ] || failed=1
  value() { sed -n "s/^stat::$1: *//p" build-fuzz/$target.log; }
  printf '%-12s %12s %10s %8s %8s   %s\n' $target "$(value number_of_executed_units)" \
    "$(value average_exec_per_sec)" "$(value slowest_unit_time_sec)" "$(value peak_rss_mb)" \
    "$([ $result = 0 ] && echo held || grep -m1 -E 'ERROR:|SUMMARY:|runtime error' build-fuzz/$target.log)" | tee -a $table
done
echo
printf '%-12s %12s %10s %8s %8s   %s\n' target inputs per_second slowest peak_MB result
cat $table
exit $failed
