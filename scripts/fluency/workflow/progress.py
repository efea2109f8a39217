"""What a run says while it works: bars on a terminal, a line now and then in a log, each failure once."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from logging import WARNING, LogRecord
from typing import TextIO

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from fluency.common.errors import UserError

STAGES = {"generate": "generations", "execute": "executions", "score": "scores"}
LINE_EVERY_S = 15.0
_RULE_ERROR = re.compile(r"^RuleException:\n(?P<kind>\w+) in file .*?, line \d+:\n(?P<text>.*?)(?:\n  File .*)?$", re.S)


def sentence_kinds(kind: type[UserError] = UserError) -> set[str]:
    """Names of the errors that are a sentence for the user, not a bug."""
    return {kind.__name__}.union(*map(sentence_kinds, kind.__subclasses__()))


class Narrator:
    """Counts a workflow's events and tells a person what they amount to."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = Console(file=stream, stderr=False, highlight=False, soft_wrap=True)
        self._live = stream.isatty()
        self._clock = clock
        self._started = self._last_line = clock()
        self._totals: Counter[str] = Counter()
        self._done: Counter[str] = Counter()
        self._rule_of: dict[int, str] = {}
        self._failures: Counter[str] = Counter()
        self._failed_jobs = 0
        self._bars: Progress | None = None
        self._bar_of: dict[str, TaskID] = {}

    def hear(self, record: LogRecord) -> None:
        """Take in one of Snakemake's log records."""
        event = str(getattr(record, "event", None) or "")
        handler = getattr(self, f"_on_{event}", None)
        if handler:
            handler(record)
        elif not event and (record.levelno >= WARNING or "Nothing to be done" in str(record.msg)):
            self._say_plain(record)

    def close(self) -> None:
        """Stop the bars; say how much was done, and how often each failure came."""
        if self._bars:
            self._bars.stop()
            self._bars = None
        if any(self._totals.values()) and not self._live:
            self._say(self._counts())
        for text, times in self._failures.items():
            if times > 1:
                self._say(f"({times} times) {text.splitlines()[0]}")
        if self._failed_jobs:
            self._say(
                f"{self._failed_jobs} jobs failed; what was measured is kept, and the next run goes on from here."
            )
        self._totals.clear()
        self._failures.clear()
        self._failed_jobs = 0

    def _on_run_info(self, record: LogRecord) -> None:
        stats = getattr(record, "stats", {}) or {}
        new = [rule for rule in STAGES if stats.get(rule) and not self._totals[rule]]
        for rule in new:
            self._totals[rule] = stats[rule]
            if self._live:
                self._bar_of[rule] = self._progress().add_task(STAGES[rule], total=stats[rule])
        if new and not self._live:
            self._say(self._counts())

    def _on_job_info(self, record: LogRecord) -> None:
        self._rule_of[int(record.__dict__["jobid"])] = record.__dict__["rule_name"]

    def _on_job_finished(self, record: LogRecord) -> None:
        rule = self._rule_of.get(int(record.__dict__["job_id"]), "")
        self._done[rule] += 1
        if rule in self._bar_of:
            self._progress().advance(self._bar_of[rule])
        elif not self._live and self._clock() - self._last_line >= LINE_EVERY_S:
            self._say(self._counts())

    def _on_job_error(self, record: LogRecord) -> None:
        self._failed_jobs += 1

    def _on_error(self, record: LogRecord) -> None:
        message = str(record.msg)
        if "At least one job did not complete" in message:
            return
        found = _RULE_ERROR.match(message)
        text = found["text"].strip() if found and found["kind"] in sentence_kinds() else message
        self._failures[text] += 1
        if self._failures[text] == 1:
            self._say(text, style="red")

    def _say_plain(self, record: LogRecord) -> None:
        message = str(record.msg).strip()
        if message.startswith("Exiting because a job execution failed"):
            return
        self._say(
            "Nothing to do: every record is there and up to date." if "Nothing to be done" in message else message
        )

    def _counts(self) -> str:
        self._last_line = now = self._clock()
        parts = [
            f"{noun} {self._done[rule]}/{self._totals[rule]}" for rule, noun in STAGES.items() if self._totals[rule]
        ]
        done = sum(self._done[rule] for rule in STAGES)
        left = sum(self._totals.values()) - done
        if done and left > 0:
            seconds = (now - self._started) / done * left
            parts.append(f"about {max(1, round(seconds / 60))} min left")
        return ", ".join(parts)

    def _progress(self) -> Progress:
        if self._bars is None:
            columns = (
                TextColumn("{task.description:<12}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
            )
            self._bars = Progress(*columns, console=self._console)
            self._bars.start()
        return self._bars

    def _say(self, text: str, style: str = "") -> None:
        self._console.print(escape(text), style=style or None)
