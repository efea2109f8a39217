"""Forty commands through Inspect AI's Docker sandbox, through ours and by `docker run`, on the same image, in turns.

Inspect's containers have no world, no processes and no service; ours have. Each loop is a separate process,
`python -m tools.bench.peer_inspect LOOP IMAGE AT-ONCE`, timed from its first command to its last. About four minutes.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from fluency.common.paths import ROOT
from fluency.core.shells import SHELLS
from fluency.core.study import Limits, SandboxConfig
from fluency.execution.protocol import Invocation
from fluency.execution.sandbox import open_sandbox
from fluency.world import build_world
from tools.bench.sandbox import docker_run

ROUNDS, AT_A_TIME = 3, (2, 8)
COMMANDS = [
    f"find /usr/share -maxdepth {1 + n % 4} | LC_ALL=C sort | sha256sum | cut -c1-{n + 8}"
    for n in range(40)
]


def main(small: bool = False) -> dict[str, object]:
    """Seconds of each loop, and as a multiple of ours; medians over the rounds."""
    subprocess.run(["make", "-s", ".venv-interop/.made"], check=True, cwd=ROOT)
    if subprocess.run(
        ["docker", "compose", "version"], capture_output=True, check=False
    ).returncode:
        raise SystemExit(
            "Inspect AI's sandbox needs Docker's compose plugin, 2.21 or newer\nHint: install it"
        )
    image = open_sandbox(SandboxConfig()).image.image_id
    figures: dict[str, object] = {}
    for at_once in AT_A_TIME:
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in LOOPS}
        for _ in range(1 if small else ROUNDS):
            for name in LOOPS:
                found[name].append(turn(name, image, at_once))
        if len({one["digest"] for turns in found.values() for one in turns}) > 1:
            raise RuntimeError(f"the loops printed different things: {found}")
        for name, turns in found.items():
            figures[f"{at_once} at a time, {name}, s"] = round(
                statistics.median(t["seconds"] for t in turns), 1
            )
            ratios = [
                t["seconds"] / ours["seconds"] for t, ours in zip(turns, found["ours"], strict=True)
            ]
            figures[f"{at_once} at a time, {name}, as a multiple of ours"] = round(
                statistics.median(ratios), 2
            )
    return figures


def turn(name: str, image: str, at_once: int) -> dict[str, Any]:
    """One loop in a separate process."""
    python = ROOT / ".venv-interop/bin/python" if name == "inspect" else sys.executable
    command = [python, "-m", "tools.bench.peer_inspect", name, image, str(at_once)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    return json.loads(done.stdout.splitlines()[-1])


def threads(one: Callable[[str], str], at_once: int) -> list[str]:
    """What the commands printed, so many at a time."""
    with ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(one, COMMANDS))


def ours(image: str) -> Callable[[int], list[str]]:
    """Our sandbox, its whole path: world, processes and service too."""
    sandbox, world = open_sandbox(SandboxConfig(parallel=8)), build_world(11)
    if sandbox.image.image_id != image:
        raise SystemExit(f"the image is {sandbox.image.image_id}, not {image}")

    def one(command: str) -> str:
        result = sandbox.run(
            Invocation("bash", command, world, Limits(), 60, ("processes", "http"))
        )
        return result.stdout.raw().decode()

    return lambda at_once: threads(one, at_once)


def bare(image: str) -> Callable[[int], list[str]]:
    """`docker run` alone."""
    return lambda at_once: threads(
        lambda command: docker_run(image, SHELLS["bash"].argv, command), at_once
    )


def inspect(image: str) -> Callable[[int], list[str]]:
    """Inspect AI's Docker sandbox: a sample a command, a container a sample, without a world."""
    from inspect_ai import Task
    from inspect_ai import eval as run_eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, get_model
    from inspect_ai.solver import Generate, Solver, TaskState, solver
    from inspect_ai.util import sandbox
    from inspect_ai.util._sandbox.docker import docker

    async def any_version() -> None:
        """Inspect asks for an engine of 24.0.6 or newer; an older one can do what is measured here too."""

    docker.validate_prereqs = any_version
    model = get_model("mockllm/model", custom_outputs=[])
    service = {"image": image, "x-local": True, "entrypoint": ["/usr/bin/tail", "-f", "/dev/null"]}
    service |= {"network_mode": "none", "stop_grace_period": "0s"}

    @solver
    def run_it() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            done = await sandbox().exec([*SHELLS["bash"].argv, state.input_text], timeout=60)
            state.output = ModelOutput.from_content("none", done.stdout)
            return state

        return solve

    def loop(at_once: int) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            compose = Path(folder) / "compose.yaml"
            compose.write_text(json.dumps({"services": {"default": service}}), encoding="utf-8")
            samples = [
                Sample(input=command, id=number) for number, command in enumerate(COMMANDS, 1)
            ]
            task = Task(MemoryDataset(samples), solver=run_it(), sandbox=("docker", str(compose)))
            options = {
                "display": "none",
                "log_dir": folder,
                "max_samples": at_once,
                "max_sandboxes": at_once,
            }
            (log,) = run_eval(task, model=model, **options)
            return [sample.output.completion for sample in log.samples or []]

    return loop


LOOPS = {"ours": ours, "inspect": inspect, "bare": bare}


def run_loop(name: str, image: str, at_once: str) -> None:
    """Print the loop's seconds and a hash of what its commands printed, as JSON."""
    loop = LOOPS[name](image)
    out, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115, PTH123 - Inspect prints
    began = time.monotonic()
    printed = loop(int(at_once))
    seconds = time.monotonic() - began
    print(
        json.dumps(
            {"seconds": seconds, "digest": hashlib.sha256("".join(printed).encode()).hexdigest()}
        ),
        file=out,
    )


if __name__ == "__main__":
    run_loop(*sys.argv[1:])
