#!/bin/sh
# Install Docker where it is missing, and be its daemon. Runs as root; its output is the log.
lacking=
command -v dockerd >/dev/null || lacking="docker.io iptables"
# Docker starts nothing without AppArmor's tools where the kernel has AppArmor.
if grep -qs Y "${APPARMOR:-/sys/module/apparmor/parameters/enabled}"; then
    command -v apparmor_parser >/dev/null || lacking="$lacking apparmor"
fi
if [ "$lacking" ]; then
    # shellcheck disable=SC2086 # one word a package
    "${0%/*}/../../apt_install.sh" $lacking || exit 1
fi

bridge=${BRIDGE:-/sys/class/net/docker0}
[ ! -e "$bridge" ] || had_bridge=yes # before the first start, which may leave one
dockerd && exit
if [ "$had_bridge" ]; then # a daemon without a bridge removes the one it finds
    echo "to try dockerd without a bridge: \`ip link delete docker0\`, if no other engine uses it"
    exit 1
fi
# Where dockerd may not set up packet filters; containers and builds of ours need no bridge.
echo "starting without a bridge; a \`docker build\` by hand then needs --network host"
exec dockerd --iptables=false --ip6tables=false --bridge=none
