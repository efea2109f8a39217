"""A study to disturb: a copy of the project, its runs, its records and its table."""

from __future__ import annotations

import csv
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fluency.core.loaded_study import load_study
from fluency.core.shells import SHELLS
from fluency.core.study import PILOT
from fluency.core.table import RECORD_TYPES
from fluency.core.tasks import task_sets
from fluency.generation.audit import Verified, verify
from fluency.generation.request import request_key
from fluency.generation.store import AnswerStore
from fluency.workflow.rerun_keys import RerunKeys
from tests.workflow.project import Project, bank, model
from tools.chaos.ledger import Ledger, Service

CONFIG = "config/test.yaml"
LONGEST_S = 1800
MEASURED = (
    "t_gen_s",
    "asked_utc",
    "t_exec_s",
    "peak_memory_bytes",
    "cpu_s",
    "peak_processes",
    "written_bytes",
)
"""Columns of the table that hold a time or a use of the machine, and so differ between any two runs."""
COUNTED = ("attempts",)
"""Columns that count what happened to a cell."""


@dataclass(frozen=True)
class Size:
    """How large the study is."""

    tasks: int = 20
    trials: int = 5

    @property
    def cells(self) -> int:
        """Both shells of the design."""
        return 2 * self.tasks * self.trials


@cache
def answer_of(prompt: str) -> str:
    """A right command for two tasks of three, a wrong one for the third.

    Where processes run it is right: a wrong one prints their numbers, which differ between any two runs, and the table
    says which line was wrong.
    """
    shell = next(shell for shell, known in SHELLS.items() if known.prompt_line in prompt)
    task = next(task for task in bank() if task.prompt.strip() in prompt)
    wrong = not task.needs and int(hashlib.sha256(task.id.encode()).hexdigest(), 16) % 3 == 0
    return (task.wrong if wrong else task.references)[shell][0]


class StudyRun:
    """One study in its own folder, and the endpoint that it asks."""

    def __init__(
        self, folder: Path, size: Size, engine: str | None = None, root: Path | None = None
    ) -> None:
        self.folder, self.size, self._engine = folder, size, engine
        self._started: subprocess.Popen[bytes] | None = None
        self.project = Project.make((root or folder) / "project")
        tasks = task_sets()[PILOT].tasks[: size.tasks]
        self.project.configure(
            study="chaos", trials=size.trials, tasks=tasks, conditions=["as_designed"]
        )
        bank()  # read before the first request waits for it
        self.ledger = Ledger(answer_of, {})
        self.service = Service(self.ledger)
        self.project.configure(models=[model(self.service.url)])
        loaded = load_study([self.project.root / CONFIG])
        keys = RerunKeys(loaded)
        self.store = AnswerStore(self.project.root / "answers")
        places: dict[str, list[Path]] = {}
        for cell in loaded.cells:
            request = keys.requests[cell]
            places.setdefault(request.prompt, []).append(self.store.path(request_key(request)))
        self.ledger.answers_to = places

    def start(self) -> subprocess.Popen[bytes]:
        """Start `fluency run` in its own process group, as a terminal would."""
        if (
            signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        ):  # in the background of a script, and inherited from here
            signal.signal(signal.SIGINT, signal.default_int_handler)
        self.ledger.run += 1
        command = [sys.executable, "-m", "fluency.cli", "run", "--configfile", CONFIG]
        more = {"XDG_CACHE_HOME": str(self.folder / "cache")} | (
            {"DOCKER_HOST": self._engine} if self._engine else {}
        )
        with self.log.open("ab") as log:
            self._started = subprocess.Popen(
                command,
                cwd=self.project.root,
                env=self.project.environ(**more),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self._started

    @property
    def log(self) -> Path:
        """What the last run printed."""
        return self.folder / f"run-{self.ledger.run}.log"

    def run(self) -> int | None:
        """Run the study to its end; the exit code, None if it does not end."""
        return wait(self.start())

    def records(self) -> dict[str, str]:
        """Every record that is there, and its SHA-256."""
        results = self.project.root / "results"
        return {
            path.relative_to(results).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for stage in RECORD_TYPES
            for path in (results / stage).rglob("*.json")
        }

    def made(self) -> int:
        """How many records are there; a cell has three."""
        results = self.project.root / "results"
        return sum(len(names) for stage in RECORD_TYPES for _, _, names in os.walk(results / stage))

    def table(self) -> list[Mapping[str, str]]:
        """The table of cells without what differs between any two runs."""
        with (self.project.root / "results" / "chaos" / "cells.csv").open(
            encoding="utf-8", newline=""
        ) as file:
            return [
                {k: v for k, v in row.items() if k not in MEASURED + COUNTED}
                for row in csv.DictReader(file)
            ]

    def answers(self) -> Verified:
        """The store, checked against its hashes."""
        return verify(self.store)

    def close(self) -> None:
        """End the endpoint, and a run that has not ended."""
        if self._started is not None and self._started.poll() is None:
            os.killpg(self._started.pid, signal.SIGKILL)
            self._started.wait()
        self.service.close()


def wait(process: subprocess.Popen[bytes]) -> int | None:
    """A run's exit code once it has ended; None, and it is killed, if it does not."""
    try:
        return process.wait(LONGEST_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None


def wait_until_made(study: StudyRun, process: subprocess.Popen[bytes], records: int) -> bool:
    """Wait for so many records; False if the run ended before."""
    deadline = time.monotonic() + LONGEST_S
    while time.monotonic() < deadline and process.poll() is None:
        if study.made() >= records:
            return True
        time.sleep(0.02)
    return False
