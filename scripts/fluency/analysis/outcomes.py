"""One model's counts, rates and per-task pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil
from statistics import mean, stdev
from typing import TYPE_CHECKING, NamedTuple

from fluency.core.study import Cell

if TYPE_CHECKING:
    import pandas as pd


class Tally(NamedTuple):
    """Cells of one shell: planned = measured + missing + not measured.

    Attributes:
        reasons: Why cells have no measurement, with their numbers, the commonest first.
    """

    planned: int
    measured: int
    missing: int
    not_measured: int
    reasons: tuple[tuple[str, int], ...]

    @property
    def cannot_run(self) -> bool:
        """Whether the shell cannot be measured here; its cells are then not missing."""
        return bool(self.not_measured) and not self.measured


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


CELL = ["model", "shell", "task", "trial", "turn"]
"""The columns that name a cell."""


def cells_in(rows: pd.DataFrame) -> tuple[Cell, ...]:
    """The cell of each row."""
    return tuple(Cell(*parts) for parts in zip(*(rows[name] for name in CELL), strict=True))


class ShellPasses(NamedTuple):
    """One shell of one model: per task (in design order) the passes and the measured trials."""

    passes: tuple[int, ...]
    scored: tuple[int, ...]

    @property
    def rates(self) -> tuple[Fraction, ...]:
        """By task, each with a measured trial."""
        return tuple(Fraction(c, n) for c, n in zip(self.passes, self.scored, strict=True))

    @property
    def rate(self) -> Fraction:
        """Pass@1: the mean over at least one task, each with a measured trial."""
        return mean(self.rates)


@dataclass(frozen=True)
class Outcomes:
    """One model's passes over tasks, by shell in report order.

    Of two shells the first is the baseline, the second the challenger. Rates, differences and the
    gap need a measured trial of each task in both, see `paired`.
    """

    tasks: tuple[str, ...]
    trials: int
    by_shell: Mapping[str, ShellPasses]

    @property
    def min_trials(self) -> int:
        """Measured trials a task needs in a shell to enter: ceil(trials / 2)."""
        return ceil(self.trials / 2)

    def of(self, *shells: str) -> Outcomes:
        """These shells alone, in this order."""
        return replace(self, by_shell={shell: self.by_shell[shell] for shell in shells})

    def enough_measured(self) -> list[int]:
        """The places of the tasks with enough measured trials in every shell."""
        by_task = zip(*(counts.scored for counts in self.by_shell.values()), strict=True)
        return [place for place, scored in enumerate(by_task) if min(scored) >= self.min_trials]

    def at(self, places: Sequence[int]) -> Outcomes:
        """The tasks at some places alone."""
        kept = {
            shell: ShellPasses(*(tuple(numbers[i] for i in places) for numbers in counts))
            for shell, counts in self.by_shell.items()
        }
        return replace(self, tasks=tuple(self.tasks[i] for i in places), by_shell=kept)

    def paired(self) -> Outcomes | None:
        """The tasks with enough measured trials in every shell; None without any."""
        places = self.enough_measured()
        return self.at(places) if places else None

    @cached_property
    def differences(self) -> tuple[Fraction, ...]:
        """Per task: the challenger's rate less the baseline's."""
        pairs = zip(*(own.rates for own in self.by_shell.values()), strict=True)
        return tuple(challenger - baseline for baseline, challenger in pairs)

    @cached_property
    def rates(self) -> list[Fraction]:
        """Pass@1 of baseline and challenger."""
        return [own.rate for own in self.by_shell.values()]

    @cached_property
    def gap(self) -> Fraction:
        return mean(self.differences)

    @cached_property
    def sd(self) -> float:
        """Sample standard deviation of the differences (T - 1); 0 for a single task."""
        return float(stdev(self.differences)) if len(self.tasks) > 1 else 0.0

    @property
    def differing(self) -> int:
        return sum(d != 0 for d in self.differences)

    def completed(self) -> list[Outcomes]:
        """With each unmeasured trial gone against the challenger, and for; empty without any."""
        whole, trials = (self.trials,) * len(self.tasks), self.trials
        pair = self.by_shell.values()
        if all(own.scored == whole for own in pair):
            return []

        def full(own: ShellPasses, passed: bool) -> ShellPasses:
            counts = zip(*own, strict=True)
            return ShellPasses(tuple(c + passed * (trials - n) for c, n in counts), whole)

        return [
            replace(self, by_shell=dict(zip(self.by_shell, map(full, pair, wins), strict=True)))
            for wins in ((True, False), (False, True))
        ]


def count_outcomes(
    rows: pd.DataFrame, tasks: Sequence[str], trials: int, shells: Sequence[str]
) -> Outcomes:
    """Passes and measured trials by task and shell, of a study's tasks, trials and shells.

    Passes are the rows' `passed`; one that is unknown (null) is not measured, never a failure.

    Raises:
        ValueError: The rows are of two models: a bug of this project, never a user's mistake.
    """
    aliases = sorted(map(str, rows["model"].unique()))
    if len(aliases) > 1:
        raise ValueError(f"models are never pooled; these rows hold {len(aliases)}: {aliases}")
    mark, by_shell = rows["passed"], {}
    measured = rows["status"].eq("measured") & mark.notna()
    for shell in dict.fromkeys(shells):
        known = measured & rows["shell"].eq(shell)
        passes, scored = (Counter(rows["task"][kept].tolist()) for kept in (known & mark, known))
        by_shell[shell] = ShellPasses(
            tuple(passes[task] for task in tasks), tuple(scored[task] for task in tasks)
        )
    return Outcomes(tuple(tasks), trials, by_shell)
