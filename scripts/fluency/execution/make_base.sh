#!/bin/sh
# mmdebstrap, installed where it is missing.
if ! command -v mmdebstrap >/dev/null; then
    "${0%/*}/../../apt_install.sh" mmdebstrap debian-archive-keyring || {
        echo "E: run \`sudo apt-get install mmdebstrap debian-archive-keyring\`" >&2
        exit 1
    }
fi
exec mmdebstrap --variant=minbase "$@"
