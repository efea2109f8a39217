"""A generating process for the tests of killing and of two runs at once.

python -m tests.generation.worker run URL STORE CELLS SEED     ask all cells in a shuffled order
python -m tests.generation.worker kill URL STORE CELLS SEED KILLS
    fork a child that asks, kill it at a random moment, again and again; print what was seen as JSON
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fluency.cells import Cell
from fluency.errors import CallError
from fluency.generation import AnswerStore, Generator, Patience, lane, request_for, request_key
from fluency.generation.client import Client, Reply
from fluency.records import Answer
from tests.generation.studies import ENVIRON, prompt_of, study_of

THREADS = 4
AT_A_TIME = 40
LONGEST_LIFE_S = 0.06


def the_cells(number: int) -> tuple[object, list[Cell]]:
    study = study_of({"alias": "sonnet", "id": "claude-sonnet-4-6", "in_flight": THREADS}, trials=1)
    tasks = [f"task-{n}" for n in range((number + 1) // 2)]
    return study, [Cell("sonnet", shell, task, 1) for task in tasks for shell in ("bash", "pwsh")][:number]


def generate(url: str, store: AnswerStore, study, cells: list[Cell]) -> None:
    patience = Patience(attempt_s=20, deadline_s=40, first_wait_s=0.05)
    generator = Generator(
        study, store=store, base_urls={"sonnet": url}, environ=ENVIRON, patience=patience, say=lambda text: None
    )
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda cell: generator.generate(cell, prompt_of(cell), "0" * 64), cells))


def run(url: str, folder: str, number: int, seed: int) -> None:
    study, cells = the_cells(number)
    random.Random(seed).shuffle(cells)
    generate(url, AnswerStore(Path(folder)), study, cells)


def child(url: str, folder: str, study, cells: list[Cell], pipe: int) -> None:
    """Ask, and write down each step the moment it is done."""

    def mark(step: str, key: str) -> None:
        os.write(pipe, f"{step} {key}\n".encode())

    class WatchedStore(AnswerStore):
        def put(self, answer: Answer) -> Answer:
            kept = super().put(answer)
            mark("kept", answer.request_key)
            return kept

    class WatchedClient(Client):
        def ask(self, request, timeout_s: float, keep) -> Reply:
            key = request_key(request)
            mark("asked", key)
            reply = super().ask(request, timeout_s, keep)
            mark("read", key)
            return reply

    lane.Client = WatchedClient
    try:
        generate(url, WatchedStore(Path(folder)), study, cells)
    except CallError as error:
        os.write(pipe, f"failed {error}\n".encode())


def kill(url: str, folder: str, number: int, seed: int, kills: int) -> None:
    study, cells = the_cells(number)
    store, rest = AnswerStore(Path(folder)), list(cells)
    moments, seen, touched = random.Random(seed), [], 0
    first = Generator(study, store=store, base_urls={"sonnet": url}, environ=ENVIRON, say=lambda text: None)
    first.generate(cells[0], prompt_of(cells[0]), "0" * 64)  # everything is imported before the first fork
    first.close()
    while len(seen) < kills:
        near = rest[: 2 * AT_A_TIME]
        rest[: len(near)] = [
            cell for cell in near if not store.has(request_key(request_for(study, cell, prompt_of(cell))))
        ]
        wanted = rest[:AT_A_TIME]
        touched = max(touched, len(cells) - len(rest) + AT_A_TIME)
        read_end, write_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read_end)
            try:
                child(url, folder, study, wanted, write_end)
            finally:
                os._exit(0)
        os.close(write_end)
        select.select([read_end], [], [], 30)  # until it has asked
        time.sleep(moments.uniform(0, LONGEST_LIFE_S))
        os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        with os.fdopen(read_end, "rb") as stream:
            steps = [line.split(" ", 1) for line in stream.read().decode().splitlines()]
        seen.append({"killed": os.WIFSIGNALED(status), "steps": steps})
    print(json.dumps({"children": seen, "touched": touched}))


if __name__ == "__main__":
    mode, address, store_folder, *numbers = sys.argv[1:]
    {"run": run, "kill": kill}[mode](address, store_folder, *map(int, numbers))
