#!/bin/sh
# fuzz.sh [TARGET...]: builds the harnesses of tests/fuzz and gives each FUZZ_RUNS inputs (10 million), from those kept in
# tests/fuzz/corpus, those of tests/fixtures and what earlier calls found interesting (build-fuzz/corpus). It works in pieces of
# FUZZ_SECONDS (60), each a line here and in build-fuzz/pieces/TARGET, and goes on from there when called again: remove that file
# to count from 0. No piece begins while build-fuzz/pause exists. An input that crashes, takes more than a second or asks for
# 64 MB at once is left in build-fuzz/found, and its target ends there.
cd "$(dirname "$0")/.." || exit 1
runs=${FUZZ_RUNS:-10000000}
seconds=${FUZZ_SECONDS:-60}
targets=${*:-cifar npy tensor_json safetensors pth tfjs sweep archive image recipe http}
test -f build-fuzz/build.ninja || cmake --preset fuzz >/dev/null || exit 1
cmake --build --preset fuzz || exit 1
tests/fuzz/make_seeds.sh build-fuzz/seeds || exit 1
mkdir -p build-fuzz/found build-fuzz/pieces
# Leaks of libraries are not ours, and looking for them after each input takes long.
# Nor do all need the stack of each allocation: repeat what was found without these options to see it.
export ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=16:malloc_context_size=1 UBSAN_OPTIONS=print_stacktrace=1

# Bytes of the longest input that is made up; kept ones may be longer.
longest() {
  case $1 in
    image | archive | cifar) echo 8192 ;;
    safetensors | npy | pth) echo 4096 ;;
    *) echo 2048 ;;
  esac
}

fuzz() {  # TARGET ARGUMENT...
  fuzzed=$1
  shift
  build-fuzz/fuzz_$fuzzed -timeout=1 -rss_limit_mb=1024 -malloc_limit_mb=64 -artifact_prefix=build-fuzz/found/$fuzzed- "$@" \
    > build-fuzz/$fuzzed.log 2>&1
}

# Inputs, seconds, the longest time of one and the most memory of all pieces of a target.
sum() { awk '{ n += $1; s += $2; if ($3 > t) t = $3; if ($4 > m) m = $4 } END { print n + 0, s + 0, t + 0, m + 0 }' "$1"; }

failed=0
for target in $targets; do
  kept="tests/fuzz/corpus/$target build-fuzz/seeds/$target"
  pieces=build-fuzz/pieces/$target
  dictionary=""
  [ -f tests/fuzz/$target.dict ] && dictionary=-dict=tests/fuzz/$target.dict
  mkdir -p build-fuzz/corpus/$target
  touch $pieces
  fuzz $target $(find $kept -type f)  # each whole, however long
  result=$?
  while [ $result = 0 ] && left=$((runs - $(sum $pieces | cut -d' ' -f1))) && [ $left -gt 0 ]; do
    while [ -e build-fuzz/pause ]; do sleep 5; done
    begin=$(date +%s)
    # A piece begins with all that is kept, which is no new input.
    fuzz $target -max_total_time=$seconds -runs=$((left + $(find build-fuzz/corpus/$target $kept -type f | wc -l) + 9)) \
      -max_len=$(longest $target) -entropic=0 -print_final_stats=1 $dictionary build-fuzz/corpus/$target $kept
    result=$?
    value() { sed -n "s/^stat::$1: *//p" build-fuzz/$target.log; }
    old=$(sed -n 's/^#\([0-9]*\)[[:space:]]*INITED.*/\1/p' build-fuzz/$target.log)
    echo $(($(value number_of_executed_units) - ${old:-0})) $(($(date +%s) - begin)) "$(value slowest_unit_time_sec)" \
      "$(value peak_rss_mb)" >> $pieces
    sum $pieces | awk -v t=$target -v r="$runs" -v now=$(date +%H:%M) \
      '{ printf "%s %s: %d of %d, %d per second, %d s left\n", now, t, $1, r, $1 / $2, (r - $1) * $2 / ($1 + 1) }'
  done
  [ $result = 0 ] && continue
  failed=1
  echo "$target: $(grep -m1 -E 'ERROR:|SUMMARY:|runtime error' build-fuzz/$target.log)"
done
echo
printf '%-12s %10s %10s %8s %8s\n' target inputs per_second slowest peak_MB
for target in $targets; do
  sum build-fuzz/pieces/$target | awk -v t=$target '{ printf "%-12s %10d %10d %8d %8d\n", t, $1, $1 / ($2 ? $2 : 1), $3, $4 }'
done
exit $failed
