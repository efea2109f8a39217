"""Every isolation measure holds something back, and nothing of the host goes in."""

import getpass
import json
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from fluency.common.paths import ROOT
from fluency.core.records import Result
from fluency.core.study import Limits
from fluency.execution.isolation import Measures, container_config, isolation
from fluency.execution.protocol import Invocation
from fluency.execution.sandbox import Sandbox
from tests.execution.run_it import SMALL, bash, own_containers
from tests.waiting import wait_for

pytestmark = pytest.mark.engine

TIGHT = Limits(memory_mb=256, pids=64, tmpfs_mb=16, file_mb=64, open_files=256)


@dataclass
class Probe:
    """A command whose output shows whether a measure is in force; `instead` replaces it."""

    measure: str
    command: str
    isolated: str
    instead: dict[str, Any] = field(default_factory=dict)
    also_without: tuple[str, ...] = ()
    limits: Limits = TIGHT


PROBES = [
    Probe("no-network", "tail -n +3 /proc/net/dev | cut -d: -f1", "    lo\n", {"NetworkMode": "host"}, ("no-resolver",)),
    Probe("no-resolver", "grep '^[a-z]' /etc/resolv.conf | tr '\\n' ' '", "nameserver 127.0.0.1 "),
    Probe("read-only-root", "awk '$5 == \"/\" { print substr($6, 1, 2) }' /proc/self/mountinfo", "ro\n"),
    Probe("few-capabilities", "grep CapBnd /proc/self/status | cut -f2", "00000000000000e1\n"),
    Probe("no-new-privileges", "grep NoNewPrivs /proc/self/status | cut -f2", "1\n"),
    Probe("seccomp", "setarch linux32 true 2>/dev/null; echo $?", "1\n"),  # tried call by call in test_seccomp.py
    Probe("pids", "sh -c 'for i in $(seq 80); do sleep 9 >&2 & done; echo all' 2>/dev/null; echo $?", "2\n"),
    Probe("memory", "head -c 300M /dev/zero | tail -n 1 >/dev/null; echo ${PIPESTATUS[1]}", "137\n", {}, ("no-swap",)),
    Probe(
        "no-swap",
        # Version 2 of control groups bounds swap separately, version 1 memory and swap together.
        "cd /sys/fs/cgroup; cat memory.swap.max 2>/dev/null || "
        "echo $(($(cat memory/memory.memsw.limit_in_bytes) - $(cat memory/memory.limit_in_bytes)))",
        "0\n",
    ),
    Probe("more-weight", # Usual are 1024 in version 1 of control groups and 100 in version 2.
        "cd /sys/fs/cgroup; echo $(( $(cat cpu/cpu.shares 2>/dev/null || echo $(cat cpu.weight)0) > 1024 ))", "1\n"),
    Probe("no-core-dumps", "ulimit -Hc", "0\n"),
    Probe("file-size", "head -c 70M /dev/zero > /tmp/x; echo $?", "153\n", limits=Limits(memory_mb=256, tmpfs_mb=96,
        file_mb=64)),
    Probe("open-files", "ulimit -Hn", "256\n"),
    Probe("tmp-size", "head -c 20M /dev/zero > /tmp/x 2>/dev/null; echo $?", "1\n", {"Tmpfs": {"/tmp": "mode=1777"}}),
    Probe("home-size", "head -c 20M /dev/zero > ~/x 2>/dev/null; echo $?", "1\n", {"Tmpfs": {"/home": "mode=0755"}}),
    Probe("world-size", "df --output=size -BM /work | tail -n 1 | tr -d ' '", "128M\n",
        {"Tmpfs": {"/work": "mode=0755"}}),
    Probe("no-shared-memory", "touch /dev/shm/x 2>/dev/null; echo $?", "1\n", {"IpcMode": "private"}),
    Probe("masked", "cat /proc/cmdline /proc/partitions /proc/iomem /proc/sys/kernel/random/boot_id | wc -c;"
        " find /sys/block /sys/bus /sys/class /sys/dev /sys/devices/[!s]* /dev/pts /dev/mqueue -mindepth 1 | wc -l",
        "0\n0\n"),
]  # fmt: skip


def run(sandbox: Sandbox, probe: Probe, measures: Measures) -> Result:
    return sandbox._run(Invocation("bash", probe.command, SMALL, probe.limits, 20), measures)


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.measure)
def test_measure_holds_and_its_absence_shows(sandbox, probe):
    every = isolation(probe.limits, sandbox.engine["name"])
    assert probe.measure in every
    if probe.measure == "no-resolver" and sandbox.engine["name"] == "podman":
        pytest.skip("Podman gives a container without network no resolver, and takes none")
    isolated = run(sandbox, probe, every)
    assert isolated.stdout.data == probe.isolated, isolated
    for name in (probe.measure, *probe.also_without):
        del every[name]
    bare = run(sandbox, probe, every | {"instead": probe.instead})
    assert bare.stdout.data != probe.isolated, bare


