#!/bin/sh
# Makes build/packages/vitrine_*.deb and vitrine-*.tar.gz of what is built, and has lintian check the first.
cd "$(dirname "$0")/../build" || exit 1
rm -rf packages
cpack || exit 1
rm -r packages/_CPack_Packages
lintian --fail-on error,warning packages/*.deb || exit 1
ls -l packages
