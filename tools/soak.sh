#!/bin/bash
# soak.sh [MINUTES]: trains a small classifier and serves another under the requests of four clients, both at once, for
# MINUTES (60), and watches their memory. Both must stay flat: the mean of the last tenth of the time may exceed that of the
# second tenth by 2 % at most. Samples are left in build/soak.csv. VITRINE=FILE: the program.
cd "$(dirname "$0")/.." || exit 1
minutes=${1:-60}
vitrine=$(realpath "${VITRINE:-build/vitrine}")
image=$(realpath tests/fixtures/images/rgb.png)
samples=$PWD/build/soak.csv
work=$(mktemp -d /tmp/vitrine-soak-XXXXXX)
children=
trap 'kill $children 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

cat > "$work/train.yaml" <<'YAML'
name: soak
seed: 3
model: {name: vit_c10_small, image: 16, patch: 4, dim: 48, depth: 3, heads: 3, hidden: 96, classes: 4, dropout: 0.1}
data:
  dataset: {name: synthetic, train: 4000, test: 400, image: 16, classes: 4}
  batch: 32
  augment: {crop_padding: 2, flip: 0.5, randaugment_ops: 2, mixup: 0.2}
train: {epochs: 1000000, optimizer: {kind: adamw, lr: 1e-3}, ema: 0.9, checkpoint_steps: 50, log_steps: 5}
YAML
fail() { echo "soak: $*" >&2; exit 1; }
"$vitrine" train "$work/train.yaml" train.epochs=1 --run "$work/served" --threads 1 > "$work/log" 2>&1 ||
  fail "training failed: $(tail -n 1 "$work/log")"

"$vitrine" train "$work/train.yaml" train.budget_seconds=$((minutes * 60)) train.schedule.over=budget \
  --run "$work/run" --threads 1 > "$work/train.log" 2>&1 &
trainer=$!
"$vitrine" serve "model=$work/served" --port 0 --quiet --threads 1 > "$work/serve.log" 2>&1 &
server=$!
children="$trainer $server"
until address=$(grep -o 'http://127.0.0.1:[0-9]*' "$work/serve.log"); do
  kill -0 $server 2>/dev/null || fail "the server ended: $(tail -n 1 "$work/serve.log")"
  sleep 0.1
done

# Asks until the server is stopped: images to classify, and their attention.
client() {
  while kill -0 $server 2>/dev/null; do
    for path in classify attention; do
      curl -s -o /dev/null -w '%{http_code}\n' --data-binary "@$image" "$address/v1/$path" >> "$work/answers.$1"
    done
  done
}
for i in 1 2 3 4; do client $i & children="$children $!"; done

resident() { awk '/^VmRSS/ {print $2 / 1024}' "/proc/$1/status" 2>/dev/null; }
echo "seconds,train_MB,serve_MB" > "$samples"
began=$SECONDS
while kill -0 $trainer 2>/dev/null && [ $((SECONDS - began)) -lt $((minutes * 60)) ]; do
  echo "$((SECONDS - began)),$(resident $trainer),$(resident $server)" >> "$samples"
  printf '\rsoak: minute %d of %d ' $(((SECONDS - began) / 60)) "$minutes" >&2
  sleep $((minutes < 10 ? 1 : 10))
done
echo >&2
kill -0 $server 2>/dev/null || fail "the server ended: $(tail -n 1 "$work/serve.log")"
kill -TERM $server
wait $server || fail "the server ended with exit code $?"
wait $trainer || fail "training ended with exit code $?: $(tail -n 1 "$work/train.log")"

echo "training: $(wc -l < "$work/run/metrics.jsonl") lines of metrics"
echo "serving: $(sort "$work"/answers.* | uniq -c | awk '{printf "%s answers of code %s  ", $1, $2}')"
awk -F, -v last=$((minutes * 60)) '
  NR > 1 && $2 && $3 { seconds[NR] = $1; train[NR] = $2; serve[NR] = $3 }
  function mean(values, from, to,   sum, n, i) {
    for (i in seconds) if (seconds[i] >= from * last && seconds[i] < to * last) { sum += values[i]; n++ }
    return n ? sum / n : 0
  }
  function judge(name, values,   early, late) {
    early = mean(values, 0.1, 0.2); late = mean(values, 0.9, 1)
    printf "%s: %.1f MB in the second tenth, %.1f MB in the last (%+.1f %%)\n", name, early, late, 100 * (late / early - 1)
    return late > 1.02 * early
  }
  END { bad = judge("memory of training", train) + judge("memory of serving", serve); exit bad > 0 }' "$samples" ||
  fail "memory grows"
grep -hv '^200$' "$work"/answers.* | grep -qv '^000$' && fail "some answers were no 200"
echo "soak: both stayed flat over $minutes minutes"
