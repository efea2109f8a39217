"""What a killed run leaves on the engine ends by itself, or is removed when it is old; other runs keep their containers."""

import contextlib
import secrets
import signal
import subprocess
import sys
import threading
import time

import pytest

from fluency.common.errors import SandboxError
from fluency.common.paths import ROOT
from fluency.core.study import SandboxConfig
from fluency.execution import container
from fluency.execution.isolation import container_config, isolation
from fluency.execution.sandbox import open_sandbox
from tests.execution.run_it import LIMITS, bash, own_containers
from tests.waiting import wait_for

pytestmark = pytest.mark.engine

DEADLINE_S = 6
KILLED = f"""
import sys
from concurrent.futures import ThreadPoolExecutor
from fluency.core.study import SandboxConfig
from fluency.execution import container
from fluency.execution.sandbox import open_sandbox
from tests.execution.run_it import bash
container.LABELS[container.LABEL] = sys.argv[1]
sandbox = open_sandbox(SandboxConfig(parallel=2))
with ThreadPoolExecutor(2) as pool:
    list(pool.map(lambda command: bash(sandbox, command, timeout_s={DEADLINE_S}), ["trap '' TERM HUP; sleep 600"] * 2))
"""


@pytest.fixture(autouse=True)
def _label(monkeypatch) -> str:
    """A label of each test's own."""
    monkeypatch.setitem(container.LABELS, container.LABEL, secrets.token_hex(4))
    return container.LABELS[container.LABEL]


def test_after_a_kill_no_container_outlives_its_deadline(sandbox, _label):
    engine = sandbox._engine
    run = subprocess.Popen([sys.executable, "-c", KILLED, _label], cwd=ROOT)

    def commands() -> int:
        said = ""
        for found in own_containers(engine):
            with contextlib.suppress(Exception):  # it ended meanwhile
                said += str(engine.client().top(found))
        return said.count("sleep 600")

    wait_for(lambda: commands() >= 2, 60)
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert commands() >= 2, "they run on without the harness"
    wait_for(lambda: not own_containers(engine, all=True), DEADLINE_S + 60)


def test_at_the_start_of_a_run_old_containers_are_removed_and_young_ones_stay(sandbox, monkeypatch):
    """Old by the engine's own times: whether the run that made them started long ago does not matter."""
    client = sandbox._engine.client()

    def made(*, start: bool) -> str:
        config = container_config(sandbox.image.image_id, container.LABELS, isolation(LIMITS, sandbox.engine["name"]))
        config["Entrypoint"] = ["/usr/bin/sleep", "600"]
        found = client.create_container_from_config(config)["Id"]
        if start:
            client.start(found)
        return found

    def other_run() -> None:
        with contextlib.suppress(SandboxError):
            results.append(bash(sandbox, "sleep 4; echo mine").stdout.data)

    results: list[str] = []
    monkeypatch.setattr(container, "OLD_S", 5)
    old = {made(start=False), made(start=True)}
    time.sleep(7)
    young = made(start=False)
    thread = threading.Thread(target=other_run)
    thread.start()
    wait_for(lambda: len(own_containers(sandbox._engine)) == 2)
    open_sandbox(SandboxConfig())
    left = set(own_containers(sandbox._engine, all=True))
    thread.join()
    container.remove(sandbox._engine, young)
    assert not left & old and young in left
    assert results == ["mine\n"]
    wait_for(lambda: not own_containers(sandbox._engine, all=True))
