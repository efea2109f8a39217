"""A generating process for the tests of killing and of two runs at once.

python -m tests.generation.worker run URL STORE CELLS SEED     ask all cells in a shuffled order
python -m tests.generation.worker kill URL STORE CELLS SEED KILLS [WIRE]
    fork a child that asks, kill it at a random moment, again and again; print what was seen as JSON

A child that has finished before its moment came is not a kill: a quick machine needs more children, not fewer kills.
"""

import json
import os
import random
import select
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from fluency.common.errors import CallError
from fluency.common.files import flush
from fluency.core.study import Cell, Study
from fluency.generation import store as store_module
from fluency.generation.failure import RetryPolicy
from fluency.generation.generator import Generator
from fluency.generation.providers import PROVIDERS
from fluency.generation.request import request_for, request_key
from fluency.generation.store import AnswerStore
from tests.generation.studies import ENVIRON, ask, prompt_of, study_on

THREADS = 4
AT_A_TIME = 40
LONGEST_LIFE_S = 0.06


def the_cells(number: int, wire: str = "messages") -> tuple[Study, list[Cell]]:
    study = study_on(wire, trials=1, in_flight=THREADS)
    tasks = [f"task-{n}" for n in range((number + 1) // 2)]
    return study, [Cell("sonnet", shell, task, 1) for task in tasks for shell in ("bash", "pwsh")][
        :number
    ]


def generate(url: str, store: AnswerStore, study, cells: list[Cell]) -> None:
    policy = RetryPolicy(attempt_s=20, deadline_s=40, first_wait_s=0.05)
    generator = Generator(
        study, store=store, address_of=lambda _: url, environ=ENVIRON, retry_policy=policy
    )
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda cell: ask(generator, cell), cells))
    generator.close()


def run(url: str, folder: str, number: int, seed: int, wire: str = "messages") -> None:
    study, cells = the_cells(number, wire=wire)
    random.Random(seed).shuffle(cells)
    generate(url, AnswerStore(Path(folder)), study, cells)


def child(url: str, folder: str, study, cells: list[Cell], pipe: int) -> None:
    """Ask, and write down each step the moment it is done: asked, kept under its name."""

    def mark(step: str, key: str) -> None:
        os.write(pipe, f"{step} {key}\n".encode())

    wire = study.models[0].wire

    class WatchedProvider(PROVIDERS[wire]):
        def send(self, request, seconds):
            mark("asked", request_key(request))
            return super().send(request, seconds)

    def marked_flush(path: Path) -> None:
        if path.suffix == ".json":  # it has its name
            mark("kept", path.stem)
        flush(path)

    PROVIDERS[wire] = WatchedProvider
    store_module.flush = marked_flush
    try:
        generate(url, AnswerStore(Path(folder)), study, cells)
    except CallError as error:
        os.write(pipe, f"failed {error}\n".encode())


def kill(url: str, folder: str, number: int, seed: int, kills: int, wire: str = "messages") -> None:
    study, cells = the_cells(number, wire=wire)
    store, rest = AnswerStore(Path(folder)), list(cells)
    moments, seen, touched = random.Random(seed), [], 0
    generate(url, store, study, cells[:1])  # everything is imported before the first fork
    while sum(one["killed"] for one in seen) < kills:
        near = rest[: 2 * AT_A_TIME]
        rest[: len(near)] = missing(store, study, near)
        wanted = rest[:AT_A_TIME]
        assert wanted, f"the cells do not last for {kills} kills"
        touched = max(touched, len(cells) - len(rest) + AT_A_TIME)
        live = partial(child, url, folder, study, wanted)
        seen.append(forked(live, moments.uniform(0, LONGEST_LIFE_S)))
    print(json.dumps({"children": seen, "touched": touched}))


def missing(store: AnswerStore, study: Study, cells: list[Cell]) -> list[Cell]:
    return [
        cell
        for cell in cells
        if not store.get(request_key(request_for(study, cell, prompt_of(cell))))
    ]


def forked(work: Callable[[int], None], life_s: float) -> dict[str, object]:
    """Do the work, which writes steps into a pipe, in a child; kill that some time after its first step."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        try:
            work(write_end)
        finally:
            os._exit(0)
    os.close(write_end)
    select.select([read_end], [], [], 30)
    time.sleep(life_s)
    os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    with os.fdopen(read_end, "rb") as stream:
        steps = [line.split(" ", 1) for line in stream.read().decode().splitlines()]
    return {"killed": os.WIFSIGNALED(status), "steps": steps}


if __name__ == "__main__":
    mode, address, store_folder, *rest = sys.argv[1:]
    numbers = [int(text) if text.isdigit() else text for text in rest]
    {"run": run, "kill": kill}[mode](address, store_folder, *numbers)
