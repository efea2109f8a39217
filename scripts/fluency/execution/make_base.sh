#!/bin/sh
# mmdebstrap, installed where it is missing.
if ! command -v mmdebstrap >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q
    apt-get install -qy --no-install-recommends mmdebstrap debian-archive-keyring || {
        echo "E: run \`sudo apt-get install mmdebstrap debian-archive-keyring\`" >&2
        exit 1
    }
fi
exec mmdebstrap --quiet --variant=minbase "$@"
