"""Everything that touches Snakemake's private state, as it is in version 9.27; another major version is refused.

To do without it, Snakemake would have to offer: a scheduler that polls only after an event and needs no sizes of
inputs, a handler of SIGTERM that takes no lock, and a public reader of what was recorded of a product.
"""

from __future__ import annotations

import ast
import json
import logging
import os
import signal
import sys
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fluency.common.errors import UserError
from fluency.common.files import write_atomic
from fluency.common.paths import RESULTS, ROOT
from fluency.core.loaded_study import LoadedStudy
from fluency.core.records import Generation
from fluency.core.schema import read_record
from fluency.core.study import Cell, Study
from fluency.core.table import record_path
from fluency.generation.request import request_key
from fluency.workflow.progress import ENDING
from fluency.workflow.rerun_keys import RerunKeys
from snakemake_scheduler_plugin_fluency import FAIR_SHARE, Scheduler

MADE_FOR = "9.27"
PREFETCHED = 1
"""Executions started beyond the containers at a time, so that none stays idle while Snakemake records an end."""
FOLDER = ROOT / ".snakemake"
LONGEST_NAME = 255
GRACE_S = 3.5
"""What is under way has so long to end when a run is told to end, which so ends within 5 s."""


def check_version() -> None:
    """UserError if the installed Snakemake is of another major version than this module was made for."""
    found = version("snakemake")
    if found.split(".")[0] != MADE_FOR.split(".")[0]:
        what = f"Snakemake {found} is installed, and this project uses parts that only {MADE_FOR} is known to have"
        raise UserError(what, where="environment", hint="`make env` installs the pinned version")


# ------------------------------------------------------------ scheduling


def share_threads(workflow: Any, study: Study) -> None:
    """Limit the executions under way, and have Snakemake count the answers that each model is asked for.

    More executions would wait for a container on threads that could ask; fewer would let containers idle.
    """
    workflow.register_resource("containers", study.sandbox.containers + PREFETCHED)
    for model in study.models:
        workflow.register_resource(FAIR_SHARE + model.alias, sys.maxsize)


def model_resources(study: Study) -> dict[str, Callable[[Any], int | None]]:
    """The resources of the rule that asks: one of the model's own, none of the others'."""

    def of(alias: str) -> Callable[[Any], int | None]:
        return lambda wildcards: 1 if wildcards.model == alias else None

    return {FAIR_SHARE + model.alias: of(model.alias) for model in study.models}


def patch_scheduler_polling(workflow: Any) -> None:
    """Have the scheduler poll for jobs only after an event, and read no sizes of input files.

    With Snakemake's default limit of jobs a second each poll causes another one a second later: after 400 jobs the
    scheduler polls 400 times a second, which takes more processor time than the jobs. `generation` keeps the models'
    limits. And each poll reads the sizes of all inputs of all ready jobs: thousands of files.
    """
    scheduler = workflow.scheduler
    if workflow.local_exec:  # jobs are threads of this run
        scheduler.job_rate_limiter = None
        scheduler._open_jobs = CoalescingEvent()
    if isinstance(scheduler._scheduler, Scheduler):
        scheduler.update_input_sizes = _no_sizes


async def _no_sizes(_: Any) -> None: ...


class CoalescingEvent(threading.Event):
    """Replaces the semaphore that wakes the scheduler: any number of releases causes one poll."""

    release = threading.Event.set

    def __init__(self) -> None:
        super().__init__()
        self.set()  # for the first poll

    def acquire(self) -> None:
        self.wait()
        self.clear()


def end_on_signals(
    told: Callable[[], None] | None = None, give_up: Callable[[], None] | None = None
) -> None:
    """On SIGTERM start no job, and let those under way end; with `give_up` on Ctrl-C too, and for GRACE_S at most.

    `told` is called at once, `give_up` when GRACE_S is over. A thread made beforehand does it, which a pipe wakes: the
    main thread may be blocked, or have the scheduler's lock.
    """
    start_no_job = signal.getsignal(signal.SIGTERM)
    assert callable(start_no_job)  # the scheduler has set it
    numbers = (signal.SIGINT, signal.SIGTERM) if give_up else (signal.SIGTERM,)
    came, signalled = os.pipe()

    def begin_to_end() -> None:
        if told:
            # The scheduler's own sentence comes when it looks for jobs again.
            logging.getLogger("snakemake.logging").info(ENDING)
            told()
        start_no_job(signal.SIGTERM, None)

    def end() -> None:
        while os.read(came, 1)[0] not in numbers:
            pass
        threading.Thread(
            target=begin_to_end, daemon=True
        ).start()  # may wait for the scheduler's lock
        if give_up:
            time.sleep(GRACE_S)
            try:
                give_up()
            finally:
                os._exit(1)  # nothing is torn by that: records are whole or not there

    threading.Thread(target=end, daemon=True).start()
    os.set_blocking(signalled, False)
    signal.set_wakeup_fd(
        signalled, warn_on_full_buffer=False
    )  # written to whatever the main thread is doing
    for number in numbers:
        signal.signal(number, lambda *_: None)


# ------------------------------------------------------------ what is recorded of a product


def read_metadata(product: str) -> dict[str, Any] | None:
    """What Snakemake recorded of a product; None if it recorded nothing readable."""
    try:
        found = json.loads(_place("metadata", product).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found else None


def recorded_key(metadata: dict[str, Any]) -> str | None:
    """The rule's one param when the product was made; Snakemake keeps the Python text of each param."""
    try:
        (param,) = metadata["params"]
        return str(ast.literal_eval(param))
    except (KeyError, TypeError, ValueError, SyntaxError):
        return None


def is_incomplete(product: str) -> bool:
    """Whether a job that makes it was started and did not end; Snakemake makes it again."""
    return _place("incomplete", product).exists()


def mark_untracked_outputs(loaded: LoadedStudy, keys: RerunKeys) -> None:
    """Mark the untracked outputs as Snakemake marks those of a killed job, so that it makes them again."""
    for name in untracked_outputs(loaded, keys):
        with suppress(OSError):  # Snakemake itself reports a folder that cannot be written
            write_atomic(_place("incomplete", name), '{"external_jobid": null}')


def untracked_outputs(loaded: LoadedStudy, keys: RerunKeys) -> list[str]:
    """Products without a record of how they were made, named as the rules name them.

    Snakemake would keep them (results copied from elsewhere, a lost `.snakemake`), whatever the study, the checks or
    the sandbox are now. A generation states its request: one that answers the study's is kept.
    """
    generations = {
        str(record_path(Path(RESULTS.name), "generations", cell)): cell for cell in loaded.cells
    }
    there = [
        name
        for name in loaded.products()
        if not _place("metadata", name).exists() and (ROOT / name).exists()
    ]
    return [
        name
        for name in there
        if name not in generations or not _answers(keys, generations[name], ROOT / name)
    ]


def _answers(keys: RerunKeys, cell: Cell, path: Path) -> bool:
    try:
        return read_record(Generation, path).answer.request_key == request_key(keys.requests[cell])
    except UserError:
        return False


def _place(kind: str, product: str) -> Path:
    """Where Snakemake keeps something of a file: its name in Base64, cut into folders where it is too long."""
    encoded = urlsafe_b64encode(product.encode()).decode()
    pieces = [
        encoded[at : at + LONGEST_NAME - 1] for at in range(0, len(encoded), LONGEST_NAME - 1)
    ]
    return FOLDER.joinpath(kind, *(f"@{piece}" for piece in pieces[:-1]), pieces[-1])
