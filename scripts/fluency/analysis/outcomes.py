"""Passes and measured trials of ONE model; the only door through which the analysis sees pass marks.

Everything that computes with passes takes an `Outcomes`, and an `Outcomes` is made from rows of a single
model alias: pooling models is impossible, not merely avoided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import pandas as pd

from fluency.core.shells import gap_shells, sort_shells


class PoolingError(ValueError):
    """Rows of two models met in one computation. A bug of this project, never a user's mistake."""


def one_model(rows: pd.DataFrame) -> str:
    """The alias all rows share; PoolingError if they share none, or if there are no rows."""
    aliases = sorted(map(str, rows["model"].unique()))
    if len(aliases) != 1:
        raise PoolingError(f"models are never pooled; these rows hold {len(aliases)}: {aliases}")
    return aliases[0]


def arms_of(shells: Sequence[str]) -> tuple[str, ...]:
    """The shells a study's tables have a place for, in report order: its own, and both of its contrast."""
    return sort_shells([*shells, *gap_shells(shells)])


@dataclass(frozen=True)
class Arm:
    """One shell of one model: per task (in design order) the passes and the measured trials."""

    passes: tuple[int, ...]
    scored: tuple[int, ...]

    @property
    def total_passes(self) -> int:
        """Over all tasks."""
        return sum(self.passes)

    @property
    def total_scored(self) -> int:
        """Over all tasks."""
        return sum(self.scored)


@dataclass(frozen=True)
class Outcomes:
    """Every arm of one model over the study's tasks, in report order; the gap is asked of the two in `contrast`."""

    model: str
    tasks: tuple[str, ...]
    trials: int
    arms: Mapping[str, Arm]
    contrast: tuple[str, str]

    @property
    def baseline(self) -> Arm:
        """The arm whose pass@1 is taken away."""
        return self.arms[self.contrast[0]]

    @property
    def challenger(self) -> Arm:
        """The arm whose pass@1 it is taken from."""
        return self.arms[self.contrast[1]]

    @property
    def enough(self) -> int:
        """Measured trials a task needs in an arm to enter: ceil(trials / 2)."""
        return ceil(self.trials / 2)


@dataclass(frozen=True)
class Rate:
    """A pass@1 with its denominators: the mean over `tasks` tasks of passes / measured trials."""

    value: Fraction
    passes: int
    scored: int
    tasks: int


def count_outcomes(
    rows: pd.DataFrame,
    tasks: Sequence[str],
    trials: int,
    shells: Sequence[str],
    columns: Mapping[str, str] | str = "passed",
) -> Outcomes:
    """Passes and measured trials by task and shell.

    `rows` are one model's, `shells` the study's; `columns` names the mark to count, for all shells or for each.
    A mark that is unknown (null) is not measured, never a failure.
    """
    model = one_model(rows)
    measured = rows[rows["status"].eq("measured") & rows["task"].isin(tasks)]
    arms = {}
    for shell in arms_of(shells):
        marks = measured.loc[measured["shell"] == shell].groupby("task")
        found = marks[columns if isinstance(columns, str) else columns[shell]].agg(["sum", "count"])
        passes, scored = found.reindex(list(tasks), fill_value=0).astype(int).to_numpy().T.tolist()
        arms[shell] = Arm(tuple(passes), tuple(scored))
    return Outcomes(model, tuple(tasks), trials, arms, gap_shells(shells))


def pass_at_1(outcomes: Outcomes, shell: str) -> Rate | None:
    """Pass@1 of one arm alone, over the tasks with enough measured trials in it; None if there is no such task."""
    arm = outcomes.arms[shell]
    kept = [i for i, scored in enumerate(arm.scored) if scored >= outcomes.enough]
    return rate_over(arm, kept) if kept else None


def rate_over(arm: Arm, places: Sequence[int]) -> Rate:
    """Pass@1 of one arm over some tasks, by their places: at least one, each with a measured trial."""
    passes, scored = [arm.passes[i] for i in places], [arm.scored[i] for i in places]
    value = sum((Fraction(c, n) for c, n in zip(passes, scored, strict=True)), Fraction()) / len(places)
    return Rate(value, sum(passes), sum(scored), len(places))
