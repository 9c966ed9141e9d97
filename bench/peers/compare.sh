#!/bin/sh
# Vitrine and Python's torch, same model, batch and threads, by turns in the same run; prints a
# Markdown table of the medians over the rounds: examples per second of both, their ratio, and the
# share of the sgemm peak that Vitrine reaches. Needs python3-torch and python3-torchvision.
# usage: compare.sh [rounds]; THREADS=N, default all cores; SECONDS_EACH=S, default 5;
# FAMILIES=1: one network of every family of image models instead, those that torchvision does not
# have without a peer
set -e
cd "$(dirname "$0")/../.."
rounds=${1:-3}
threads=${THREADS:-$(nproc)}
seconds=${SECONDS_EACH:-5}
python=/usr/bin/python3
if ! $python -c 'import torch, torchvision' 2>/dev/null; then
  echo "bench: python3-torch and python3-torchvision are missing; install them with apt-get" >&2
  exit 1
fi

# kind, model, batch, whether torchvision has it, settings of the model
usual_rows() {
  cat <<LIST
train vit_c10_small 128 peer
train vit_b16 8 peer
train resnet18 8 peer
infer vit_b16 8 peer
infer vit_ti16 1 peer
train addition_transformer 500 peer
LIST
}

# At 224 pixels but for iGPT, whose images are 32 x 32 and 1024 tokens each.
family_rows() {
  for kind in infer train; do
    cat <<LIST
$kind resnet50 8 peer
$kind vit_s16 8 peer
$kind swin_t 8 peer
$kind swin_v2_t 8 peer image=224 window=7
$kind r26_vit_s32 8 alone
$kind pvt_small 8 alone
$kind pvt_v2_b2 8 alone
$kind cvt_13 8 alone
$kind t2t_vit_t_14 8 alone
$kind tnt_s 8 alone
$kind cct_14_7x2 8 alone
$kind igpt_s 1 alone
LIST
  done
}

if [ "${FAMILIES:-0}" = 1 ]; then rows=$(family_rows); else rows=$(usual_rows); fi
measured=$(mktemp -d)
trap 'rm -rf "$measured"' EXIT
echo '| step | model | batch | vitrine | python3-torch | ratio | share of the sgemm peak |'
echo '|---|---|---|---|---|---|---|'
echo "$rows" | while read -r kind model batch peer settings; do
  rm -f "$measured"/*
  for _ in $(seq "$rounds"); do
    # $settings is a list of words
    build/vitrine bench "$kind" --model "$model" --batch "$batch" --threads "$threads" \
      --seconds "$seconds" --json $settings >>"$measured/vitrine" </dev/null
    [ "$peer" = alone ] || $python bench/peers/torch_peer.py "$kind" --model "$model" \
      --batch "$batch" --threads "$threads" --seconds "$seconds" >>"$measured/torch" </dev/null
  done
  $python bench/peers/table_row.py "$measured"
done
