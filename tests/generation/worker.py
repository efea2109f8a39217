"""Children that ask cells and are killed at random moments.

python -m tests.generation.worker URL STORE CELLS KILLS WIRE
    fork a child that asks, kill it, again and again; print what was seen as JSON

A child that has finished before its moment came is not a kill: a quick machine needs more children,
not fewer kills.
"""

import json
import os
import random
import select
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fluency.common.errors import CallError
from fluency.common.files import write_atomic
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


def the_cells(number: int, wire: str) -> tuple[Study, list[Cell]]:
    study = study_on(wire, trials=1, in_flight=THREADS)
    return study, list(study.cells([f"task-{n}" for n in range(number // 2)]))


def key_of(study: Study, cell: Cell) -> str:
    return request_key(request_for(study, cell, prompt_of(cell)))


def generate(url: str, store: AnswerStore, study: Study, cells: list[Cell]) -> None:
    policy = RetryPolicy(attempt_s=20, deadline_s=40, first_wait_s=0.05)
    where = {"store": store, "address_of": lambda _: url, "environ": ENVIRON}
    generator = Generator(study, retry_policy=policy, **where)
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda cell: ask(generator, cell), cells))
    generator.close()


def child(url: str, folder: Path, study: Study, cells: list[Cell], pipe: int) -> None:
    """Ask, and write down each step the moment it is done: asked, kept under its name."""

    def mark(step: str, what: object) -> None:
        os.write(pipe, f"{step} {what}\n".encode())

    wire = study.models[0].wire

    class WatchedProvider(PROVIDERS[wire]):
        def send(self, request, seconds):
            mark("asked", request_key(request))
            return super().send(request, seconds)

    def marked_write(path: Path, data: str) -> None:
        write_atomic(path, data)
        mark("kept", path.stem)

    PROVIDERS[wire] = WatchedProvider
    store_module.write_atomic = marked_write
    try:
        generate(url, AnswerStore(folder), study, cells)
    except CallError as error:
        mark("failed", error)


def killed_child(life_s: float, *work: object) -> dict[str, object]:
    """Let a child work, and kill it some time after its first step."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        try:
            child(*work, write_end)
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


def main(url: str, folder: str, number: str, kills: str, wire: str) -> None:
    study, cells = the_cells(int(number), wire)
    store, rest = AnswerStore(Path(folder)), list(cells)
    moments, seen, touched = random.Random(5), [], 0
    generate(url, store, study, cells[:1])  # everything is imported before the first fork
    while sum(one["killed"] for one in seen) < int(kills):
        near = rest[: 2 * AT_A_TIME]
        rest[: len(near)] = [cell for cell in near if not store.get(key_of(study, cell))]
        wanted = rest[:AT_A_TIME]
        assert wanted, f"the cells do not last for {kills} kills"
        touched = max(touched, len(cells) - len(rest) + AT_A_TIME)
        life_s = moments.uniform(0, LONGEST_LIFE_S)
        seen.append(killed_child(life_s, url, store.folder, study, wanted))
    print(json.dumps({"children": seen, "touched": touched}))


if __name__ == "__main__":
    main(*sys.argv[1:])
