"""What the result hangs on: single tasks, categories, flat tasks, and what counts as a pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import pandas as pd

from fluency.analysis.analysis_plan import CEILING, FLOOR, MIN_DIFFERING, MIN_INFORMATIVE
from fluency.analysis.bands import Band, band_of
from fluency.analysis.gap import Paired, mean, pair
from fluency.analysis.intervals import Interval, floored_interval, signflip_p, t_interval
from fluency.analysis.outcomes import Outcomes, arms_of, count_outcomes
from fluency.core.shells import SHELLS, Condition, contrast_of


@dataclass(frozen=True)
class LeaveOut:
    """Gaps with one part left out; `flips` are the parts without which the band is another."""

    low: Fraction
    high: Fraction
    flips: tuple[str, ...]
    parts: int


@dataclass(frozen=True)
class BriefEstimate:
    """A gap with its band, its 95 % interval for tasks like these and its sign-flip p."""

    paired: Paired
    band: Band
    interval: Interval
    p: Fraction


@dataclass(frozen=True)
class Sensitivity:
    """The gap under another definition of a pass; no estimate where no task was measured this way in both arms."""

    key: str
    label: str
    estimate: BriefEstimate | None


@dataclass(frozen=True)
class CeilingAndFloor:
    """How many tasks can tell the arms apart at all."""

    ceiling: int
    floor: int
    informative: int
    warnings: tuple[str, ...]


def leave_tasks_out(paired: Paired) -> LeaveOut | None:
    """Leave each task out in turn; None for a single task."""
    return _leave_out(paired, {task: task for task in paired.tasks})


def leave_categories_out(paired: Paired, categories: Mapping[str, str]) -> LeaveOut | None:
    """Leave each category out in turn; None if all tasks are of one."""
    return _leave_out(paired, {task: categories[task] for task in paired.tasks})


def _leave_out(paired: Paired, part_of: Mapping[str, str]) -> LeaveOut | None:
    parts = list(dict.fromkeys(part_of[task] for task in paired.tasks))
    if len(parts) < 2:
        return None
    by_task = dict(zip(paired.tasks, paired.differences, strict=True))
    gaps = {part: mean([d for task, d in by_task.items() if part_of[task] != part]) for part in parts}
    full = band_of(paired.gap)
    flips = tuple(part for part, gap in gaps.items() if band_of(gap) != full)
    return LeaveOut(min(gaps.values()), max(gaps.values()), flips, len(parts))


def ceiling_and_floor(paired: Paired, contrast: tuple[str, str]) -> CeilingAndFloor:
    """Tasks at the ceiling, at the floor, informative; with warnings where the design has little to go on."""
    both = list(zip(paired.baseline, paired.challenger, strict=True))
    ceiling = sum(b == c == 1 for b, c in both)
    floor = sum(b == c == 0 for b, c in both)
    informative = len(both) - ceiling - floor
    warnings = []
    if informative < MIN_INFORMATIVE:
        warnings.append(
            f"only {informative} of {len(both)} tasks are informative "
            f"({ceiling} passed always, {floor} never, in both shells)"
        )
    for shell, rate in zip(contrast, (paired.baseline_rate, paired.challenger_rate), strict=True):
        title = SHELLS[shell].short_title
        if rate.value >= CEILING:
            warnings.append(f"pass@1 in {title} is at the ceiling: a gap has no room to show")
        elif rate.value <= FLOOR:
            warnings.append(f"pass@1 in {title} is at the floor: a gap has no room to show")
    if paired.differing < MIN_DIFFERING:
        least = Fraction(2, 2**paired.differing) if paired.differing else Fraction(1)
        warnings.append(
            f"only {paired.differing} of {len(both)} tasks differ between the shells: no test can reject "
            f"(smallest possible p = {float(min(least, Fraction(1))):.3g})"
        )
    return CeilingAndFloor(ceiling, floor, informative, tuple(warnings))


NO_UNIX_TOOLS: Condition = "no_unix_tools"
DEFINITIONS = (
    ("headline", "headline: exit 0, structure and content; command read strictly", "passed"),
    ("lenient", "lenient reading: a command is also taken out of prose", "lenient_passed"),
    ("structural", "structure only: exit 0 and structure, the design document's literal check", "structural_pass"),
    ("exit", "exit only: exit code 0, whatever the output", "exit_ok"),
    ("output", "output only: structure and content, whatever the exit code", "content_ok"),
    ("no_refusals", "refusals left out instead of failed", "_no_refusals"),
    ("no_delegation", "answers that hand over to another shell or language failed", "_no_delegation"),
)


def with_derived_marks(rows: pd.DataFrame) -> pd.DataFrame:
    """One model's rows with the marks that follow from others.

    An answer without a command is run under no condition; it fails in each, as it fails the headline.
    """
    rows = rows.copy()
    rows["_no_refusals"] = rows["passed"].mask(rows["outcome"].eq("refusal").fillna(False))
    rows["_no_delegation"] = rows["passed"].mask(rows["made_of"].eq("delegation").fillna(False), False)
    rows["_no_unix_tools"] = rows["no_unix_tools_passed"].mask(
        rows["no_unix_tools_passed"].isna() & rows["command"].isna() & rows["passed"].eq(False).fillna(False), False
    )
    return rows


def restricted_arms(contrast: tuple[str, str]) -> tuple[str, ...]:
    """The contrasted arms whose answers are run a second time, with no Unix tools on PATH."""
    return tuple(shell for shell in contrast if NO_UNIX_TOOLS in SHELLS[shell].conditions)


def sensitivities(
    rows: pd.DataFrame, tasks: tuple[str, ...], trials: int, shells: Sequence[str]
) -> tuple[Sensitivity, ...]:
    """The gap of one model under every definition of a pass; the first is the headline's."""
    rows = with_derived_marks(rows)
    lines = [
        sensitivity(key, label, count_outcomes(rows, tasks, trials, shells, mark)) for key, label, mark in DEFINITIONS
    ]
    contrast = contrast_of(shells)
    restricted = restricted_arms(contrast)
    if restricted:
        marks = {shell: "_no_unix_tools" if shell in restricted else "passed" for shell in arms_of(shells)}
        names = " and ".join(SHELLS[shell].short_title for shell in restricted)
        others = " and ".join(SHELLS[shell].short_title for shell in contrast if shell not in restricted)
        label = f"no Unix tools on PATH for {names}" + (f" ({others} as designed)" if others else "")
        lines.append(sensitivity(NO_UNIX_TOOLS, label, count_outcomes(rows, tasks, trials, shells, marks)))
    return tuple(lines)


def sensitivity(key: str, label: str, outcomes: Outcomes) -> Sensitivity:
    """One line of the table."""
    paired = pair(outcomes)
    if paired is None:
        return Sensitivity(key, label, None)
    differences = paired.differences
    interval = t_interval(differences) or floored_interval(differences)
    return Sensitivity(key, label, BriefEstimate(paired, band_of(paired.gap), interval, signflip_p(differences)))
