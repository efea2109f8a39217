"""What is said of a command while busy containers share the processors: never a quiet machine's.

About ten minutes, in which nothing else can be measured on this machine.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from fluency.common.errors import ResultLost
from fluency.core.study import Limits, SandboxConfig
from fluency.execution.container import LABELS, remove
from fluency.execution.protocol import Invocation
from fluency.execution.sandbox import Sandbox, open_sandbox
from fluency.world import World

DEADLINE_S = 4.0
NORMAL, HEAVY = 1024, 40 * 1024
OTHERS = ((0, NORMAL), (4, NORMAL), (8, NORMAL), (4, HEAVY), (8, HEAVY))
"""How many containers are busy, and the weight of each."""
COMMANDS = {
    "bash": {
        "trivial": "echo 1",
        "sleep": "sleep 1000",
        "endless loop": "while :; do :; done",
        "storm": "for i in {1..200}; do while :; do :; done & done; wait",
        "fork loop": "while :; do /usr/bin/true; done",
        "chrt -i 0": "chrt -i 0 yes >/dev/null",
        "idle children": "for i in {1..100}; do while :; do sleep 0.05; done & done; wait",
    },
    "pwsh": {
        "trivial": "1",
        "sleep": "Start-Sleep 1000",
        "endless loop": "while ($true) {}",
        "storm": "1..200 | % { $null = [Diagnostics.Process]::Start("
        "'md5sum', '/dev/zero') }; Start-Sleep 1000",
        "fork loop": "while ($true) { /usr/bin/true }",
        "chrt -i 0": "chrt -i 0 yes >/dev/null",
        "idle children": "1..20 | % { $null = [Diagnostics.Process]::Start("
        "'watch', '-n 0.1 true') }; Start-Sleep 1000",
    },
}


def main(small: bool = False) -> dict[str, object]:
    """The verdict on each command, and its seconds, next to each number of busy containers."""
    sandbox = open_sandbox(SandboxConfig())
    figures: dict[str, object] = {}
    for number, weight in OTHERS[:1] if small else OTHERS:
        with busy(sandbox, number, weight):
            for shell, commands in COMMANDS.items():
                for name in list(commands)[: 2 if small else None]:
                    key = f"{number} of weight {weight}, {shell}, {name}"
                    figures[key] = verdict(sandbox, shell, commands[name])
    return figures


def verdict(sandbox: Sandbox, shell: str, command: str) -> str:
    """How a command ended, and after how many seconds."""
    invocation = Invocation(shell, command, World(seed=0), Limits(), DEADLINE_S)
    try:
        result = sandbox.run(invocation)
    except ResultLost as lost:
        return lost.what
    how = result.lost or ("timeout" if result.timed_out else f"exit {result.exit_code}")
    return (
        f"{how} after {result.wall_s:.1f} s, {result.used.container_cpu_s:.1f} s of processor time"
    )


@contextlib.contextmanager
def busy(sandbox: Sandbox, number: int, weight: int) -> Iterator[None]:
    """So many containers, each with an endless loop, while the block runs."""
    client, loop = sandbox._engine.client(), ["/usr/bin/bash", "-c", "while :; do :; done"]
    config = {"Image": sandbox.images["bash"].image_id, "Entrypoint": loop, "Labels": LABELS}
    config["HostConfig"] = {"NetworkMode": "none", "CpuShares": weight, "AutoRemove": True}
    made = []
    try:
        for _ in range(number):
            made.append(client.create_container_from_config(config)["Id"])
            client.start(made[-1])
        yield
    finally:
        for container in made:
            remove(sandbox._engine, container)
