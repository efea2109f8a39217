"""Runs that share an engine without seeing each other's processes leave each other's containers alone."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from fluency.common.paths import ROOT
from fluency.execution import container as containers
from fluency.execution.container import remove
from fluency.execution.engine import Engine
from fluency.execution.sandbox import Sandbox
from tests.execution.nobody import ROOT_ONLY
from tests.execution.run_it import bash
from tests.waiting import wait_for

pytestmark = [
    pytest.mark.engine,
    ROOT_ONLY,
    pytest.mark.skipif(not shutil.which("unshare"), reason="makes a name space with util-linux's unshare"),
]

STRANGER = """
import sys
from fluency.core.study import SandboxConfig
from fluency.execution import container as containers
from fluency.execution.sandbox import open_sandbox
from tests.execution.run_it import bash
from tests.waiting import wait_for
sandbox = open_sandbox(SandboxConfig())
own = {"label": f"{containers.LABEL}={containers.container_labels()[containers.LABEL]}"}
wait_for(lambda: not sandbox._engine.client().containers(all=True, filters=own), 60)
print(containers.container_labels()[containers.LABEL], flush=True)
bash(sandbox, "sleep 600", timeout_s=600)
"""


def containers_of(engine: Engine, owner: str) -> list[str]:
    found = engine.client().containers(filters={"label": f"{containers.LABEL}={owner}"})
    return [container["Id"] for container in found]


@pytest.fixture
def mine(sandbox: Sandbox) -> Iterator[str]:
    """A container of this process with a command under way."""
    thread = threading.Thread(target=_ended_from_outside, args=(sandbox,))
    wait_for(lambda: not containers_of(sandbox._engine, containers.container_labels()[containers.LABEL]), 60)
    thread.start()
    found = wait_for(lambda: containers_of(sandbox._engine, containers.container_labels()[containers.LABEL]), 60)[0]
    yield found
    remove(sandbox._engine, found)
    thread.join()


def _ended_from_outside(sandbox: Sandbox) -> None:
    with contextlib.suppress(Exception):
        bash(sandbox, "sleep 600", timeout_s=600)


def test_a_run_in_another_process_name_space_and_ours_keep_their_containers(
    sandbox: Sandbox, mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a devcontainer or a CI job on the same engine: there our process id means another process, or none."""
    engine = sandbox._engine
    unshare = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-c", STRANGER]
    stranger = subprocess.Popen(unshare, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    theirs: list[str] = []
    try:
        owner = stranger.stdout.readline().strip()
        assert owner.split()[0] == containers.boot_id() and owner.split()[3] != containers.pid_namespace()
        theirs = wait_for(lambda: containers_of(engine, owner), 60)
        assert containers_of(engine, containers.container_labels()[containers.LABEL]) == [mine], (
            "its look at its start spared ours"
        )
        sandbox.remove_leftovers()
        assert containers_of(engine, owner) == theirs, "our look spares it"
        stranger.kill()
        stranger.wait()
        sandbox.remove_leftovers()
        assert containers_of(engine, owner) == theirs, "whether its run lives cannot be seen from here"
        is_gone = containers.is_gone
        older = {
            owner: containers.LONGEST_S,
            containers.container_labels()[containers.LABEL]: containers.LONGEST_S,
        }  # and nobody else's
        monkeypatch.setattr(containers, "is_gone", lambda label, age_s: is_gone(label, age_s + older.get(label, 0)))
        sandbox.remove_leftovers()
        assert containers_of(engine, owner) == [], "no execution is as old"
        assert containers_of(engine, containers.container_labels()[containers.LABEL]) == [mine], (
            "our own is seen to live"
        )
    finally:
        stranger.kill()
        stranger.wait()
        for container in theirs:
            remove(engine, container)


def test_where_proc_shows_another_name_space_no_process_is_looked_up() -> None:
    """Without a /proc of its own, the ids that a process knows are not those that /proc shows."""
    told = "import os; from fluency.execution.sandbox import container as containers; print(containers.container_labels()[containers.LABEL])"
    unshare = ["unshare", "--pid", "--fork", sys.executable, "-c", told]
    owner = subprocess.run(unshare, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert owner[::3] == [containers.boot_id(), "-"]
    assert not containers.is_gone(" ".join(owner), 0)
