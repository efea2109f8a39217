#!/usr/bin/env bash
# Tries this checkout on a fresh Debian: makes its root with mmdebstrap, and runs a command there with its own engine.
#   tools/clean_root.sh trixie                README's two commands, each with its time
#   tools/clean_root.sh testing make quick    another command
# Needs root. The suite comes from the mirror of this machine's apt. Nothing of the root is left at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { sed -n '2,/^set/{/^#/p}' "$0"; exit 2; }
suite=$1
shift
[ $# -gt 0 ] || set -- bash -euc 'time make demo; time make test'

root=$(mktemp -d /var/tmp/clean-root-XXXXXX)
trap 'rm -rf --one-file-system "$root"' EXIT
absent() {
  echo "Debian's $suite cannot be had here: $1" >&2
  exit 3 # .ci/run goes on without it
}
[ "$(id -u)" = 0 ] || absent "only root can make it"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sed -n 1p) || absent "apt is missing"
# A mirror may keep a suite for longer than its lists are valid.
options=(--include=ca-certificates,git,make --aptopt='Acquire::Check-Valid-Until "false"')
made=$(scripts/fluency/execution/make_base.sh "${options[@]}" "$suite" "$root" "$mirror" 2>&1) \
  || absent "$(grep -m 1 ^E: <<<"$made")"

# How this machine reaches a package index.
cp -r /usr/local/share/ca-certificates "$root/usr/local/share/"
chroot "$root" update-ca-certificates >/dev/null 2>&1
[ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/"

git clone -q --no-checkout . "$root/project"
git ls-files -z --cached --others --exclude-standard | tar -c --null -T - --ignore-failed-read | tar -x -C "$root/project"
git -C "$root/project" reset -q
archives=()
for name in POWERSHELL_ARCHIVE NUSHELL_ARCHIVE; do
  [ -z "${!name:-}" ] || { cp "${!name}" "$root/opt/" && archives+=("$name=/opt/${!name##*/}"); }
done

# shellcheck disable=SC2016 # expanded inside
unshare --mount --pid --fork --kill-child env -u DOCKER_HOST -u DOCKER_CONTEXT -u VIRTUAL_ENV \
  -u POWERSHELL_ARCHIVE -u NUSHELL_ARCHIVE "${archives[@]}" HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -euc '
    cd "$1"
    shift
    mount --bind . . # pivot_root asks for a mount; without it an engine inside can neither copy nor build
    cd "$PWD"
    mount --rbind /dev dev
    mount --rbind /sys sys
    mount -t proc proc proc
    mount -t tmpfs tmpfs run
    pivot_root . mnt
    umount -l /mnt
    cd /project
    "$@" || exit # no exec: this shell is process 1, which must take what others leave
  ' _ "$root" "$@"
