#!/bin/sh
# Trains the network of `make demo` unless it is there, and shows it on the page of `vitrine serve`: `make serve-demo`.
# What is given goes to the server: tools/serve_demo.sh --port 9000
set -e
cd "$(dirname "$0")/.."
vitrine=build/vitrine
run=$(ls -d runs/demo-cifar10-*/ 2>/dev/null | while read -r folder; do
  [ ! -f "$folder/result.json" ] || echo "${folder%/}"
done | tail -n 1)
if [ -z "$run" ]; then
  $vitrine data fetch cifar10
  echo "== Train (a few minutes; watch the bar)"
  run=$($vitrine train recipes/demo-cifar10.yaml)
fi
[ -d "$run/images" ] || $vitrine data export cifar10 --split test -n 12 --seed 2 --out "$run/images" >/dev/null
cat <<END
== Open the address below in a browser. Images to drop on the page: $run/images
   Ctrl-C ends the server.
END
exec $vitrine serve "demo=$run" --quiet "$@"
