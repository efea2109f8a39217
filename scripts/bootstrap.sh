#!/usr/bin/env bash
# Makes .venv from pinned locks with hashes: `bootstrap.sh requirements` for a run, `bootstrap.sh dev` for tests too.
# `bootstrap.sh interop` makes .venv-interop, with what only other programs' formats need; `bootstrap.sh cluster` fills
# .venv/cluster, because Snakemake imports every executor that it finds, half a second at each start.
# Needs Linux and Python 3.11 to 3.14; on Debian and Ubuntu as root it installs what Python lacks there.
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

[ -w . ] || fail "this folder cannot be written to: $PWD" "use a copy that you may write to, or change its owner: chown -R"

# A lock adds to the locks that its .in names by -c.
locks=()
for lock in $(sed -n 's/^-c //p' "envs/$name.in") "$name.lock"; do locks+=(-r "envs/$lock"); done
[ "$name" != cluster ] || locks=(--no-deps --upgrade --target "$venv/cluster" -r envs/cluster.lock)
supported='import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))'
find_python() {
  local name
  for name in python3 python3.14 python3.13 python3.12 python3.11; do
    if command -v "$name" >/dev/null && "$name" -c "$supported"; then
      command -v "$name"
      return
    fi
  done
}

apt_install() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
  echo "Installing $* with apt-get (this machine lacks them)." >&2
  scripts/apt_install.sh "$@" >/dev/null
}

command -v python3 >/dev/null || apt_install python3 python3-venv ca-certificates || true
python=$(find_python)
if [ -z "$python" ]; then
  found=$(python3 --version 2>/dev/null) || fail "Python 3.11 to 3.14 is needed, and python3 is missing" "install it, for example: apt-get install python3 python3-venv"
  fail "Python 3.11 to 3.14 is needed, and python3 here is ${found#Python }" "install one of them next to it (from your system's packages, or with conda or pyenv): it is found in PATH as python3.14, python3.13 and so on"
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  apt_install python3-venv ca-certificates || fail "$python has no venv module" "apt-get install python3-venv"
fi
# llama.cpp, the embedded model's engine, needs the OpenMP runtime, which a minimal system lacks.
if ! "$python" -c 'import ctypes; ctypes.CDLL("libgomp.so.1")' 2>/dev/null; then
  apt_install libgomp1 || echo "Note: libgomp.so.1 is missing; the embedded model needs it (apt-get install libgomp1)." >&2
fi
# What tests use of a usual system and a minimal one lacks: separate disks, lists of processes, loops that call jq, signatures.
if [ "$name" = dev ]; then
  missing=()
  for pair in mount:mount ps:procps jq:jq ssh-keygen:openssh-client; do
    command -v "${pair%:*}" >/dev/null || missing+=("${pair#*:}")
  done
  [ ${#missing[@]} = 0 ] || apt_install "${missing[@]}" || echo "Note: some tests need ${missing[*]}, which this machine lacks." >&2
fi
# Of the pinned packages only immutables, which Snakemake needs, has no wheel for 3.14.
if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 14))'; then
  compiler=$("$python" -c 'import sysconfig as s; print(s.get_config_var("CC"), "-I" + s.get_path("include"))')
  # shellcheck disable=SC2086 # the compiler and its options
  $compiler -E -include Python.h -xc /dev/null >/dev/null 2>&1 || apt_install gcc libc6-dev python3-dev \
    || fail "$("$python" --version) needs a C compiler and Python's header files for one package, immutables" "apt-get install gcc libc6-dev python3-dev; or install Python 3.13 next to it, which needs neither"
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
