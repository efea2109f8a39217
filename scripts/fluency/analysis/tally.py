"""What was planned, measured, and not: the denominators of everything else. Passes are not read here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import pandas as pd

from fluency.analysis.outcomes import one_model
from fluency.core.study import Cell


@dataclass(frozen=True)
class Tally:
    """Cells of one arm: planned = measured + missing + not measured."""

    shell: str
    planned: int
    measured: int
    missing: int
    not_measured: int
    reasons: tuple[tuple[str, int], ...]

    @property
    def state(self) -> str:
        """`measured`, `not-measured` (the arm cannot be), or `missing` (nothing of it is there yet)."""
        if self.measured:
            return "measured"
        return "not-measured" if self.not_measured else "missing"

    @property
    def lacking(self) -> Fraction:
        """Share of planned cells without a measurement."""
        return Fraction(self.planned - self.measured, self.planned) if self.planned else Fraction()


def tally(rows: pd.DataFrame, model: str, shell: str, tasks: Sequence[str], trials: int) -> Tally:
    """Count one arm of one model; a cell of the design that has no row is missing."""
    if len(rows):
        one_model(rows)
    arm = rows[(rows["shell"] == shell) & rows["task"].isin(tasks) & rows["trial"].between(1, trials)]
    planned = len(tasks) * trials
    counts = {status: int((arm["status"] == status).sum()) for status in ("measured", "missing", "not_measured")}
    absent = planned - len(arm)
    unmeasured = arm.loc[arm["status"] != "measured", "reason"].fillna("no reason recorded")
    reasons = list(unmeasured.value_counts(sort=False).items())
    if absent:
        reasons.append(("no row in the cells table", absent))
    reasons.sort(key=lambda item: (-item[1], item[0]))
    return Tally(
        shell=shell,
        planned=planned,
        measured=counts["measured"],
        missing=counts["missing"] + absent,
        not_measured=counts["not_measured"],
        reasons=tuple((str(reason), int(count)) for reason, count in reasons),
    )


def unknown_marks(rows: pd.DataFrame) -> tuple[str, ...]:
    """Cells that call themselves measured and hold no pass mark: a damaged table."""
    broken = rows[(rows["status"] == "measured") & rows["passed"].isna()]
    columns = (broken["model"], broken["shell"], broken["task"], broken["trial"])
    return tuple(Cell(m, s, t, int(n)).path for m, s, t, n in zip(*columns, strict=True))