def test_nothing_else_is_writable(sandbox):
    """Also on engines that mount their own file systems over parts of a read-only root."""
    places = "find / -type d -writable -not -path '/proc/*' -not -path '/dev/*' 2>/dev/null | sort | tr '\\n' ' '"
    files = "find / -xdev -type f -writable -not -path '/proc/*' 2>/dev/null | wc -l"
    probe = Probe("", f"{places}; {files}", "")
    found = run(sandbox, probe, isolation(TIGHT, sandbox.engine["name"])).stdout.data
    assert found == "/home/agent /tmp /work /work/src 0\n"


def test_nothing_written_can_be_executed(sandbox):
    places = "for place in /tmp ~ /work; do cp /usr/bin/true $place/x; $place/x; echo $?; done"
    found = run(sandbox, Probe("", places, ""), isolation(TIGHT, sandbox.engine["name"]))
    assert found.stdout.data == "126\n126\n126\n"


def test_devices_that_are_left(sandbox):
    """The garbage collector of .NET looks for the processor's caches there."""
    left = "cd /sys/devices && find . -mindepth 2 | cut -d/ -f2 | sort -u"
    expected = "" if sandbox.engine["name"] == "podman" else "system\n"
    assert bash(sandbox, left).stdout.data == expected


def test_every_measure_has_a_probe():
    elsewhere = {"removed-at-its-end", "no-log-on-the-host", "runtime"}
    assert set(isolation(TIGHT, "docker")) - elsewhere == {probe.measure for probe in PROBES}


def test_containers_go_away_and_leave_no_log(sandbox, engine):
    client, every = engine.client(), isolation(TIGHT, sandbox.engine["name"])
    label = {"label": "agent-shell-sandbox.test=log"}

    def ended(measures: Measures):
        labels = {"agent-shell-sandbox.test": "log"}
        config = container_config(sandbox.images["bash"].image_id, labels, measures)
        config |= {"Entrypoint": ["/usr/bin/echo", "seen"]}
        container = client.create_container_from_config(config)["Id"]
        client.start(container)
        client.wait(container)
        return client.containers(all=True, filters=label)

    (kept,) = ended(every | {"removed-at-its-end": {}, "no-log-on-the-host": {}})
    assert client.logs(kept["Id"]) == b"seen\n"
    client.remove_container(kept["Id"], force=True)
    ended(every)
    wait_for(lambda: not client.containers(all=True, filters=label))


CANARY = "sk-ant-canary-9f27c1d4e8"
# Everything the command can read, the kernel's endless files left out; each found name is a leak.
# The pattern comes through a pipe, and its halves stand apart, or the search would find itself.
LOOK = """
needle() { grep -rlsaF --exclude-dir=sys --exclude-dir=proc -f <(printf '%s' "$1$2") / ; cat /proc/[0-9]*/environ \
    /proc/[0-9]*/cmdline /proc/[0-9]*/status /proc/version /proc/cmdline 2>/dev/null | grep -acF -f <(printf '%s' "$1$2"); }
"""
HALVES = f"{CANARY[:9]} {CANARY[9:]}"


def test_no_secret_and_nothing_of_the_host_is_inside(sandbox, engine, monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "HTTPS_PROXY", "FLUENCY_CANARY"):
        monkeypatch.setenv(name, CANARY)
    found = {}

    def inspect():
        (mine, *_) = wait_for(lambda: own_containers(engine))
        found.update(engine.client().inspect_container(mine))

    watcher = threading.Thread(target=inspect)
    watcher.start()
    command = f"{LOOK} needle {HALVES}; env | wc -l"
    result = bash(sandbox, command, "processes", "http", timeout_s=60)
    watcher.join()
    assert not result.timed_out and result.stdout.data.splitlines() == ["0", "13"]
    assert CANARY not in json.dumps(found)
    # Podman adds four, whose values are not secret; only the runner has them.
    of_podman = "TERM=xterm container=podman container=oci HOSTNAME=sandbox HOME=/root"
    assert set(found["Config"]["Env"]) - set(of_podman.split()) == {"PATH=/usr/bin"}
    assert not found["HostConfig"]["Binds"] and not found["Mounts"]
    assert found["HostConfig"]["Privileged"] is False
    files = "/etc/hostname /etc/hosts /etc/resolv.conf /proc/mounts /proc/self/cgroup"
    said = bash(sandbox, f"hostname; cat {files}; env").stdout.data
    assert said.startswith("sandbox\nsandbox") and f"{ROOT}/" not in said
    assert getpass.getuser() in ("root", "agent") or getpass.getuser() not in said
    leaky = f"{LOOK} echo {CANARY} > /tmp/leak; needle {HALVES} | head -n 1"
    assert bash(sandbox, leaky, timeout_s=60).stdout.data == "/tmp/leak\n", "it would be found"
