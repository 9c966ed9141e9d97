#!/bin/bash
# chaos.sh [CASE...]: interrupts training, sweeps, a study and the server at random moments, takes disk, folder and clock away
# from them, and checks that the same command then ends with the same bits as one that was never disturbed.
# KILLS=100: kills in all, dealt out to train, sparse, sweep, study and serve; SEED=N repeats their moments; VITRINE=FILE: the
# program.
cd "$(dirname "$0")/.." || exit 1
cases=${*:-train sparse sweep study serve terminate stop full_disk read_only vanished clock_back two_processes}
seed=${SEED:-$RANDOM}
kills=${KILLS:-100}
vitrine=$(realpath "${VITRINE:-build/vitrine}")
image=tests/fixtures/images/rgb.png

# Full disks and read-only folders are mounts that only this script and its children see.
if [ -z "$CHAOS_MOUNTS" ]; then
  namespaces=-m
  [ "$(id -u)" = 0 ] || namespaces=-rm
  export CHAOS_MOUNTS=no SEED=$seed
  ! unshare $namespaces true 2>/dev/null || CHAOS_MOUNTS=yes exec unshare $namespaces tools/chaos.sh "$@"
fi

RANDOM=$seed
work=$(mktemp -d /tmp/vitrine-chaos-XXXXXX)
log=$work/log.txt
child=
trap '[ -z "$child" ] || kill -KILL "$child" 2>/dev/null; exit 1' INT TERM

mkdir "$work/sweeps"
cat > "$work/train.yaml" <<'YAML'
name: classifier
seed: 3
model: {name: vit_c10_small, image: 16, patch: 4, dim: 32, depth: 2, heads: 2, hidden: 64, classes: 4, dropout: 0.1}
data:
  dataset: {name: synthetic, train: 320, test: 64, image: 16, classes: 4}
  batch: 16
  augment: {crop_padding: 2, flip: 0.5, mixup: 0.2}
train: {epochs: 6, optimizer: {kind: adamw, lr: 3e-3}, ema: 0.9, checkpoint_steps: 3, log_steps: 5}
YAML
head -c 12000 README.md > "$work/text"
cat > "$work/sparse.yaml" <<YAML
name: bytes
seed: 3
model: {name: sparse_c10_tiny, rows: 8, columns: 8, channels: 1, layers: 2, dim: 16, key_width: 8, hidden: 32,
        pattern: {kind: strided, stride: 8}}
data: {dataset: {name: bytes, file: $work/text, length: 64}, batch: 4, validation: 0.1}
train: {epochs: 4, optimizer: {kind: muon, lr: 3e-3, matrix_lr: 0.01}, checkpoint_steps: 5, clip: 1}
YAML
cat > "$work/study.yaml" <<'YAML'
name: study
model: {name: vit_c10_small, image: 32, patch: 8, dim: 32, depth: 2, heads: 2, hidden: 64}
data: {dataset: synthetic}
train: {optimizer: {kind: adamw, lr: 3e-3}, checkpoint_steps: 3}
YAML
cat > "$work/sweeps/sweep.yaml" <<'YAML'
name: rates
recipe: ../train.yaml
workers: 2
threads: 1
set: {train.epochs: 2}
grid: {train.optimizer.lr: [1e-3, 3e-3, 1e-2]}
YAML
cat > "$work/sweeps/rates.yaml" <<'YAML'
name: study-rates
recipe: ../study.yaml
workers: 2
threads: 1
list: {train.optimizer.lr: [1e-3, 3e-3]}
YAML

say() { printf '%-14s %s\n' "$1" "$2"; }
progress() { [ ! -t 2 ] || printf '\r\033[K%s' "$*" >&2; }
milliseconds() { echo $(($(date +%s%N) / 1000000)); }
seconds() { printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)); }
random_sleep() { sleep "$(seconds $((RANDOM * $1 / 32768)))"; }  # up to so many milliseconds

# broken TEXT: what went wrong, with the last lines of the program's messages.
broken() {
  echo "  broken: $1"
  tail -n 3 "$log" | tr '\r' '\n' | tail -n 3 | sed 's/^/    /'
  return 1
}

