"""What an execution costs, compared with `docker run --rm` without a network.

The loops take turns, so that other load slows all of them; figures are medians over the rounds.
About six minutes.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from fluency.core.records import Result
from fluency.core.shells import SHELLS
from fluency.core.study import Limits, SandboxConfig
from fluency.execution.protocol import Invocation
from fluency.execution.sandbox import Sandbox, open_sandbox, startup_times
from fluency.world import World, build_world

ROUNDS = 5
PER_ROUND = {1: 4, 2: 20, 8: 12}
MEMORY_RUNS = 100
COMMAND = {
    "bash": "find / -xdev -type d 2>/dev/null | wc -l",
    "pwsh": "(Get-ChildItem -Recurse /usr/share).Count",
}
TREE, ALL, BARE = "tree alone", "with processes and service", "bare docker run"
TARGETS = {TREE: 1.05, ALL: 1.2}
EVERYTHING = ("processes", "http")


def main(small: bool = False) -> dict[str, object]:
    """Executions a minute at 1, 2 and 8 at a time, ratios to the bare loop, start-up, memory."""
    rounds, per_round, memory_runs = (1, {2: 2}, 10) if small else (ROUNDS, PER_ROUND, MEMORY_RUNS)
    sandbox, world = open_sandbox(SandboxConfig(parallel=8)), build_world(11)
    figures: dict[str, object] = {}
    for shell in SHELLS:
        for start in startup_times(sandbox, shell, world, Limits()).values():
            figures[f"{shell}: seconds of an empty command"] = start
    for shell in [shell for shell in COMMAND if not sandbox.why_missing(shell)]:
        used: list[int] = []

        def measured(needs: tuple[str, ...], shell: str = shell, used: list[int] = used) -> None:
            used.append(execute(sandbox, world, shell, needs).used.peak_memory_bytes or 0)

        loops: dict[str, Callable[[], object]] = {
            TREE: partial(measured, ()),
            ALL: partial(measured, EVERYTHING),
        }
        if shutil.which("docker"):
            image = sandbox.images[shell].image_id
            loops[BARE] = partial(docker_run, image, SHELLS[shell].argv, COMMAND[shell])
        for at_a_time, count in per_round.items():
            seconds: dict[str, list[float]] = {name: [] for name in loops}
            for _ in range(rounds):
                for name, loop in loops.items():
                    seconds[name].append(timed(loop, at_a_time, count))
            figures |= _ratios(shell, at_a_time, seconds)
        figures[f"{shell}: MiB of a container, median"] = round(statistics.median(used) / 2**20)
        figures[f"{shell}: MiB of a container, most"] = round(max(used) / 2**20)
    figures["load at the end"] = os.getloadavg()[0]
    return figures | memory(sandbox, world, memory_runs)


def execute(sandbox: Sandbox, world: World, shell: str, needs: tuple[str, ...]) -> Result:
    """One execution through the whole path."""
    return sandbox.run(Invocation(shell, COMMAND[shell], world, Limits(), 60, needs))


def docker_run(image: str, argv: Sequence[str], command: str) -> str:
    """One turn of the bare loop, without a network: the engine's bridge costs a quarter more."""
    options = ["docker", "run", "--rm", "--network", "none", "--entrypoint"]
    run = [*options, argv[0], image, *argv[1:], command]
    return subprocess.check_output(run, stderr=subprocess.DEVNULL, text=True)


def timed(loop: Callable[[], object], at_a_time: int, count: int) -> float:
    """Wall seconds for each turn of a loop, `count` turns in all."""
    began = time.monotonic()
    with ThreadPoolExecutor(at_a_time) as pool:
        list(pool.map(lambda _: loop(), range(count)))
    return (time.monotonic() - began) / count


def _ratios(shell: str, at_a_time: int, seconds: dict[str, list[float]]) -> dict[str, object]:
    figures: dict[str, object] = {}
    for name, found in seconds.items():
        loop = f"{shell}, {at_a_time} at a time, {name}"
        figures[f"{loop}: executions a minute"] = round(60 / statistics.median(found), 1)
        if BARE in seconds and name != BARE:
            pairs = zip(found, seconds[BARE], strict=True)
            ratio = round(statistics.median(ours / theirs for ours, theirs in pairs), 2)
            aim = f" (at most {TARGETS[name]})" if at_a_time == 2 else ""
            figures[f"{loop}: ratio to the bare loop{aim}"] = ratio
    return figures


def memory(sandbox: Sandbox, world: World, runs: int) -> dict[str, object]:
    """Resident MiB of this process after a tenth of the executions and after all."""
    resident: dict[str, object] = {}
    for done, more in ((runs // 10, runs // 10), (runs, runs - runs // 10)):
        timed(lambda: execute(sandbox, world, "bash", ()), 2, more)
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        resident[f"memory: MiB after {done} executions"] = round(pages * 4096 / 2**20, 1)
    return resident
