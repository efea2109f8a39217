"""What a run says while it works: one line that stays on a terminal, one now and then in a log, each failure once."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from logging import WARNING, LogRecord
from typing import ClassVar, TextIO

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.text import Text

from fluency.common.errors import UserError
from fluency.common.words import NOTHING_TO_DO, plural
from fluency.workflow.progress_count import STAGES, ProgressCount

LINE_EVERY_S = 15.0
BAR = 12
_RULE_ERROR = re.compile(r"^RuleException:\n(?P<kind>\w+) in file .*?, line \d+:\n(?P<text>.*?)(?:\n  File .*)?$", re.S)
_ENDED_BY_USER = "Terminating processes on user request"


def sentence_kinds(kind: type[UserError] = UserError) -> set[str]:
    """Names of the errors that are a sentence for the user, not a bug."""
    return {kind.__name__}.union(*map(sentence_kinds, kind.__subclasses__()))


class Narrator:
    """Counts a workflow's events and tells a person what they amount to."""

    spending: ClassVar[Callable[[], tuple[float, float] | None]] = staticmethod(lambda: None)
    """Dollars spent, and where the run stops: told by the pipeline, since Snakemake makes the narrator."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = Console(file=stream, stderr=False, highlight=False, soft_wrap=True)
        self._is_terminal = stream.isatty()
        self._clock = clock
        self._last_line = clock()
        self._count = self._new_count()
        self._failures: Counter[str] = Counter()
        self._failed_jobs = 0
        self._live: Live | None = None

    def hear(self, record: LogRecord) -> None:
        """Take in one of Snakemake's log records."""
        event = str(getattr(record, "event", None) or "")
        handler = getattr(self, f"_on_{event}", None)
        if handler:
            handler(record)
        elif not event:
            self._on_plain(record)

    def close(self) -> None:
        """End the line; say how much was done, what took longest, and how often each failure came."""
        self._end_line()
        if any(self._count.planned.values()) and not self._is_terminal:
            self._say_line()
        for text, times in self._failures.items():
            if times > 1:
                self._say(f"({times} times) {text.splitlines()[0]}")
        if self._failed_jobs:
            failed = plural(self._failed_jobs, "job")
            self._say(f"{failed} failed; what was measured is kept, and the next run goes on from here.")
        if slowest := self._count.slowest_sentence():
            self._say(slowest)
        self._count = self._new_count()
        self._failures.clear()
        self._failed_jobs = 0

    def _new_count(self) -> ProgressCount:
        return ProgressCount(self._clock, lambda: type(self).spending())

    def _on_run_info(self, record: LogRecord) -> None:
        stats = getattr(record, "stats", {}) or {}
        new = {rule: stats[rule] for rule in STAGES if stats.get(rule) and not self._count.planned[rule]}
        self._count.planned.update(new)
        if new and self._is_terminal:
            self._live = self._live or Live(console=self._console, get_renderable=self._drawn, refresh_per_second=4)
            self._live.start()
        elif new:
            self._say_line()

    def _on_job_info(self, record: LogRecord) -> None:
        told = record.__dict__
        self._count.start(int(told["jobid"]), told["rule_name"], dict(told.get("wildcards") or {}))

    def _on_job_finished(self, record: LogRecord) -> None:
        self._count.finish(int(record.__dict__["job_id"]))
        if not self._is_terminal and self._clock() - self._last_line >= LINE_EVERY_S:
            self._say_line()

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

    def _on_plain(self, record: LogRecord) -> None:
        message = str(record.msg).strip()
        if message.startswith(_ENDED_BY_USER):
            self._end_line()
            self._say("Ending: what is under way may finish; what was measured is kept.")
        elif "Nothing to be done" in message:
            self._say(NOTHING_TO_DO)
        elif record.levelno >= WARNING and not message.startswith("Exiting because a job execution failed"):
            self._say(message)

    def _drawn(self) -> Text:
        planned, done = sum(self._count.planned.values()), sum(self._count.done.values())
        full = BAR * done // planned if planned else 0
        text = self._count.line(max(1, self._console.width - BAR - 2))
        return Text.assemble(("━" * full, "green"), ("━" * (BAR - full), "dim"), " ", text, no_wrap=True)

    def _end_line(self) -> None:
        if self._live:
            self._live.stop()
            self._live = None

    def _say_line(self) -> None:
        self._last_line = self._clock()
        self._say(self._count.line())

    def _say(self, text: str, style: str = "") -> None:
        self._console.print(escape(text), style=style or None)
