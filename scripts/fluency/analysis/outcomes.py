"""One model's counts, rates and per-task pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import pandas as pd

from fluency.core.shells import gap_shells, sort_shells
from fluency.core.study import Cell


@dataclass(frozen=True)
class Tally:
    """Cells of one shell: planned = measured + missing + not measured."""

    planned: int
    measured: int
    missing: int
    not_measured: int
    reasons: tuple[tuple[str, int], ...]

    @property
    def state(self) -> str:
        """`measured`, `not-measured` (the shell cannot be), or `missing` (nothing of it yet)."""
        if self.measured:
            return "measured"
        return "not-measured" if self.not_measured else "missing"


def count_cells(rows: pd.DataFrame, shell: str, tasks: Sequence[str], trials: int) -> Tally:
    """Count one shell of one model; a cell of the design that has no row is missing."""
    cells = rows[
        (rows["shell"] == shell) & rows["task"].isin(tasks) & rows["trial"].between(1, trials)
    ]
    planned, statuses = len(tasks) * trials, Counter(cells["status"])
    unmeasured = cells.loc[cells["status"] != "measured", "reason"]
    reasons = Counter(unmeasured.fillna("no reason recorded"))
    reasons["no row in the cells table"] = absent = planned - len(cells)
    return Tally(
        planned=planned,
        measured=statuses["measured"],
        missing=statuses["missing"] + absent,
        not_measured=statuses["not_measured"],
        reasons=tuple(sorted((+reasons).items(), key=lambda item: (-item[1], item[0]))),
    )


def cells_in(rows: pd.DataFrame) -> tuple[Cell, ...]:
    """The cell of each row."""
    columns = (rows[name] for name in ("model", "shell", "task", "trial"))
    return tuple(Cell(m, s, t, int(n)) for m, s, t, n in zip(*columns, strict=True))


class PoolingError(ValueError):
    """Rows of two models met in one computation. A bug of this project, never a user's mistake."""


def refuse_pooling(rows: pd.DataFrame) -> None:
    """PoolingError if the rows are of two models."""
    aliases = sorted(map(str, rows["model"].unique()))
    if len(aliases) > 1:
        raise PoolingError(f"models are never pooled; these rows hold {len(aliases)}: {aliases}")


def ordered_shells(shells: Sequence[str]) -> tuple[str, ...]:
    """The shells in a study's tables, in report order: its own and those of its contrast."""
    return sort_shells([*shells, *gap_shells(shells)])


@dataclass(frozen=True)
class ShellPasses:
    """One shell of one model: per task (in design order) the passes and the measured trials."""

    passes: tuple[int, ...]
    scored: tuple[int, ...]

    def at(self, places: Sequence[int]) -> ShellPasses:
        """Those of some tasks, by their places."""
        return ShellPasses(
            tuple(self.passes[i] for i in places), tuple(self.scored[i] for i in places)
        )

    @property
    def rates(self) -> tuple[Fraction, ...]:
        """By task, each with a measured trial."""
        return tuple(Fraction(c, n) for c, n in zip(self.passes, self.scored, strict=True))

    @property
    def rate(self) -> Fraction:
        """Pass@1: the mean over at least one task, each with a measured trial."""
        return mean(self.rates)

    @property
    def total_passes(self) -> int:
        return sum(self.passes)

    @property
    def total_scored(self) -> int:
        return sum(self.scored)


@dataclass(frozen=True)
class Outcomes:
    """One model's passes over the study's tasks, by shell in report order.

    The gap is asked of the two shells in `contrast`.
    """

    tasks: tuple[str, ...]
    trials: int
    by_shell: Mapping[str, ShellPasses]
    contrast: tuple[str, str]

    @property
    def baseline(self) -> ShellPasses:
        return self.by_shell[self.contrast[0]]

    @property
    def challenger(self) -> ShellPasses:
        return self.by_shell[self.contrast[1]]

    @property
    def min_trials(self) -> int:
        """Measured trials a task needs in a shell to enter: ceil(trials / 2)."""
        return ceil(self.trials / 2)


