"""What a run prints: bars, on a terminal at once, in a log now and then; each failure once."""

import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from logging import WARNING, LogRecord, getLogger
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from fluency.common.errors import RunEnded, UserError
from fluency.common.files import write_atomic
from fluency.common.paths import RESULTS
from fluency.common.words import NOTHING_TO_DO, plural
from fluency.core.study import Cell
from fluency.core.table import record_path
from fluency.workflow.snakemake_process import node_name

STAGES = {
    "generate": ("answers", "generations"),
    "execute": ("executions", "executions"),
    "score": ("scores", "scores"),
}
"""The rules that are counted, in a cell's order: what they make, and their records' folder."""
ENDING = "Will exit after finishing currently running jobs (scheduler)."
CANCELLED = "Terminating processes on user request"
NOTHING = "Nothing to be done"
FAILED = "Exiting because a job execution failed"
INCOMPLETE = "At least one job did not complete"
"""What Snakemake logs, from which a reader learns nothing that the reporter does not tell."""
RULE_EXCEPTION = "RuleException"
"""The class of what Snakemake raises when a rule's `run` block has raised."""
LINE_EVERY_S = 15.0
_LOGGER = getLogger("snakemake.logging")
"""Snakemake makes the reporter, so the pipeline reaches it by further events of this logger."""


def log_study(study: str, cells: Sequence[Cell], spending: Callable[[], str]) -> None:
    """Tell the reporter what is counted.

    Args:
        spending: dollars spent and where the run stops; empty if nothing is paid.
    """
    extra = {"event": "study", "cells": cells, "spending": spending}
    _LOGGER.info(f"Study {study}: {plural(len(cells), 'cell')}.", extra=extra)


def log_failure(failure: Exception, log: Path) -> None:
    """Pass an action's failure to the reporter, and leave it in the log; a bug's traceback too."""
    text = kept = str(failure)
    if not isinstance(failure, UserError):
        text = f"{type(failure).__name__}: {failure}\nHint: this is a bug; {log} has its traceback"
        kept = traceback.format_exc()
    if node := node_name():
        text, kept = f"node {node}: {text}", f"node {node}: {kept}"
    write_atomic(log, f"{kept}\n")
    _LOGGER.error(text, extra={"event": "failure", "failure": failure})


class ProgressReporter:
    """Counts a workflow's events and prints what they amount to."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = Console(file=stream, highlight=False, soft_wrap=True)
        self._is_terminal = stream.isatty()
        self._clock = clock
        self._cells: Sequence[Cell] = ()
        self._spending: Callable[[], str] = str
        self._begin()

    def handle(self, record: LogRecord) -> None:
        event = getattr(record, "event", None) or "plain"
        if handler := getattr(self, f"_on_{event}", None):
            handler(record)

    def close(self) -> None:
        self._bars.stop()
        if self._stages and not self._is_terminal:
            self._print_bars()
        for text, times in self._failures.items():
            if times > 1:
                self._print(f"({times} times) {text.splitlines()[0]}")
        if self._failed_jobs and not self._ending:
            failed = plural(self._failed_jobs, "job")
            self._print(f"{failed} failed; what was measured is kept, and the next run continues.")
        self._begin()

    def _begin(self) -> None:
        self._bars = Progress(
            TextColumn("{task.description:10}"),
            BarColumn(24),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[money]}"),
            console=self._console,
            get_time=self._clock,
            speed_estimate_period=3600,
        )
        self._stages: dict[str, TaskID] = {}
        self._jobs: dict[int, str] = {}
        self._failures = Counter[str]()
        self._failed_jobs = 0
        self._ending = False
        self._last_line = self._clock()

    def _on_study(self, record: LogRecord) -> None:
        self._cells, self._spending = record.__dict__["cells"], record.__dict__["spending"]

    def _on_run_info(self, record: LogRecord) -> None:
        stats = getattr(record, "stats", {}) or {}
        new = [rule for rule in STAGES if stats.get(rule) and rule not in self._stages]
        for rule in new:
            noun, stage = STAGES[rule]
            # Records of the study count as done, less those that this run makes again.
            there = sum(record_path(RESULTS, stage, cell).exists() for cell in self._cells)
            done = max(0, min(there, len(self._cells) - stats[rule]))
            total = done + stats[rule]
            self._stages[rule] = self._bars.add_task(noun, completed=done, total=total, money="")
        if new and self._is_terminal:
            self._bars.start()
        elif new:
            self._print_bars()

    def _on_job_info(self, record: LogRecord) -> None:
        if (rule := record.__dict__["rule_name"]) in self._stages:
            self._jobs[int(record.__dict__["jobid"])] = rule

    def _on_job_finished(self, record: LogRecord) -> None:
        if rule := self._jobs.pop(int(record.__dict__["job_id"]), ""):
            self._bars.advance(self._stages[rule])
            self._bars.update(self._bars.task_ids[0], money=self._spending())
        silent_s = self._clock() - self._last_line
        if self._stages and not self._is_terminal and silent_s >= LINE_EVERY_S:
            self._print_bars()

    def _on_job_error(self, record: LogRecord) -> None:
        self._failed_jobs += 1

    def _on_error(self, record: LogRecord) -> None:
        # A failed action has passed its failure itself; this is Snakemake's text of the same.
        message, kind = str(record.msg), getattr(record, "exception", "")
        if kind != RULE_EXCEPTION and INCOMPLETE not in message:
            self._print_once(message)

    def _on_failure(self, record: LogRecord) -> None:
        if not isinstance(record.__dict__["failure"], RunEnded):
            self._print_once(str(record.msg))

    def _print_once(self, text: str) -> None:
        self._failures[text] += 1
        if self._failures[text] == 1:
            self._print(text, style="red")

    def _on_plain(self, record: LogRecord) -> None:
        message = str(record.msg).strip()
        if message.startswith((CANCELLED, ENDING)):
            self._bars.stop()
            if not self._ending:
                self._print("Ending: running jobs may finish, and the next run continues.")
            self._ending = True
        elif NOTHING in message:
            self._print(NOTHING_TO_DO)
        elif record.levelno >= WARNING and not message.startswith(FAILED):
            self._print(message)

    def _print_bars(self) -> None:
        self._last_line = self._clock()
        self._console.print(self._bars)

    def _print(self, text: str, style: str = "") -> None:
        self._console.print(escape(text), style=style or None)
