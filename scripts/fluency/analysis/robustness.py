"""Sensitivity of the result: single tasks, categories, flat tasks, and what counts as a pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import pandas as pd

from fluency.analysis.decision_table import Band, band_of
from fluency.analysis.intervals import Interval, gap_interval
from fluency.analysis.outcomes import (
    PairedRates,
    count_outcomes,
    mean,
    pair_by_task,
)
from fluency.core.records import FailureClass
from fluency.core.shells import EXTRA_CONDITIONS, SHELLS, Condition, gap_shells


@dataclass(frozen=True)
class LeaveOut:
    """Gaps with one part left out; `flips` are the parts without which the band is another."""

    low: Fraction
    high: Fraction
    flips: tuple[str, ...]
    parts: int


@dataclass(frozen=True)
class BriefEstimate:
    """A gap with its 95 % interval for tasks like these."""

    paired: PairedRates
    interval: Interval

    @property
    def band(self) -> Band:
        return band_of(self.paired.gap)


@dataclass(frozen=True)
class Sensitivity:
    """The gap under another definition of a pass; None if no task was measured so."""

    key: str
    label: str
    estimate: BriefEstimate | None


@dataclass(frozen=True)
class FlatTasks:
    """The tasks that were always passed in both shells, and never in either; `compared` is all."""

    compared: int
    always: tuple[str, ...]
    never: tuple[str, ...]

    @property
    def informative(self) -> int:
        return self.compared - len(self.always) - len(self.never)


def leave_out(paired: PairedRates, part_of: Mapping[str, str]) -> LeaveOut | None:
    """Leave each part of the tasks out in turn, by task -> part; None if there is one part."""
    parts = list(dict.fromkeys(part_of[task] for task in paired.tasks))
    if len(parts) < 2:
        return None
    by_task = dict(zip(paired.tasks, paired.differences, strict=True))
    gaps = {
        part: mean([d for task, d in by_task.items() if part_of[task] != part]) for part in parts
    }
    full = band_of(paired.gap)
    flips = tuple(part for part, gap in gaps.items() if band_of(gap) != full)
    return LeaveOut(min(gaps.values()), max(gaps.values()), flips, len(parts))


def flat_tasks(paired: PairedRates) -> FlatTasks:
    """The tasks that were always passed, and never."""
    always, never = (
        tuple(
            task
            for task, *rates in zip(
                paired.tasks, paired.baseline.rates, paired.challenger.rates, strict=True
            )
            if rates == [flat, flat]
        )
        for flat in (1, 0)
    )
    return FlatTasks(len(paired.tasks), always, never)


DEFINITIONS = (
    ("headline", "headline: exit 0, structure and content; command read strictly", "passed"),
    ("lenient", "lenient reading: a command is also taken out of prose", "lenient_passed"),
    ("structural", "structure only: exit 0, the design's literal check", "structural_pass"),
    ("exit", "exit only: exit code 0 with any output", "exit_ok"),
    ("output", "output only: structure and content with any exit code", "content_ok"),
    ("no_refusals", "refusals left out: they fail in the headline", "_no_refusals"),
    ("no_delegation", "delegation failed: answers that call another shell", "_no_delegation"),
    ("missing_left_out", "missing programs left out: the sandbox lacks them", "_missing_left_out"),
    ("missing_passed", "missing programs passed: the sandbox lacks them", "_missing_passed"),
)
"""Key, name and explanation, and the mark that is counted."""
MISSING_PROGRAM: FailureClass = "missing-program"


def with_derived_marks(rows: pd.DataFrame, contrast: tuple[str, str]) -> pd.DataFrame:
    """One model's rows with the marks that follow from others.

    An answer without a command is run under no condition; it fails in each, as in the headline.
    """
    passed, lacked = rows["passed"], rows["failure_class"].eq(MISSING_PROGRAM).fillna(False)
    no_command = rows["command"].isna() & passed.eq(False).fillna(False)
    rows = rows.assign(
        _no_refusals=passed.mask(rows["outcome"].eq("refusal").fillna(False)),
        _no_delegation=passed.mask(rows["made_of"].eq("delegation").fillna(False), False),
        _missing_left_out=passed.mask(lacked),
        _missing_passed=passed.mask(lacked & passed.notna(), True),
    )
    for condition in conditions_of(contrast):
        mark = rows[condition.score_field]
        mark = mark.mask(mark.isna() & no_command, False)
        under = rows["shell"].isin(shells_under(condition, contrast))
        rows[f"_{condition.name}"] = mark.where(under, passed)
    return rows


def shells_under(condition: Condition, contrast: tuple[str, str]) -> tuple[str, ...]:
    """The contrasted shells whose answers are run again under a condition."""
    return tuple(shell for shell in contrast if condition in SHELLS[shell].conditions)


def conditions_of(contrast: tuple[str, str]) -> tuple[Condition, ...]:
    """The conditions that some contrasted shell is run under in addition to the designed one."""
    return tuple(condition for condition in EXTRA_CONDITIONS if shells_under(condition, contrast))


def setting_for(condition: Condition, contrast: tuple[str, str]) -> str:
    """What differs under a condition, and in which shells."""
    under = shells_under(condition, contrast)
    names = " and ".join(SHELLS[shell].short_title for shell in under)
    others = " and ".join(SHELLS[shell].short_title for shell in contrast if shell not in under)
    return f"{condition.setting} for {names}" + (f" ({others} as designed)" if others else "")


def sensitivities(
    rows: pd.DataFrame, tasks: tuple[str, ...], trials: int, shells: Sequence[str]
) -> tuple[Sensitivity, ...]:
    """The gap of one model under every definition of a pass; the first is the headline's."""
    contrast, definitions = gap_shells(shells), [*DEFINITIONS]
    rows = with_derived_marks(rows, contrast)
    for condition in conditions_of(contrast):
        label = f"{condition.title}: {setting_for(condition, contrast)}"
        definitions.append((condition.name, label, f"_{condition.name}"))
    lines = []
    for key, label, mark in definitions:
        outcomes = count_outcomes(rows, tasks, trials, shells, mark)
        paired = pair_by_task(outcomes)
        estimate = BriefEstimate(paired, gap_interval(paired)) if paired else None
        lines.append(Sensitivity(key, label, estimate))
    return tuple(lines)
