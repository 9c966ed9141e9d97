#!/bin/sh
# Vitrine and Python's torch, same model, batch and threads, by turns in the same run; prints the
# ratio of the medians over the rounds. Needs python3-torch and python3-torchvision.
# usage: compare.sh [rounds]; THREADS=N, default all cores
set -e
cd "$(dirname "$0")/../.."
rounds=${1:-3}
threads=${THREADS:-$(nproc)}
python=/usr/bin/python3
if ! $python -c 'import torch, torchvision' 2>/dev/null; then
  echo "bench: python3-torch and python3-torchvision are missing; install them with apt-get" >&2
  exit 1
fi
value() { $python -c 'import json,sys; print(json.loads(sys.argv[1])["examples_per_second"])' "$1"; }
middle() { $python -c 'import statistics,sys; print(statistics.median(map(float, sys.argv[1:])))' "$@"; }
printf '%-6s %-21s %5s %17s %15s %6s\n' kind model batch 'vitrine per s' 'torch per s' ratio
while read -r kind model batch; do
  ours=""; theirs=""
  for _ in $(seq "$rounds"); do
    ours="$ours $(value "$(build/vitrine bench "$kind" --model "$model" --batch "$batch" --threads "$threads" --json)")"
    theirs="$theirs $(value "$($python bench/peers/torch_peer.py "$kind" --model "$model" --batch "$batch" --threads "$threads")")"
  done
  a=$(middle $ours); b=$(middle $theirs)
  $python -c 'import sys; k, m, b, o, t = sys.argv[1:]; o, t = float(o), float(t); print(f"{k:6} {m:21} {b:>5} {o:17.1f} {t:15.1f} {o / t:6.2f}")' "$kind" "$model" "$batch" "$a" "$b"
done <<LIST
train vit_c10_small 128
train vit_b16 8
train resnet18 8
infer vit_b16 8
infer vit_ti16 1
train addition_transformer 500
LIST
