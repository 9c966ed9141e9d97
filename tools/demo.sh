#!/bin/sh
# Fetches CIFAR-10, trains a compact transformer, scores it and looks inside: `make demo`.
set -e
cd "$(dirname "$0")/.."
vitrine=build/vitrine

echo "== 1. CIFAR-10"
$vitrine data fetch cifar10
mkdir -p runs
$vitrine data show cifar10 -n 40 --out runs/demo-data.png

echo "== 2. Train (a few minutes; watch the bar)"
run=$($vitrine train recipes/demo-cifar10.yaml "$@")

echo "== 3. Evaluate on the 10,000 test images"
$vitrine eval "$run"

echo "== 4. Explain three test images"
$vitrine data export cifar10 --split test -n 3 --out "$run/images"
for image in "$run"/images/*.png; do
  $vitrine predict --model "$run" "$image"
  $vitrine explain --model "$run" "$image" --out "$run/explain/$(basename "$image" .png)"
done

cat <<END
== Done. Look at:
  runs/demo-data.png                   images of the data set
  $run/curves.png                      loss and accuracy over the epochs
  $run/confusion_matrix.png            which classes are taken for which
  $run/classification_report.txt
  $run/explain/*/explain.html          what the network looked at, for each image
END
