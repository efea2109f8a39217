"""Children that ask cells and are killed at random moments.

python -m tests.generation.worker URL STORE CELLS KILLS WIRE
    fork a child that asks, kill it, again and again; print how many cells were touched

A child that has finished before its moment came is not a kill: a quick machine needs more children,
not fewer kills.
"""

import os
import random
import select
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fluency.core.study import Cell, Study
from fluency.generation.failure import RetryPolicy
from fluency.generation.generator import Generator
from fluency.generation.providers import PROVIDERS
from fluency.generation.request import request_for
from fluency.generation.store import AnswerStore
from tests.generation.studies import ENVIRON, ask, prompt_of, study_on

THREADS = 4
AT_A_TIME = 40
LONGEST_LIFE_S = 0.06


def the_cells(number, wire) -> tuple[Study, list[Cell]]:
    study = study_on(wire, trials=1, in_flight=THREADS)
    return study, list(study.cells([f"task-{n}" for n in range(number // 2)]))


def key_of(study: Study, cell: Cell):
    return request_for(study, cell, prompt_of(cell)).key


def generate(url, store: AnswerStore, study: Study, cells: list[Cell]):
    policy = RetryPolicy(attempt_s=20, deadline_s=40, first_wait_s=0.05)
    where = {"store": store, "address_of": lambda _: url, "environ": ENVIRON}
    generator = Generator(study, retry_policy=policy, **where)
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda cell: ask(generator, cell), cells))
    generator.close()


def is_killed(life_s, url, folder, study: Study, cells: list[Cell]):
    """Let a child ask, kill it some time after its first call, and say whether that was in time."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        wire = study.models[0].wire

        class WatchedProvider(PROVIDERS[wire]):
            def send(self, request, seconds):
                os.write(write_end, b"asked")
                return super().send(request, seconds)

        PROVIDERS[wire] = WatchedProvider
        try:
            generate(url, AnswerStore(folder), study, cells)
        except BaseException:
            os._exit(1)
        os._exit(0)
    select.select([read_end], [], [], 30)
    time.sleep(life_s)
    os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    os.close(read_end)
    os.close(write_end)
    assert os.WIFSIGNALED(status) or status == 0, "the child failed"
    return os.WIFSIGNALED(status)


def main(url, folder, number, kills, wire):
    study, cells = the_cells(int(number), wire)
    store, rest = AnswerStore(Path(folder)), list(cells)
    moments, killed, touched = random.Random(5), 0, 0
    generate(url, store, study, cells[:1])  # everything is imported before the first fork
    while killed < int(kills):
        near = rest[: 2 * AT_A_TIME]
        rest[: len(near)] = [cell for cell in near if not store.get(key_of(study, cell))]
        wanted = rest[:AT_A_TIME]
        assert wanted, f"the cells do not last for {kills} kills"
        touched = max(touched, len(cells) - len(rest) + AT_A_TIME)
        life_s = moments.uniform(0, LONGEST_LIFE_S)
        killed += is_killed(life_s, url, store.folder, study, wanted)
    print(touched)


if __name__ == "__main__":
    main(*sys.argv[1:])
