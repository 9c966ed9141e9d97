#!/bin/sh
# try_network.sh: trains one model on three hosts, which are network namespaces of this machine: on a network without faults,
# on one with 20 ms of delay and 1 % of lost packets, and on one whose cable to host 3 is cut. Each run must end with the
# weights, bit for bit, of one process that accumulates the same parts. Prints a line for each and fails if one fails.
# Needs root, iproute2 and build/vitrine; where the kernel has no netem, Python and /dev/net/tun (tools/slow_switch.py).
cd "$(dirname "$0")/.." || exit 1
vitrine=$PWD/build/vitrine
tools=$PWD/tools
delay=20 loss=1 longest=30
steps=120  # of the recipe below: 20 epochs of 288 images in batches of 48
[ "$(id -u)" = 0 ] || { echo "try_network: network namespaces need root; run it as root" >&2; exit 2; }
[ -x "$vitrine" ] || { echo "try_network: there is no $vitrine; run make program" >&2; exit 2; }
work=$(mktemp -d)
log=$work/log
switch=""
failed=0

unplug() {
  [ -z "$switch" ] || { kill "$switch" && wait "$switch"; switch=""; }
  for i in 1 2 3; do ip netns del vitrine-$i; ip link del vitrine-p$i; done 2>/dev/null
  ip link del vitrine-br 2>/dev/null
}
finish() { unplug; rm -rf "$work"; }
trap finish EXIT
trap 'exit 1' INT TERM

# host I DEVICE: a host with this device as its only one to the outside.
host() {
  ip netns add vitrine-$1 && ip link set "$2" netns vitrine-$1 &&
    ip -n vitrine-$1 addr add 10.77.0.$1/24 dev "$2" && ip -n vitrine-$1 link set lo up &&
    ip -n vitrine-$1 link set "$2" up || { echo "try_network: cannot make host $1" >&2; exit 1; }
}

# Three hosts on a bridge; vitrine-pI is the bridge's end of host I's cable.
bridge() {
  ip link add vitrine-br type bridge && ip link set vitrine-br up || exit 1
  for i in 1 2 3; do
    ip link add vitrine-p$i type veth peer name vitrine-e$i || exit 1
    ip link set vitrine-p$i master vitrine-br up
    host $i vitrine-e$i
  done
}

# The same with delay and loss on each way.
slow_network() {
  bridge
  for i in 1 2 3; do
    tc qdisc add dev vitrine-p$i root netem delay ${delay}ms loss $loss% 2>/dev/null || break
    [ $i != 3 ] || { with=netem; return; }
  done
  unplug
  with="slow_switch.py, as the kernel has no netem"
  "$tools/slow_switch.py" $delay $loss vitrine-t1 vitrine-t2 vitrine-t3 > "$work/switch" & switch=$!
  until ip link show vitrine-t3 >/dev/null 2>&1; do kill -0 $switch || exit 1; sleep 0.1; done
  for i in 1 2 3; do host $i vitrine-t$i; done
}

# What a host has sent per step, on average.
sent_bytes() {
  cat /sys/class/net/vitrine-p[123]/statistics/rx_bytes | awk -v steps=$steps '{n += $1} END {printf "%.0f", n / NR / steps}'
}

# Sets $lost, and ends the switch, which then says it.
count_lost_packets() {
  if [ -z "$switch" ]; then
    lost=$(tc -s qdisc | awk '/netem/ {n = 1} n && /Sent/ {d += $7; s += $4; n = 0} END {print d + 0, "of", d + s, "packets lost"}')
  else
    kill "$switch"; wait "$switch"; switch=""
    lost=$(cat "$work/switch")
  fi
}

cat > "$work/ssh" <<'END'
#!/bin/sh
exec ip netns exec "vitrine-${1##*.}" sh -c "$2"
END
chmod +x "$work/ssh"

cat > "$work/small.yaml" <<'END'
name: small
seed: 3
model: {name: vit_c10_small, image: 16, patch: 4, dim: 32, depth: 2, heads: 2, hidden: 64, classes: 4, dropout: 0.1}
data:
  dataset: {name: synthetic, train: 320, test: 64, image: 16, classes: 4}
  batch: 48
  validation: 0.1
  augment: {crop_padding: 2, flip: 0.5, mixup: 0.2}
train: {epochs: 20, checkpoint_steps: 3, optimizer: {kind: adamw, lr: 3e-3}, clip: 1, ema: 0.9}
END

launch() {
  "$vitrine" launch --hosts 10.77.0.1,10.77.0.2,10.77.0.3 --ssh "$work/ssh" train "$@" --threads 1 > "$log" 2>&1
}

# The numbers of a run's last and best weights, without what the files say about them.
weights() {
  for file in last best; do
    file=$1/checkpoints/$file.safetensors
    tail -c +$(($(od -An -t u8 -N 8 "$file") + 9)) "$file" | sha256sum
  done
}

# result CASE TEXT: the case holds if the run in $work/CASE has the weights of one process.
result() {
  if [ "$(weights "$work/$1" 2>&1)" = "$(weights "$work/one")" ]; then
    echo "$1: $2, same bits as one process"
  else
    echo "$1: FAILED ($2): other weights than one process"
    tail -n 5 "$log"
    failed=1
  fi
}

"$vitrine" train "$work/small.yaml" data.batch=16 train.accumulate=3 --threads 1 --run "$work/one" > "$log" 2>&1 ||
  { cat "$log"; exit 1; }

bridge
launch "$work/small.yaml" --run "$work/no-fault"
result no-fault "3 hosts on a bridge, $(sent_bytes) bytes per step from each"
unplug

slow_network
launch "$work/small.yaml" --run "$work/slow"
count_lost_packets
result slow "$delay ms of delay and $loss % of loss by $with ($lost)"
unplug

bridge
launch "$work/small.yaml" --run "$work/cut" &
launcher=$!
until [ -f "$work/cut/checkpoints/resume.previous.safetensors" ]; do kill -0 $launcher 2>/dev/null || break; sleep 0.01; done
ip link set vitrine-p3 down
cut=$(date +%s)
wait $launcher && { echo "cut: FAILED: the run ended before the cut"; failed=1; }
after=$(($(date +%s) - cut))
left=$(for i in 1 2 3; do ip netns pids vitrine-$i; done)
named=$(grep -cE "rank [01] of 3 .*rank 2 has not answered" "$log")
if [ $after -gt $longest ] || [ "$named" != 2 ] || [ -n "$left" ]; then
  echo "cut: FAILED: after $after s, $named of 2 ranks have named rank 2; left: ${left:-none}"
  cat "$log"
  failed=1
fi
ip link set vitrine-p3 up
launch --resume "$work/cut"
result cut "cable of host 3 cut, all ranks ended after $after s, ranks 0 and 1 named rank 2, then resumed"
exit $failed
