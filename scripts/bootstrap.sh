#!/usr/bin/env bash
# Makes .venv from pinned locks with hashes: `bootstrap.sh requirements` for a run, `bootstrap.sh dev` for tests too.
# `bootstrap.sh interop` makes .venv-interop, with what only other programs' formats need.
# Needs Linux and Python 3.11 to 3.13, for which every pinned package has a wheel; on Debian and Ubuntu as root it installs what Python lacks there.
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:-requirements}
venv=.venv
[ "$name" != interop ] || venv=.venv-interop

fail() { # what, hint
  printf 'Error: %s\nHint: %s\n' "$1" "$2" >&2
  exit 2
}

[ "$(uname -s)" = Linux ] || fail "this runs on Linux, and here is $(uname -s)" "use a Linux machine, or a virtual one with a container engine inside"

case "$PWD" in # setuptools takes these for variables
  *[\{\}\$]*) fail "the project's path holds one of { } \$, and cannot be installed there: $PWD" "move it to another folder" ;;
esac

# A lock adds to the locks that its .in names by -c.
locks=()
for lock in $(sed -n 's/^-c //p' "envs/$name.in") "$name.lock"; do locks+=(-r "envs/$lock"); done
supported='import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))'
find_python() {
  local name
  for name in python3 python3.13 python3.12 python3.11; do
    if command -v "$name" >/dev/null && "$name" -c "$supported"; then
      command -v "$name"
      return
    fi
  done
}

apt_install() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
  echo "Installing $* with apt-get (this machine lacks them)." >&2
  DEBIAN_FRONTEND=noninteractive apt-get -qq update >/dev/null
  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" >/dev/null
}

python=$(find_python)
if [ -z "$python" ]; then
  apt_install python3 python3-venv ca-certificates || true
  python=$(find_python)
  [ -n "$python" ] || fail "Python 3.11, 3.12 or 3.13 is needed and was not found" "install it, for example: apt-get install python3 python3-venv"
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  apt_install python3-venv ca-certificates || fail "$python has no venv module" "apt-get install python3-venv"
fi
# llama.cpp, the embedded model's engine, needs the OpenMP runtime, which a minimal system lacks.
if ! "$python" -c 'import ctypes; ctypes.CDLL("libgomp.so.1")' 2>/dev/null; then
  apt_install libgomp1 || echo "Note: libgomp.so.1 is missing; the embedded model needs it (apt-get install libgomp1)." >&2
fi
# What tests use of a usual system and a minimal one lacks: disks of their own, lists of processes, loops that call jq.
if [ "$name" = dev ]; then
  missing=()
  for pair in mount:mount ps:procps jq:jq; do
    command -v "${pair%:*}" >/dev/null || missing+=("${pair#*:}")
  done
  [ ${#missing[@]} = 0 ] || apt_install "${missing[@]}" || echo "Note: some tests need ${missing[*]}, which this machine lacks." >&2
fi
[ -e /etc/ssl/certs/ca-certificates.crt ] || apt_install ca-certificates || true

if ! "$venv"/bin/python -c "$supported" 2>/dev/null; then
  rm -rf "$venv"
  "$python" -m venv "$venv" || fail "the environment $venv cannot be made" "is the disk full? see the lines above"
fi
echo "Installing the pinned environment from envs/$name.lock (0.6 GB, usually well under a minute)." >&2
pip() { "$venv"/bin/python -m pip --disable-pip-version-check --quiet "$@"; }
install_all() {
  if pip install --require-hashes -r envs/installer.lock 2>/dev/null; then
    UV_LINK_MODE=copy "$venv"/bin/uv pip install --quiet --system-certs --python "$venv"/bin/python --require-hashes "${locks[@]}" && return
    echo "The quick installer failed; pip takes over (about 2 minutes)." >&2
  fi
  pip install --require-hashes "${locks[@]}"
}
install_all || fail "the pinned packages cannot be installed" "is a package index reachable, and the disk not full? see the lines above"
pip install --no-deps --no-build-isolation --editable .
[ "$venv" = .venv ] || pip install --no-deps --no-build-isolation --editable tools/interop/inspect
