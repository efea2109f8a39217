"""The gap of one model, what its interval shows, and what the decision table reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from fluency.analysis import decision_table as plan
from fluency.analysis.intervals import (
    Interval,
    clopper_pearson,
    fixed_task_halfwidth,
    gap_interval,
    task_sd,
)
from fluency.analysis.outcomes import Outcomes, PairedRates, Tally, missing_bounds, pair_by_task
from fluency.analysis.power import SampleSizes, sample_sizes
from fluency.analysis.robustness import FlatTasks, LeaveOut, flat_tasks, leave_out
from fluency.common.words import plural
from fluency.core.shells import SHELLS

Size = Literal["ten-or-more", "under-five", "under-ten", "open"]


@dataclass(frozen=True)
class GapEstimate:
    """The gap of one model, in shares of one.

    Attributes:
        paired: The compared tasks and their rates.
        interval: 95 %, for tasks like these; every claim below is read off it.
        sd: Standard deviation of the per-task differences.
        fixed: Half-width of the interval for exactly these tasks; None with a single trial.
        bounds: The gap if all missing trials had gone against the challenger, or for it.
        needed: Tasks that would answer each question; None if all tasks differ alike.
        differing_bound: Clopper-Pearson upper limit of the share of tasks that differ.
        tasks_out: Gaps with one task left out.
        categories_out: Gaps with one category left out.
        flat: The tasks without information.
    """

    paired: PairedRates
    interval: Interval
    sd: float
    fixed: float | None
    bounds: tuple[Fraction, Fraction]
    needed: SampleSizes | None
    differing_bound: float
    tasks_out: LeaveOut | None
    categories_out: LeaveOut | None
    flat: FlatTasks

    @property
    def value(self) -> Fraction:
        return self.paired.gap

    @property
    def band(self) -> plan.Band:
        """The row of the decision table, by the point estimate."""
        return plan.band_of(self.value)

    @property
    def edge(self) -> plan.Edge | None:
        """The edge that both shells are at, where the tasks cannot show how much they differ."""
        return plan.common_edge(self.paired.rates)

    @property
    def ahead(self) -> plan.Direction | None:
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
        if self.interval.within(plan.NOISE):
            return "under-five"
        return "under-ten" if self.interval.within(plan.DIRECTION) else "open"

    @property
    def supported(self) -> bool:
        """Whether the whole interval lies in the row of the point estimate."""
        return self.edge is None and plan.bands_within(*self.interval) == (self.band,)


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


def estimate_gap(outcomes: Outcomes, categories: Mapping[str, str]) -> GapEstimate | None:
    """Estimate one model's gap; None if no task was measured well enough in both shells."""
    paired = pair_by_task(outcomes)
    if paired is None:
        return None
    spread = task_sd(paired.differences)
    return GapEstimate(
        paired=paired,
        interval=gap_interval(paired),
        sd=spread,
        fixed=fixed_task_halfwidth(paired),
        bounds=missing_bounds(outcomes),
        needed=sample_sizes(spread),
        differing_bound=clopper_pearson(paired.differing, len(paired.tasks))[1],
        tasks_out=leave_out(paired, {task: task for task in paired.tasks}),
        categories_out=leave_out(paired, categories),
        flat=flat_tasks(paired),
    )


def apply_table(
    outcomes: Outcomes, gap: GapEstimate | None, tallies: Mapping[str, Tally]
) -> TableReading:
    """Apply the decision table, or refuse to."""
    refused = refusals(outcomes, gap, tallies)
    if refused or gap is None:
        return TableReading(None, refused)
    provisional = bool({*plan.bands_within(*gap.bounds)} - {gap.band})
    return TableReading(gap.band, (), provisional, gap.edge, gap.supported)


def refusals(
    outcomes: Outcomes, gap: GapEstimate | None, tallies: Mapping[str, Tally]
) -> tuple[str, ...]:
    """Reasons against a verdict; empty if there is one."""
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
    return tuple(reasons)
