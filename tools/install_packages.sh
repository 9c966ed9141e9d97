#!/bin/sh
# install_packages.sh [LIST...]: installs whatever of the lists (by default tools/packages.txt) is missing (neither a command
# nor a package of that name) on a Debian 12 machine; quick if nothing is.
cd "$(dirname "$0")" || exit 1
missing=""
for package in $(cat "${@:-packages.txt}"); do
  command -v "$package" >/dev/null ||
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
    missing="$missing $package"
done
[ -z "$missing" ] && exit 0
if ! command -v apt-get >/dev/null; then
  echo "missing packages:$missing; install them with your system's package manager" >&2
  exit 1
fi
as_root=""
[ "$(id -u)" = 0 ] || as_root=sudo
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq &&
  $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
