"""One model's counts, rates and per-task pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, lcm
from statistics import fmean

import pandas as pd

from fluency.core.shells import gap_shells, sort_shells
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
    def unmeasured_share(self) -> Fraction:
        return Fraction(self.planned - self.measured, self.planned) if self.planned else Fraction()


def count_cells(rows: pd.DataFrame, model: str, shell: str, tasks: Sequence[str], trials: int) -> Tally:
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
        return sum(self.passes)

    @property
    def total_scored(self) -> int:
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
        return self.arms[self.contrast[0]]

    @property
    def challenger(self) -> Arm:
        return self.arms[self.contrast[1]]

    @property
    def min_trials(self) -> int:
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
    measured = rows["status"].eq("measured")
    arms = {}
    for shell in arms_of(shells):
        mark = rows[columns if isinstance(columns, str) else columns[shell]]
        known = measured & rows["shell"].eq(shell) & mark.notna()
        passes, scored = (Counter(rows["task"][chosen]) for chosen in (known & mark, known))
        arms[shell] = Arm(tuple(passes[task] for task in tasks), tuple(scored[task] for task in tasks))
    return Outcomes(model, tuple(tasks), trials, arms, gap_shells(shells))


def pass_at_1(outcomes: Outcomes, shell: str) -> Rate | None:
    """Pass@1 of one arm alone, over the tasks with enough measured trials in it; None if there is no such task."""
    arm = outcomes.arms[shell]
    kept = [i for i, scored in enumerate(arm.scored) if scored >= outcomes.min_trials]
    return rate_over(arm, kept) if kept else None


def rate_over(arm: Arm, places: Sequence[int]) -> Rate:
    """Pass@1 of one arm over some tasks, by their places: at least one, each with a measured trial."""
    passes, scored = [arm.passes[i] for i in places], [arm.scored[i] for i in places]
    value = sum((Fraction(c, n) for c, n in zip(passes, scored, strict=True)), Fraction()) / len(places)
    return Rate(value, sum(passes), sum(scored), len(places))


@dataclass(frozen=True)
class PairedRates:
    """The tasks measured well enough in both contrasted arms, and their rates; never empty."""

    tasks: tuple[str, ...]
    dropped: tuple[str, ...]
    baseline: tuple[Fraction, ...]
    challenger: tuple[Fraction, ...]
    baseline_rate: Rate
    challenger_rate: Rate

    @property
    def differences(self) -> tuple[Fraction, ...]:
        """Per task: the challenger's rate less the baseline's."""
        return tuple(c - b for b, c in zip(self.baseline, self.challenger, strict=True))

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
    """The tasks that enter the comparison, or None if there are none."""
    arms = (outcomes.baseline, outcomes.challenger)
    kept = [i for i in range(len(outcomes.tasks)) if min(arm.scored[i] for arm in arms) >= outcomes.min_trials]
    if not kept:
        return None
    baseline, challenger = (tuple(Fraction(arm.passes[i], arm.scored[i]) for i in kept) for arm in arms)
    baseline_rate, challenger_rate = (rate_over(arm, kept) for arm in arms)
    return PairedRates(
        tasks=tuple(outcomes.tasks[i] for i in kept),
        dropped=tuple(task for i, task in enumerate(outcomes.tasks) if i not in set(kept)),
        baseline=baseline,
        challenger=challenger,
        baseline_rate=baseline_rate,
        challenger_rate=challenger_rate,
    )


def integers(differences: Sequence[Fraction]) -> tuple[list[int], int]:
    """Differences as integers over one denominator: (L*d_i, L)."""
    scale = lcm(*(d.denominator for d in differences))
    return [int(d * scale) for d in differences], scale


def missing_bounds(outcomes: Outcomes) -> tuple[Fraction, Fraction]:
    """The gap over ALL tasks if every unmeasured trial had gone against the challenger, and for it."""
    size = outcomes.trials * len(outcomes.tasks)
    baseline, challenger = outcomes.baseline, outcomes.challenger
    measured = challenger.total_passes - baseline.total_passes
    against = measured - (size - baseline.total_scored)
    in_favour = measured + (size - challenger.total_scored)
    return Fraction(against, size), Fraction(in_favour, size)


def trial_noise(outcomes: Outcomes, paired: PairedRates) -> tuple[float, float] | None:
    """Mean over the compared tasks of what trials alone give a per-task difference: (with one trial, as measured).

    None where a task has a single trial in an arm.
    """
    of_one, of_means = [], []
    for place in map(outcomes.tasks.index, paired.tasks):
        cells = [(arm.passes[place], arm.scored[place]) for arm in (outcomes.baseline, outcomes.challenger)]
        if min(n for _, n in cells) < 2:
            return None
        of_one.append(sum(c * (n - c) / n / (n - 1) for c, n in cells))
        of_means.append(sum(c * (n - c) / n**2 / (n - 1) for c, n in cells))
    return fmean(of_one), fmean(of_means)
