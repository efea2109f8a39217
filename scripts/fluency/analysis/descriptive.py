"""Composition, failures, retries and the order of asking: described, not tested."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
import pandas as pd

from fluency.analysis.outcomes import cells_in
from fluency.core.records import FailureClass, MadeOf
from fluency.core.shells import EXTRA_CONDITIONS, gap_shells
from fluency.core.study import Cell, Study


@dataclass(frozen=True)
class MadeOfLine:
    """Answers of one shell made of one kind of thing, and how the measured ones fared."""

    made_of: str
    answers: int
    measured: int
    passed: int
    passed_under: dict[str, tuple[int, int]]
    """Condition -> passed, and known, under it."""


@dataclass(frozen=True)
class ShellComposition:
    """What one shell's answers consist of; `answers` is the denominator of the shares.

    An answer is classified from its text, so answers in a shell that could not run are classified
    too.
    """

    answers: int
    without_command: int
    lines: tuple[MadeOfLine, ...]


@dataclass(frozen=True)
class SilentFailures:
    """Of the failed commands of one shell, how many ended with status 0; no verdict."""

    silent: int
    failed: int


def silent_failures(rows: pd.DataFrame, shell: str) -> SilentFailures:
    """Count one model's measured cells that failed although a command ran."""
    failed = rows[
        (rows["shell"] == shell)
        & (rows["status"] == "measured")
        & ~rows["passed"].fillna(True)
        & rows["t_exec_s"].notna()
    ]
    return SilentFailures(int(failed["exit_ok"].fillna(False).sum()), len(failed))


@dataclass(frozen=True)
class FailureLine:
    """One failure class: failed cells per shell, and the first in design order as the example.

    Its reason and command are hostile text, to be escaped where they are shown.
    """

    failure_class: str
    counts: dict[str, int]
    cell: Cell
    why: str
    command: str


def composition(rows: pd.DataFrame, shell: str) -> ShellComposition:
    """What one model's answers in one shell consist of."""
    answered = rows[(rows["shell"] == shell) & rows["outcome"].notna()]
    lines = []
    for kind in get_args(MadeOf):
        part = answered[answered["made_of"].eq(kind).fillna(False)]
        if len(part):
            marks = part["passed"].dropna()
            under = {c.name: part[c.score_field].dropna() for c in EXTRA_CONDITIONS}
            passed_under = {name: (int(known.sum()), len(known)) for name, known in under.items()}
            lines.append(MadeOfLine(kind, len(part), len(marks), int(marks.sum()), passed_under))
    without = int(answered["made_of"].isna().sum())
    return ShellComposition(len(answered), without, tuple(lines))


def failure_lines(rows: pd.DataFrame, shells: Collection[str]) -> tuple[FailureLine, ...]:
    """Every class that occurs in one model's measured cells, in the order of the closed set."""
    failed = rows[(rows["status"] == "measured") & (rows["passed"] == False)]  # noqa: E712
    parts = dict(list(failed.groupby(failed["failure_class"].fillna("unclassified"))))
    lines = []
    for failure_class in (*get_args(FailureClass), "unclassified"):
        if failure_class in parts:
            part = parts[failure_class]
            counts = {shell: int((part["shell"] == shell).sum()) for shell in shells}
            why, command = part[["why", "command"]].fillna("").iloc[0]
            lines.append(FailureLine(failure_class, counts, cells_in(part)[0], why, command))
    return tuple(lines)


def side_effects(rows: pd.DataFrame) -> tuple[Cell, ...]:
    """Cells whose command changed the working folder or left processes, passed or not."""
    return cells_in(rows[(rows["status"] == "measured") & rows["side_effects"].notna()])


def retried_cells(rows: pd.DataFrame) -> tuple[tuple[Cell, int, bool], ...]:
    """Cells interrupted from outside: their attempts, and whether the last one succeeded."""
    part = rows[rows["attempts"].fillna(1) > 1]
    columns = cells_in(part), part["attempts"].astype(int), part["status"].eq("measured")
    return tuple(zip(*columns, strict=True))


ENOUGH_FOR_ORDER = 40
"""Answers; with fewer the order says nothing."""
OVERTAKEN_BY = Fraction(1, 10)
"""Share of the answers that may be asked before one that was planned before them."""
DAYS_APART = 0.5
"""Difference of the shells' mean times of asking, in days, that the first page states."""


@dataclass(frozen=True)
class AskingOrder:
    """How the order in which the answers of one model were asked compares with the planned one.

    An answer is late if more than a tenth of all, and twice those in flight, were asked before it
    though they were planned after it. Parallel requests stay far below that; answers that
    were asked again at the end, or added after a look, do not.

    Attributes:
        answers: Those with a time; too few say nothing.
        late: Late answers by shell.
        days_apart: By how many days the challenger was asked after the baseline, on average;
            None if one of them was not asked.
    """

    answers: int
    late: dict[str, int]
    days_apart: float | None

    @property
    def state(self) -> Literal["kept", "departed", "unknown"]:
        if self.answers < ENOUGH_FOR_ORDER:
            return "unknown"
        return "departed" if any(self.late.values()) else "kept"


def asking_order(rows: pd.DataFrame, model: str, study: Study) -> AskingOrder:
    """The order of one model's answers; answers without a time are left out."""
    times = pd.to_datetime(rows["asked_utc"], format="ISO8601", utc=True, errors="coerce").dropna()
    times = times.sort_values(kind="stable")
    asked = rows.loc[times.index]
    priorities = [-study.priority(cell) for cell in cells_in(asked)]
    planned = np.argsort(np.argsort(priorities, kind="stable"))
    seconds = (times - pd.Timestamp(0, tz="UTC")).dt.total_seconds().to_numpy()
    # Of those asked in an earlier second, how many were planned later.
    overtakers = np.array(
        [int((planned[seconds < at] > own).sum()) for own, at in zip(planned, seconds, strict=True)]
    )
    late = overtakers > max(2 * study.model(model).in_flight, OVERTAKEN_BY * len(asked))
    shell_of = asked["shell"].to_numpy()
    baseline, challenger = (seconds[shell_of == shell] for shell in gap_shells(study.shells))
    apart = None
    if len(baseline) and len(challenger):
        apart = float(challenger.mean() - baseline.mean()) / 86_400
    return AskingOrder(
        answers=len(asked),
        late={shell: int(late[shell_of == shell].sum()) for shell in study.shells},
        days_apart=apart,
    )