# The commands; each replaces this process. The same one starts, resumes or finds everything done.
train_with() {  # RECIPE RUN
  if [ -f "$2/checkpoints/resume.safetensors" ]; then exec "$vitrine" train --resume "$2"; fi
  rm -rf "$2"
  exec "$vitrine" train "$1" --threads 1 --run "$2"
}
run_train() { train_with "$work/train.yaml" "$1"; }
run_sparse() { train_with "$work/sparse.yaml" "$1"; }
run_sweep() { exec "$vitrine" sweep "$work/sweeps/sweep.yaml" --out "$1"; }
run_study() { exec "$vitrine" study scratch --smoke --sweeps "$work/sweeps" --lang en --out "$1"; }

start() { "run_$1" "$2" > "$log" 2>&1 & child=$!; }
# ends CODE: waits for the process and compares its exit code; a signal N gives 128 + N.
ends() {
  wait "$child" 2>/dev/null
  code=$?
  child=
  [ "$code" = "$1" ]
}
# finishes CASE FOLDER: the command ends well, with the bits of the undisturbed one.
finishes() {
  start "$1" "$2"
  ends 0 || broken "exit code $code" || return
  same "$work/$1-whole" "$2"
}
# refused TEXT COMMAND...: ends with exit code 1 and such a message.
refused() {
  local text=$1 log=$work/refused.txt
  shift
  "$@" > "$log" 2>&1
  code=$?
  [ $code = 1 ] || broken "exit code $code, expected 1: $*" || return
  grep -q -e "$text" "$log" || broken "the message has no '$text'"
}

# A file without what measures time.
timeless() {
  case $1 in
    *result.json) grep -v -e '"seconds"' -e '"peak_bytes"' -e '"checksum"' "$1" ;;
    *metrics.jsonl) sed -E 's/"(time|seconds|examples_per_second|waited_share)":[^,}]*//g' "$1" ;;
    *) cat "$1" ;;
  esac
}
# same WHOLE OTHER: all checkpoints, metrics and results of the first are in the second, and nothing half-written is.
same() {
  local file count=0
  while read -r file; do
    [ -f "$2/$file" ] || broken "$file is missing" || return
    cmp -s <(timeless "$1/$file") <(timeless "$2/$file") || broken "$file has other bits" || return
    count=$((count + 1))
  done < <(cd "$1" && find . -name best.safetensors -o -name last.safetensors -o -name result.json -o -name metrics.jsonl)
  [ $count -gt 0 ] || broken "there is nothing to compare" || return
  local runs=$2
  [ ! -d "$2/sweeps" ] || runs=$2/sweeps  # of a study
  [ -z "$(find "$runs" -name '*.tmp')" ] || broken "half-written files were left behind"
}
# whole CASE: the undisturbed result to compare with, and in `length` how long it took, in milliseconds.
declare -A lengths
whole() {
  local began
  began=$(milliseconds)
  if [ -z "${lengths[$1]}" ]; then
    start "$1" "$work/$1-whole"
    ends 0 || broken "undisturbed, exit code $code" || return
    lengths[$1]=$(($(milliseconds) - began))
  fi
  length=${lengths[$1]}
}
# written FILE: waits until the process has written that file of $run, and fails if it ends before.
written() {
  until [ -f "$run/$1" ]; do
    kill -0 "$child" 2>/dev/null || broken "it ended before it wrote $1" || return
    sleep 0.01
  done
}

# Kills a command COUNT times at any moment of its length; whenever it comes to its end, the result is compared and the next begins.
kill_case() {
  local name=$1 count=$2 done=0 runs=0 run=$work/$1-killed
  whole "$name" || return
  while :; do
    progress "$name: kill $done of $count"
    start "$name" "$run"
    if [ $done -lt "$count" ]; then
      random_sleep "$length"
      kill -KILL "$child" 2>/dev/null
    fi
    if ends 137; then
      done=$((done + 1))
    else
      [ $code = 0 ] || broken "exit code $code after $done kills" || return
      same "$work/$name-whole" "$run" || return
      runs=$((runs + 1))
      rm -rf "$run"
      [ $done -lt "$count" ] || break
    fi
  done
  result="$done kills, $runs results, each with the same bits"
}
case_train() { kill_case train "$1"; }
case_sparse() { kill_case sparse "$1"; }
case_sweep() { kill_case sweep "$1"; }
case_study() { kill_case study "$1"; }

