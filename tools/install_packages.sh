#!/bin/sh
# install_packages.sh [LIST...]: installs whatever of the lists (by default tools/packages.txt) is missing (neither a command
# nor a package of that name) on a Debian 12 or 13; quick if nothing is. Where they have other packages, the list names both,
# as in clang-tidy-16|clang-tidy-19: the first that the system has is installed.
cd "$(dirname "$0")" || exit 1

is_installed() {
  command -v "$1" >/dev/null || dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed'
}

# first TEST NAME|NAME...: the first name that passes the test, of none the first of all.
first() {
  for name in $(echo "$2" | tr '|' ' '); do
    if $1 "$name" >/dev/null 2>&1; then
      echo "$name"
      return 0
    fi
  done
  echo "${2%%|*}"
  return 1
}

missing=""
for names in $(cat "${@:-packages.txt}"); do
  first is_installed "$names" >/dev/null || missing="$missing $names"
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
$as_root apt-get update -qq || exit 1
packages=$(for names in $missing; do first "apt-cache show" "$names"; done)
$as_root apt-get install -y -qq --no-install-recommends $packages >/dev/null
