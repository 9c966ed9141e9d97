#!/bin/sh
# Fetches CIFAR-10, trains a compact transformer, evaluates it and looks inside: `make demo`.
set -e
cd "$(dirname "$0")/.."
vitrine=build/vitrine

echo "== 1. CIFAR-10"
$vitrine data fetch cifar10
mkdir -p runs
$vitrine data show cifar10 -n 40 --out runs/demo-data.png

echo "== 2. Train (a few minutes; watch the bar)"
run=$($vitrine train recipes/demo-cifar10.yaml "$@")

echo "== 3. Explain predictions for test images"
# With this seed a clear automobile and frog are among the images, and a horse that so short a training gets wrong.
$vitrine data export cifar10 --split test -n 12 --seed 2 --out "$run/images" >/dev/null
$vitrine predict "$run/images" --model "$run" -k 2
for image in 0001-automobile 0006-frog 0010-horse; do
  $vitrine explain --model "$run" "$run/images/$image.png" --out "$run/explain/$image"
done

echo "== 4. Evaluate on the 10,000 test images"
$vitrine eval "$run" --mistakes 12

cat <<END
== Done. Look at:
  runs/demo-data.png                   images of the data set
  $run/curves.png                      loss and accuracy over the epochs
  $run/confusion_matrix.png            which classes are taken for which
  $run/mistakes_test.png               the mistakes with the highest loss
  $run/explain/*/explain.html          what the model attended to, for each image
Longer training gives more: $vitrine train recipes/demo-cifar10.yaml train.epochs=10
END