# The server: killed while it starts and while four clients ask.
# (Images that are computed in one batch are equal to rounding only.)
ask() {
  curl -sf --max-time 60 --data-binary @$image "http://127.0.0.1:$port/v1/classify?top=4" > "$1" || return
  sed 's/,"milliseconds":.*//' "$1"
}
start_server() {
  : > "$log"
  "$vitrine" serve "model=$work/train-whole" --port "$port" --max-batch 1 --quiet --threads 1 > "$log" 2>&1 &
  child=$!
}
# The server's address is the last thing it says before it answers.
ready() {
  until grep -q 'serve: http' "$log"; do
    kill -0 "$child" 2>/dev/null || broken "the server ended" || return
    sleep 0.01
  done
}
client() {  # NUMBER
  local body
  while body=$(ask "$work/answer-$1"); do
    echo >> "$work/answers"
    [ "$body" = "$answer" ] || echo "$body" >> "$work/wrong"
  done
}
case_serve() {
  local count=$1 done=0 began port=0 answer clients i
  whole train || return
  : > "$work/answers"
  : > "$work/wrong"
  began=$(milliseconds)
  start_server
  ready || return
  length=$(($(milliseconds) - began))
  port=$(sed -n 's|.*serve: http://127.0.0.1:\([0-9]*\)/.*|\1|p' "$log")
  answer=$(ask "$work/answer") || broken "no answer" || return
  while [ $done -lt "$count" ]; do
    progress "serve: kill $done of $count"
    if [ $((RANDOM % 4)) = 0 ]; then  # while it starts
      random_sleep "$length"
      clients=
    else
      ready || return
      clients=
      for i in 1 2 3 4; do
        client $i &
        clients="$clients $!"
      done
      random_sleep 500
    fi
    kill -KILL "$child"
    ends 137 || broken "exit code $code" || return
    [ -z "$clients" ] || wait $clients
    done=$((done + 1))
    start_server
  done
  ready || return
  [ "$(ask "$work/answer")" = "$answer" ] || broken "another answer after $done kills" || return
  kill -TERM "$child"
  ends 0 || broken "exit code $code after SIGTERM" || return
  [ ! -s "$work/wrong" ] || broken "another answer: $(head -n 1 "$work/wrong")" || return
  result="$done kills under requests, $(wc -l < "$work/answers") answers, all the same; SIGTERM ends it with 0"
}

case_terminate() {
  local run=$work/terminated
  whole train || return
  start train "$run"
  written checkpoints/last.safetensors || return
  kill -TERM "$child"
  ends 1 || broken "exit code $code, expected 1" || return
  grep -q "resume with: vitrine train --resume" "$log" || broken "it does not say how to resume" || return
  finishes train "$run" || return
  result="SIGTERM: saved, exit code 1, resumed, same bits"
}

case_stop() {
  local run=$work/stopped stops=0
  whole train || return
  start train "$run"
  while sleep 0.1; kill -STOP "$child" 2>/dev/null; do
    sleep 0.1
    kill -CONT "$child" 2>/dev/null
    stops=$((stops + 1))
  done
  ends 0 || broken "exit code $code" || return
  same "$work/train-whole" "$run" || return
  result="$stops times SIGSTOP and SIGCONT, same bits"
}

case_full_disk() {
  [ $CHAOS_MOUNTS = yes ] || { skipped="may not mount"; return; }
  local run=$work/disk/run
  whole train || return
  mkdir "$work/disk" && mount -t tmpfs -o size=16m tmpfs "$work/disk" || return
  start train "$run"
  written checkpoints/last.safetensors || return
  kill -STOP "$child"
  cat /dev/zero > "$work/disk/filler" 2>/dev/null
  kill -CONT "$child"
  ends 1 || broken "exit code $code, expected 1" || return
  grep -q "No space left" "$log" || broken "it does not say that the disk is full" || return
  refused "No space left" "$vitrine" train --resume "$run" || return
  rm "$work/disk/filler"
  finishes train "$run" || return
  umount "$work/disk"
  result="full: exit code 1, twice; with space again resumed, same bits"
}

