#!/bin/sh
# Makes build/packages/vitrine_*.deb and vitrine-*.tar.gz of what is built, and has lintian check the first.
cd "$(dirname "$0")/.." || exit 1
rm -rf build/packages
cmake --preset release >/dev/null && (cd build && cpack) || exit 1
lintian --fail-on error,warning build/packages/*.deb || exit 1
ls -l build/packages/*.deb build/packages/*.tar.gz
