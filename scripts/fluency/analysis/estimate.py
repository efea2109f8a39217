"""The gap, the claims that the data support, the verdict, and when there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from fluency.analysis import intervals, plan
from fluency.analysis.intervals import Interval, PValue, gap_interval, task_interval
from fluency.analysis.outcomes import Outcomes, PairedRates, Tally, missing_bounds, pair_by_task
from fluency.analysis.power import SampleSizes, sample_sizes
from fluency.analysis.robustness import CeilingAndFloor, LeaveOut, ceiling_and_floor, leave_out
from fluency.core.shells import SHELLS


@dataclass(frozen=True)
class GapEstimate:
    """The gap of one model; fractions of one throughout.

    s95, s90: for tasks like these; the floored interval (`floored` says so) where all tasks differ alike.
    tested: s95 without what a shell near an edge adds, for who is ahead. fixed: half-width on these tasks, None where
    a task has a single trial. needed: tasks for each question, None where the spread is zero. differing_bound:
    Clopper-Pearson upper limit of the share of tasks that differ.
    """

    paired: PairedRates
    value: Fraction
    sd: float
    s95: Interval
    s90: Interval
    tested: Interval
    floored: bool
    s95_floored: Interval
    fixed: float | None
    p: PValue
    claims: Claims
    shares: dict[plan.Band, Fraction]
    bounds: tuple[Fraction, Fraction]
    needed: SampleSizes | None
    differing_bound: float
    tasks_out: LeaveOut | None
    categories_out: LeaveOut | None
    ceiling_and_floor: CeilingAndFloor


@dataclass(frozen=True)
class Verdict:
    """`band` is None exactly when `refused` says why; `provisional`: missing cells could change the band.

    edge: where both shells' rates are, so that the band is only a label; None without a band too.
    """

    band: plan.Band | None
    refused: tuple[str, ...]
    provisional: bool
    resolved: bool
    edge: plan.Edge | None = None


def estimate_gap(outcomes: Outcomes, categories: Mapping[str, str]) -> GapEstimate | None:
    """Estimate one model's gap; None if no task was measured well enough in both shells."""
    paired = pair_by_task(outcomes)
    if paired is None:
        return None
    differences, fixed = paired.differences, intervals.fixed_task_halfwidth(outcomes, paired)
    spread, p = intervals.task_sd(differences), intervals.sign_flip(differences)
    tested, floored = (
        task_interval(differences, least=fixed),
        intervals.floored_interval(differences),
    )
    s95, s90 = (
        gap_interval(outcomes, paired, level) for level in (intervals.LEVEL, 1 - 2 * plan.ALPHA)
    )
    rates = (paired.baseline_rate.value, paired.challenger_rate.value)
    return GapEstimate(
        paired=paired,
        value=paired.gap,
        sd=spread,
        s95=s95,
        s90=s90,
        tested=tested,
        floored=len(set(differences)) == 1 and s95 == floored,
        s95_floored=floored,
        fixed=fixed,
        p=p,
        claims=claims_of(rates, paired.gap, s95, s90, tested, p.upper, fixed),
        shares=intervals.band_shares(differences),
        bounds=missing_bounds(outcomes),
        needed=sample_sizes(spread),
        differing_bound=intervals.clopper_pearson(paired.differing, len(paired.tasks))[1],
        tasks_out=leave_out(paired, {task: task for task in paired.tasks}),
        categories_out=leave_out(paired, categories),
        ceiling_and_floor=ceiling_and_floor(paired, outcomes.contrast),
    )


def judge_gap(outcomes: Outcomes, gap: GapEstimate | None, tallies: Mapping[str, Tally]) -> Verdict:
    """Apply the decision table, or refuse to."""
    refused = refusals(outcomes, gap, tallies)
    if refused or gap is None:
        return Verdict(None, refused, False, False)
    claims, within = gap.claims, plan.bands_within(*gap.bounds)
    return Verdict(
        claims.band, (), {claims.band, *within} != {claims.band}, claims.resolved, claims.edge
    )