case_read_only() {
  [ $CHAOS_MOUNTS = yes ] || { skipped="may not mount"; return; }
  local parent=$work/read-only run=$work/read-only/run
  whole train || return
  mkdir "$parent"
  start train "$run"
  written checkpoints/last.safetensors || return
  kill -KILL "$child"
  ends 137 || broken "exit code $code" || return
  mount --bind "$parent" "$parent" && mount -o remount,ro,bind "$parent" || return
  refused "Read-only file system" "$vitrine" train "$work/train.yaml" --run "$parent/new" || return
  refused "Read-only file system" "$vitrine" train --resume "$run" || return
  umount "$parent"
  finishes train "$run" || return
  result="new run and resume: exit code 1; writable again resumed, same bits"
}

case_vanished() {
  local run=$work/vanishing
  whole train || return
  start train "$run"
  written checkpoints/last.safetensors || return
  mv "$run" "$work/moved"
  ends 1 || broken "exit code $code, expected 1" || return
  grep -q "$run" "$log" || broken "the message does not name the folder" || return
  [ ! -e "$run" ] || broken "the folder is there again" || return
  finishes train "$work/moved" || return
  result="folder moved away: exit code 1, names it; resumed where it is now, same bits"
}

case_clock_back() {
  local run=$work/clock
  whole train && whole sweep || return
  ${CC:-cc} -shared -fPIC -O1 -o "$work/clock_back.so" tools/chaos_clock.c || return
  start train "$run"
  written checkpoints/last.safetensors || return
  kill -KILL "$child"
  ends 137 || broken "exit code $code" || return
  LD_PRELOAD=$work/clock_back.so finishes train "$run" || return
  LD_PRELOAD=$work/clock_back.so finishes sweep "$work/clock-sweep" || return
  result="a day back at resume and an hour more each second: same bits, also of a sweep"
}

case_two_processes() {
  local run=$work/two second epochs
  whole train && whole sweep || return
  start train "$run"
  written checkpoints/resume.safetensors || return
  kill -STOP "$child"
  refused "another process is at work" "$vitrine" train --resume "$run" || return
  refused "another process is at work" "$vitrine" train "$work/train.yaml" --run "$run" || return
  kill -CONT "$child"
  ends 0 || broken "exit code $code" || return
  same "$work/train-whole" "$run" || return
  # Both at once, the second with another recipe: one is refused, the other is not disturbed.
  for _ in 1 2 3; do
    rm -rf "$run"
    "$vitrine" train "$work/train.yaml" --threads 1 --run "$run" > "$log" 2>&1 &
    child=$!
    "$vitrine" train "$work/train.yaml" train.epochs=5 --threads 1 --run "$run" > "$work/second.txt" 2>&1
    second=$?
    epochs=5
    ends 0 && epochs=6
    [ "$((code + second))" = 1 ] || broken "exit codes $code and $second, expected one 0 and one 1" || return
    [ $epochs = 5 ] || same "$work/train-whole" "$run" || return
    grep -q "epochs: $epochs" "$run/recipe.yaml" || broken "recipe.yaml is that of the refused run" || return
  done
  # And a second sweep.
  start sweep "$work/two-sweeps"
  run=$work/two-sweeps/rates
  written results.csv || return
  refused "another sweep is at work" "$vitrine" sweep "$work/sweeps/sweep.yaml" --out "$work/two-sweeps" || return
  ends 0 || broken "exit code $code of the first sweep" || return
  same "$work/sweep-whole" "$work/two-sweeps" || return
  result="6 times one is refused, the other not disturbed: same bits"
}

share=$(grep -o -w -E 'train|sparse|sweep|study|serve' <<< "$cases" | wc -l)
share=$((share > 0 ? (kills + share - 1) / share : 0))
echo "seed $seed, $kills kills; files in $work"
held=0
failed=0
left_out=0
for name in $cases; do
  result=
  skipped=
  progress "$name"
  if "case_$name" $share; then
    progress
    say "$name" "${skipped:+skipped: }$skipped$result"
    if [ -n "$skipped" ]; then left_out=$((left_out + 1)); else held=$((held + 1)); fi
  else
    failed=$((failed + 1))
    [ -z "$child" ] || { kill -KILL "$child"; wait "$child"; } 2>/dev/null
    child=
    say "$name" "FAILED"
  fi
done
echo "$held cases held, $failed failed, $left_out skipped (seed $seed)"
[ $failed = 0 ] || { echo "see $work"; exit 1; }
rm -rf "$work"
