"""The same commands through one of three loops: `python -m tools.bench.peer_loops LOOP IMAGE AT-ONCE`, a process each.

Prints, as JSON, seconds from the first command to the last, processor seconds of this process and all it started, and
a hash of what the commands printed. Inspect AI is imported only for its loop, before the clock starts.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fluency.core.shells import SHELLS

COMMANDS = [f"find /usr/share -maxdepth {1 + n % 4} | LC_ALL=C sort | sha256sum | cut -c1-{n + 8}" for n in range(40)]
BASH = SHELLS["bash"].argv
Loop = Callable[[int], list[str]]


def ours(image: str) -> Loop:
    """Our sandbox, its whole path: world, processes and service too."""
    from fluency.core.study import Limits, SandboxConfig
    from fluency.execution.protocol import Invocation
    from fluency.execution.sandbox import open_sandbox
    from fluency.world import build_world

    sandbox, world = open_sandbox(SandboxConfig(parallel=8)), build_world(11)
    if sandbox.image.image_id != image:
        raise SystemExit(f"the image is {sandbox.image.image_id}, not {image}")

    def one(command: str) -> str:
        result = sandbox.run(Invocation("bash", command, world, Limits(), 60, ("processes", "http")))
        return result.stdout.raw().decode()

    return _threads(one)


def bare(image: str) -> Loop:
    """`docker run` alone."""
    return _threads(lambda command: docker_run(image, BASH, command))


def docker_run(image: str, argv: Sequence[str], command: str) -> str:
    """One turn of the bare loop. Without a network, as ours: the engine's bridge costs a quarter more."""
    run = ["docker", "run", "--rm", "--network", "none", "--entrypoint", argv[0], image, *argv[1:], command]
    return subprocess.run(run, capture_output=True, check=True, text=True).stdout


def inspect(image: str) -> Loop:
    """Inspect AI's Docker sandbox: a sample a command, a container a sample, without a world."""
    from inspect_ai import Task
    from inspect_ai import eval as run_eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, get_model
    from inspect_ai.solver import Generate, Solver, TaskState, solver
    from inspect_ai.util import sandbox
    from inspect_ai.util._sandbox.docker import docker

    async def any_version() -> None:
        """Inspect asks for an engine of 24.0.6 or newer; what it does here works with older ones too."""

    docker.validate_prereqs = any_version
    model = get_model("mockllm/model", custom_outputs=[])

    @solver
    def run_it() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            done = await sandbox().exec([*BASH, state.input_text], timeout=60)
            state.output = ModelOutput.from_content("none", done.stdout)
            return state

        return solve

    def loop(at_once: int) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            compose = Path(folder) / "compose.yaml"
            compose.write_text(
                json.dumps(
                    {
                        "services": {
                            "default": {
                                "image": image,
                                "x-local": True,
                                "entrypoint": ["/usr/bin/tail", "-f", "/dev/null"],
                                "network_mode": "none",
                                "stop_grace_period": "0s",
                            }
                        }
                    }
                ),
                encoding="utf-8",
            )
            samples = [Sample(input=command, id=number) for number, command in enumerate(COMMANDS, 1)]
            task = Task(MemoryDataset(samples), solver=run_it(), sandbox=("docker", str(compose)))
            (log,) = run_eval(
                task, model=model, display="none", log_dir=folder, max_samples=at_once, max_sandboxes=at_once
            )
            return [sample.output.completion for sample in log.samples or []]

    return loop


def _threads(one: Callable[[str], str]) -> Loop:
    def loop(at_once: int) -> list[str]:
        with ThreadPoolExecutor(at_once) as pool:
            return list(pool.map(one, COMMANDS))

    return loop


def processor_s() -> float:
    """Seconds of this process and of what it started and waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main(name: str, image: str, at_once: str) -> None:
    """One loop, from ready to done; the parent is told when the clock starts."""
    loop = {"ours": ours, "bare": bare, "inspect": inspect}[name](image)
    said, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115, PTH123 - Inspect prints
    print("ready", file=said, flush=True)
    began, used = time.monotonic(), processor_s()
    printed = loop(int(at_once))
    seconds, processor = time.monotonic() - began, processor_s() - used
    digest = hashlib.sha256("".join(printed).encode()).hexdigest()
    print(json.dumps({"wall_s": seconds, "processor_s": processor, "done": len(printed), "digest": digest}), file=said)


if __name__ == "__main__":
    main(*sys.argv[1:])
