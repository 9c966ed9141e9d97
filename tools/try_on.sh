#!/bin/sh
# try_on.sh SUITE [FOLDER]: builds and tests the commit HEAD in a Debian of its own (trixie is Debian 13, bookworm Debian 12) by the
# README's commands. debootstrap makes it in FOLDER ($TRY_FOLDER, or /var/tmp/vitrine-SUITE), from the mirror that this machine's apt
# uses; this repository is cloned to FOLDER/vitrine. Another call finds system and compiler cache there. $TRY_COMMAND
# is what runs in the clone, `make test` unless set. Needs root, on a Debian, and debootstrap.
cd "$(dirname "$0")/.." || exit 1
[ -n "$1" ] || { echo "usage: tools/try_on.sh SUITE [FOLDER]" >&2; exit 2; }
suite=$1
root=${2:-${TRY_FOLDER:-/var/tmp/vitrine-$suite}}
command=${TRY_COMMAND:-make test}
[ "$(id -u)" = 0 ] || { echo "try_on: a chroot needs root; run it as root" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "try_on: install debootstrap" >&2; exit 2; }

# Where apt has Debian itself from; known once it has read its lists.
mirror() { apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 'Label: Debian' | head -n 1; }

if [ ! -d "$root/etc/apt" ]; then
  from=$(mirror)
  [ -n "$from" ] || { apt-get update -qq; from=$(mirror); }
  [ -n "$from" ] || { echo "try_on: apt knows no mirror of Debian; see /etc/apt/sources.list" >&2; exit 1; }
  rm -rf "$root.part"
  debootstrap --variant=minbase --include=ca-certificates,netbase "$suite" "$root.part" "$from" >"$root.log" 2>&1 ||
    { echo "try_on: debootstrap has failed; $root.log says why" >&2; exit 1; }
  mv -T "$root.part" "$root" || exit 1
fi
rm -rf "$root/vitrine"
git clone -q --depth 1 "file://$PWD" "$root/vitrine" || exit 1
echo "try_on: $(git log -1 --format='%h %s') on Debian $(cat "$root/etc/debian_version"), in $root"

# In namespaces of their own mounts and processes end with the command.
exec unshare --mount --pid --fork --kill-child sh -e -c '
  mount -t proc proc "$1/proc"
  mount --rbind /sys "$1/sys"
  mount --rbind /dev "$1/dev"
  exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
    ${CMAKE_BUILD_PARALLEL_LEVEL:+CMAKE_BUILD_PARALLEL_LEVEL="$CMAKE_BUILD_PARALLEL_LEVEL"} \
    chroot "$1" sh -e -c "
      apt-get update -qq
      apt-get install -y -qq --no-install-recommends git make >/dev/null
      cd /vitrine
      $2"' - "$root" "$command"
