"""Short ways to run a command in the sandbox under test."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fluency.common.errors import SandboxError
from fluency.core.records import Result
from fluency.core.study import Limits
from fluency.execution import container
from fluency.execution.engine import Engine, find_engine
from fluency.execution.protocol import Invocation
from fluency.execution.sandbox import Sandbox
from tests.execution.worlds import SMALL
from tests.waiting import wait_for

LIMITS = Limits()


def bash(sandbox: Sandbox, command: str, *needs: str, timeout_s=20.0, limits=LIMITS, **options) -> Result:
    """The command in bash, in the small world."""
    return sandbox.run(Invocation("bash", command, SMALL, limits, timeout_s, needs, **options))


def pwsh(sandbox: Sandbox, command: str, *needs: str, timeout_s=30.0, limits=LIMITS, **options) -> Result:
    """The command in PowerShell, in the small world."""
    return sandbox.run(Invocation("pwsh", command, SMALL, limits, timeout_s, needs, **options))


def own_containers(engine: Engine, *, all: bool = False) -> list[str]:
    """Ids of this test run's containers: those that run, or all."""
    label = f"{container.LABEL}={container.LABELS[container.LABEL]}"
    return [found["Id"] for found in engine.client().containers(all=all, filters={"label": label})]


@contextmanager
def own_daemon(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A dockerd that listens at DOCKER_HOST and keeps everything in a folder.

    It has a network name space of its own, because a daemon without a bridge removes the one it finds.
    """
    places = f"--data-root {folder}/data --exec-root {folder}/exec --pidfile {folder}/pid"
    command = f"unshare --net dockerd -H {os.environ['DOCKER_HOST']} {places} --bridge=none --iptables=false"
    with (folder / "log").open("ab") as log:
        daemon = subprocess.Popen(command.split(), stdout=log, stderr=log)
    try:
        wait_for(answers, 60)
        yield daemon
    finally:
        daemon.terminate()
        daemon.wait(40)


def answers() -> bool:
    """Whether an engine answers where one is looked for."""
    with suppress(SandboxError):
        return find_engine() is not None
    return False


def text(result: Result) -> str:
    """Standard output without its last newline."""
    return result.stdout.data.rstrip("\n")
