#!/bin/sh
# test_page.sh WEB WORK PROGRAM: the tests of the page (the folder WEB) on the files that tools/embed_page.sh built in
# WORK and PROGRAM holds: types, unit tests, a browser on a synthetic server, a browser on PROGRAM. 77: npm had no network, or
# there is no browser.
set -e
web=$1 work=$2 program=$3
rm -rf "${work:?}/tests"
cp -r "$web/tests" "$work/"
cd "$work"
if [ ! -x node_modules/.bin/vitest ]; then
  echo "the packages of the page were not installed; $work/build.log says why" >&2
  exit 77
fi
if [ ! -f dist/index.html ]; then
  echo "the page was not built; $work/build.log says why" >&2
  exit 1
fi
if [ ! -x "${CHROMIUM:-/usr/bin/chromium}" ]; then
  echo "there is no browser; install chromium" >&2
  exit 77
fi
node_modules/.bin/tsc
VITRINE=$program node_modules/.bin/vitest run
