"""Nothing of the host goes into a container: no key, no variable, no name, no path of the project or its user."""

import getpass
import json
import threading

import pytest

from fluency.common.paths import ROOT
from tests.execution.run_it import bash, own_containers
from tests.waiting import wait_for

pytestmark = pytest.mark.engine

CANARY = "sk-ant-canary-9f27c1d4e8"
# Everything the command can read, the kernel's endless files left out; each found name is a leak.
# The pattern comes through a pipe, and its halves stand apart, or the search would find itself.
LOOK = """
needle() { grep -rlsaF --exclude-dir=sys --exclude-dir=proc -f <(printf '%s' "$1$2") / ; cat /proc/[0-9]*/environ \
    /proc/[0-9]*/cmdline /proc/[0-9]*/status /proc/version /proc/cmdline 2>/dev/null | grep -acF -f <(printf '%s' "$1$2"); }
"""
HALVES = f"{CANARY[:9]} {CANARY[9:]}"


def test_no_secret_is_anywhere_inside(sandbox, monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "HTTPS_PROXY", "FLUENCY_CANARY"):
        monkeypatch.setenv(name, CANARY)
    found: dict[str, object] = {}

    def inspect() -> None:
        (mine, *_) = wait_for(lambda: own_containers(sandbox._engine))
        found.update(sandbox._engine.client().inspect_container(mine))

    watcher = threading.Thread(target=inspect)
    watcher.start()
    command = f"{LOOK} needle {HALVES}; env | wc -l"
    result = bash(sandbox, command, "processes", "http", timeout_s=60)
    watcher.join()
    assert not result.timed_out
    assert result.stdout.data.splitlines() == ["0", "13"]
    assert CANARY not in json.dumps(found)
    # Podman adds four of its own, whose values are nobody's secret; only the runner has them.
    of_podman = {"TERM=xterm", "container=podman", "container=oci", "HOSTNAME=sandbox", "HOME=/root"}
    assert set(found["Config"]["Env"]) - of_podman == {"PATH=/usr/bin"}
    assert not found["HostConfig"]["Binds"] and not found["Mounts"]
    assert found["HostConfig"]["Privileged"] is False


def test_the_search_would_find_it(sandbox):
    command = f"{LOOK} echo {CANARY} > /tmp/leak; needle {HALVES} | head -n 1"
    assert bash(sandbox, command, timeout_s=60).stdout.data == "/tmp/leak\n"


def test_names_of_host_user_and_project_are_unknown(sandbox):
    seen = bash(sandbox, "hostname; cat /etc/hostname /etc/hosts /etc/resolv.conf /proc/mounts /proc/self/cgroup; env")
    text = seen.stdout.data
    assert str(ROOT) + "/" not in text
    if getpass.getuser() not in ("root", "agent"):
        assert getpass.getuser() not in text
    assert text.startswith("sandbox\nsandbox")
