"""The gap of one model, what its interval shows, and what the decision table reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from fluency.analysis import decision_table as plan
from fluency.analysis.intervals import (
    Interval,
    clopper_pearson,
    fixed_task_halfwidth,
    task_interval,
    task_sd,
)
from fluency.analysis.outcomes import Outcomes, Tally, mean
from fluency.analysis.power import SampleSizes, sample_sizes
from fluency.common.words import plural
from fluency.core.shells import SHELLS

Size = Literal["ten-or-more", "under-five", "under-ten", "open"]


@dataclass(frozen=True)
class LeaveOut:
    """Gaps with one part left out; `flips` are the parts without which the band is another."""

    low: Fraction
    high: Fraction
    flips: tuple[str, ...]
    parts: int


@dataclass(frozen=True)
class GapEstimate:
    """The gap of one model, in shares of one.

    Attributes:
        paired: The compared tasks and their rates.
        interval: 95 %, for tasks like these; every claim below is read off it.
        bounds: The gap if all missing trials had gone against the challenger, or for it.
    """

    paired: Outcomes
    interval: Interval
    bounds: tuple[Fraction, Fraction]

    @property
    def value(self) -> Fraction:
        return self.paired.gap

    @property
    def band(self) -> plan.Band:
        """The row of the decision table, by the point estimate."""
        return plan.band_of(self.value)

    @property
    def edge(self) -> plan.Edge | None:
        """The edge that both shells are at, where the tasks cannot show how much they differ.

        Floor against ceiling is the widest gap there is.
        """
        one, other = map(plan.edge_of, self.paired.rates)
        return one if one == other else None

    @property
    def ahead(self) -> plan.Band | None:
        """Who is ahead on tasks like these: the interval excludes 0."""
        if self.interval.low > 0:
            return "challenger"
        return "baseline" if self.interval.high < 0 else None

    @property
    def size(self) -> Size:
        """By how much the shells differ; open where the interval or the tasks do not say."""
        if self.edge:
            return "open"
        if self.interval.low >= plan.DIRECTION or self.interval.high <= -plan.DIRECTION:
            return "ten-or-more"
        widest = max(map(abs, self.interval))
        if widest < plan.NOISE:
            return "under-five"
        return "under-ten" if widest < plan.DIRECTION else "open"

    @property
    def supported(self) -> bool:
        """Whether the whole interval lies in the row of the point estimate."""
        return self.edge is None and plan.bands_within(*self.interval) == {self.band}

    @property
    def sd(self) -> float:
        """Standard deviation of the per-task differences."""
        return task_sd(self.paired.differences)

    @property
    def fixed(self) -> float | None:
        """Half-width of the interval for exactly these tasks; None with a single trial."""
        return fixed_task_halfwidth(self.paired)

    @property
    def needed(self) -> SampleSizes | None:
        """Tasks that would answer each question; None if all tasks differ alike."""
        return sample_sizes(lambda gap: self.sd)

    @property
    def differing_bound(self) -> float:
        """Clopper-Pearson upper limit of the share of tasks that differ."""
        return clopper_pearson(self.paired.differing, len(self.paired.tasks))[1]

    def flat(self, rate: int) -> tuple[str, ...]:
        """The tasks that were always passed in both shells (1), or never in either (0)."""
        rates = (own.rates for own in (self.paired.baseline, self.paired.challenger))
        by_task = zip(self.paired.tasks, *rates, strict=True)
        return tuple(task for task, one, other in by_task if one == other == rate)

    @property
    def informative(self) -> int:
        """How many tasks can tell the shells apart."""
        return len(self.paired.tasks) - len(self.flat(0)) - len(self.flat(1))

    def leave_out(self, part_of: Mapping[str, str] | None = None) -> LeaveOut | None:
        """Leave each part of the tasks out in turn, by task -> part; None if there is one part.

        Without parts each task is one.
        """
        tasks = self.paired.tasks
        part_of = part_of or dict(zip(tasks, tasks, strict=True))
        apart = list(zip(tasks, self.paired.differences, strict=True))
        parts = dict.fromkeys(part_of[task] for task in tasks)
        if len(parts) < 2:
            return None
        gaps = {part: mean([d for task, d in apart if part_of[task] != part]) for part in parts}
        flips = tuple(part for part, gap in gaps.items() if plan.band_of(gap) != self.band)
        return LeaveOut(min(gaps.values()), max(gaps.values()), flips, len(parts))


def estimate_gap(outcomes: Outcomes) -> GapEstimate | None:
    """Estimate one model's gap; None if no task was measured well enough in both shells."""
    paired = outcomes.paired()
    if paired is None:
        return None
    near_edge = any(map(plan.edge_of, paired.rates))
    interval = task_interval(paired.differences, near_edge=near_edge)
    return GapEstimate(paired, interval, outcomes.bounds())


@dataclass(frozen=True)
class TableReading:
    """What the decision table reads of one model.

    Attributes:
        band: Its row; None exactly where `refused` says why.
        refused: Reasons against a verdict.
        provisional: Whether the missing cells could change the row.
        edge: The edge that both shells are at, so that the row is only a label.
        supported: Whether the interval lies in the row.
    """

    band: plan.Band | None
    refused: tuple[str, ...] = ()
    provisional: bool = False
    edge: plan.Edge | None = None
    supported: bool = False


def apply_table(
    outcomes: Outcomes, gap: GapEstimate | None, tallies: Mapping[str, Tally]
) -> TableReading:
    """Apply the decision table, or say why not."""
    reasons = []
    for shell in outcomes.contrast:
        title = SHELLS[shell].title
        tally = tallies.get(shell)
        if tally is None:
            reasons.append(f"{title} is not part of this study")
        elif tally.state == "not-measured":
            reasons.append(f"{title} was not measured: {tally.reasons[0][0]}")
        elif tally.state == "missing":
            planned = plural(tally.planned, "cell")
            reasons.append(f"nothing was measured in {title} yet ({planned} planned)")
        elif tally.planned - tally.measured > plan.MAX_MISSING * tally.planned:
            reasons.append(
                f"{tally.planned - tally.measured} of {tally.planned} cells in {title} have no "
                f"measurement, more than {float(plan.MAX_MISSING):.0%}"
            )
    usable = len(gap.paired.tasks) if gap else 0
    if not reasons and usable < plan.MIN_TASKS:
        reasons.append(
            f"{usable} of {len(outcomes.tasks)} tasks were measured in both shells; "
            f"a verdict needs {plan.MIN_TASKS}"
        )
    if reasons or gap is None:
        return TableReading(None, tuple(reasons))
    provisional = plan.bands_within(*gap.bounds) != {gap.band}
    return TableReading(gap.band, (), provisional, gap.edge, gap.supported)


@dataclass(frozen=True)
class Subset:
    """Gap and verdict over `tasks` tasks: of a set, or of those that lean to no shell named."""

    names: tuple[str, ...]
    tasks: int
    gap: GapEstimate | None
    reading: TableReading


def subsets(
    outcomes: Outcomes,
    tallies: Mapping[str, Tally],
    parts: Mapping[tuple[str, ...], Collection[str]],
) -> tuple[Subset, ...]:
    """Gap and verdict over parts of the tasks.

    Whether enough was measured is asked of the study's `tallies`, and of the number of tasks.
    """
    found = []
    for names, tasks in parts.items():
        places = [place for place, task in enumerate(outcomes.tasks) if task in tasks]
        if places:
            kept = outcomes.at(places, *outcomes.contrast)
            gap = estimate_gap(kept)
            found.append(Subset(names, len(places), gap, apply_table(kept, gap, tallies)))
    return tuple(found)
