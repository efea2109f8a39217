#!/bin/sh
# Install Debian packages, after waiting for another apt-get.
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
# `update` has no option for this; other errors, as of one source of many, may not matter.
tries=300
while said=$(apt-get update -q 2>&1); echo "$said" | grep -q "Could not get lock"; do
    [ $((tries -= 1)) -gt 0 ] || break
    sleep 1
done
echo "$said"
exec apt-get -o DPkg::Lock::Timeout=300 install -qy --no-install-recommends "$@"