def refusals(
    outcomes: Outcomes, gap: GapEstimate | None, tallies: Mapping[str, Tally]
) -> tuple[str, ...]:
    """Why there is no verdict; empty if there is one."""
    reasons = []
    for shell in outcomes.contrast:
        title = SHELLS[shell].title
        tally = tallies.get(shell)
        if tally is None:
            reasons.append(f"{title} is not part of this study")
        elif tally.state == "not-measured":
            reasons.append(f"{title} was not measured: {tally.reasons[0][0]}")
        elif tally.state == "missing":
            reasons.append(f"nothing was measured in {title} yet ({tally.planned} cells planned)")
        elif tally.unmeasured_share > plan.MAX_MISSING:
            reasons.append(
                f"{tally.planned - tally.measured} of {tally.planned} cells in {title} have no measurement, "
                f"more than {float(plan.MAX_MISSING):.0%}"
            )
    usable = len(gap.paired.tasks) if gap else 0
    if not reasons and usable < plan.MIN_TASKS:
        reasons.append(
            f"{usable} of {len(outcomes.tasks)} tasks were measured in both shells; a verdict needs {plan.MIN_TASKS}"
        )
    return tuple(reasons)


Size = Literal["ten-or-more", "five-to-ten", "under-five", "under-ten", "open"]


@dataclass(frozen=True)
class Claims:
    """One model's claims, and the label that the table gives it.

    edge: where both shells' rates are, so that no gap can show; None elsewhere.
    ahead: who is, on tasks like these; None if that is open.
    size: of the gap on tasks like these.
    rows: of the table, those that the 95 % interval meets.
    these_tasks: who is ahead on these very tasks; `unknown` where their trials say nothing about their own noise.
    alike_at_edge: at an edge, whether the 90 % interval lies within 5 points: equality, on tasks as easy or hard.
    out_of_reach: at an edge, the rows whose gap does not fit beside the one shell's rate, whatever the other's.
    """

    band: plan.Band
    edge: plan.Edge | None
    ahead: plan.Direction | None
    size: Size
    rows: tuple[plan.Band, ...]
    these_tasks: plan.Direction | Literal["open", "unknown"]
    alike_at_edge: bool = False
    out_of_reach: tuple[plan.Direction, ...] = ()

    @property
    def resolved(self) -> bool:
        """Whether the data carry the table's label: who is ahead, noise, or a gap that lies where it has no rule."""
        if self.band in plan.DIRECTIONS:
            return self.edge is None and self.ahead == self.band
        return self.size == ("under-five" if self.band == "falsified" else "five-to-ten")


def claims_of(
    rates: tuple[Fraction, Fraction],
    gap: Fraction,
    s95: Interval,
    s90: Interval,
    tested: Interval,
    p: Fraction | float,
    fixed: float | None,
) -> Claims:
    """The claims of a gap; `rates`: pass@1 of baseline and challenger, the others as in `GapEstimate`."""
    edge = plan.common_edge(rates)
    ahead: plan.Direction | None = None
    if p <= plan.ALPHA and (tested.low > 0 or tested.high < 0):
        ahead = "challenger" if tested.low > 0 else "baseline"
    size = _size(ahead, s95, s90)
    return Claims(
        band=plan.band_of(gap),
        edge=edge,
        ahead=ahead,
        size="open" if edge else size,
        rows=plan.bands_within(*s95),
        these_tasks=_on_these_tasks(gap, fixed),
        alike_at_edge=edge is not None and size == "under-five",
        out_of_reach=plan.rows_out_of_reach(rates) if edge else (),
    )


def _size(ahead: plan.Direction | None, s95: Interval, s90: Interval) -> Size:
    """Ten or more: by the 95 % interval, as who is ahead. Within bounds: by the 90 %, a test at 5 % at either bound."""
    if max(abs(s90.low), abs(s90.high)) < plan.NOISE:
        return "under-five"
    if ahead and (s95.low >= plan.DIRECTION or s95.high <= -plan.DIRECTION):
        return "ten-or-more"
    if max(abs(s90.low), abs(s90.high)) < plan.DIRECTION:
        return (
            "five-to-ten"
            if ahead and (s90.low >= plan.NOISE or s90.high <= -plan.NOISE)
            else "under-ten"
        )
    return "open"


def _on_these_tasks(
    gap: Fraction, fixed: float | None
) -> plan.Direction | Literal["open", "unknown"]:
    """Without a trial that varied there is no interval to lean on, at any gap."""
    if not fixed:
        return "unknown"
    if abs(gap) <= fixed:
        return "open"
    return "challenger" if gap > 0 else "baseline"