def count_outcomes(
    rows: pd.DataFrame,
    tasks: Sequence[str],
    trials: int,
    shells: Sequence[str],
    column: str = "passed",
) -> Outcomes:
    """Passes and measured trials by task and shell.

    A mark that is unknown (null) is not measured, never a failure.

    Args:
        rows: One model's.
        tasks: The study's, as are the trials and shells.
        trials: Planned of each task and shell.
        shells: Those asked for.
        column: The mark to count.

    Raises:
        PoolingError: The rows are of two models.
    """
    refuse_pooling(rows)
    mark, by_shell = rows[column], {}
    for shell in ordered_shells(shells):
        known = rows["status"].eq("measured") & rows["shell"].eq(shell) & mark.notna()
        passes, scored = (Counter(rows["task"][chosen]) for chosen in (known & mark, known))
        by_shell[shell] = ShellPasses(
            tuple(passes[task] for task in tasks), tuple(scored[task] for task in tasks)
        )
    return Outcomes(tuple(tasks), trials, by_shell, gap_shells(shells))


def enough_measured(outcomes: Outcomes, shell: str) -> ShellPasses | None:
    """One shell alone, over its tasks with enough measured trials; None without any."""
    counts = outcomes.by_shell[shell]
    kept = well_measured(outcomes.min_trials, counts)
    return counts.at(kept) if kept else None


def well_measured(least: int, *shells: ShellPasses) -> list[int]:
    """The places of the tasks with at least that many measured trials in each of the shells."""
    by_task = zip(*(counts.scored for counts in shells), strict=True)
    return [place for place, scored in enumerate(by_task) if min(scored) >= least]


@dataclass(frozen=True)
class PairedRates:
    """The tasks measured well enough in both contrasted shells, and their passes; never empty."""

    tasks: tuple[str, ...]
    dropped: tuple[str, ...]
    baseline: ShellPasses
    challenger: ShellPasses

    @property
    def differences(self) -> tuple[Fraction, ...]:
        """Per task: the challenger's rate less the baseline's."""
        pairs = zip(self.baseline.rates, self.challenger.rates, strict=True)
        return tuple(challenger - baseline for baseline, challenger in pairs)

    @property
    def rates(self) -> tuple[Fraction, Fraction]:
        """Pass@1 of baseline and challenger."""
        return self.baseline.rate, self.challenger.rate

    @property
    def gap(self) -> Fraction:
        return mean(self.differences)

    @property
    def differing(self) -> int:
        return sum(d != 0 for d in self.differences)


def mean(values: Sequence[Fraction]) -> Fraction:
    """The exact mean of at least one fraction."""
    return sum(values, Fraction()) / len(values)


def pair_by_task(outcomes: Outcomes) -> PairedRates | None:
    """The tasks that enter the comparison; None without any."""
    contrasted = (outcomes.baseline, outcomes.challenger)
    kept = well_measured(outcomes.min_trials, *contrasted)
    if not kept:
        return None
    baseline, challenger = (counts.at(kept) for counts in contrasted)
    tasks = tuple(outcomes.tasks[i] for i in kept)
    return PairedRates(
        tasks=tasks,
        dropped=tuple(task for task in outcomes.tasks if task not in tasks),
        baseline=baseline,
        challenger=challenger,
    )


def missing_bounds(outcomes: Outcomes) -> tuple[Fraction, Fraction]:
    """The gap over ALL tasks if every unmeasured trial goes against the challenger, and for it."""
    size = outcomes.trials * len(outcomes.tasks)
    baseline, challenger = outcomes.baseline, outcomes.challenger
    measured = challenger.total_passes - baseline.total_passes
    against, in_favour = size - baseline.total_scored, size - challenger.total_scored
    return Fraction(measured - against, size), Fraction(measured + in_favour, size)
