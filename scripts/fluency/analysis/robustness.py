"""What counts as a pass: the gap under other definitions, and under other conditions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from fluency.analysis.gap import GapEstimate, estimate_gap
from fluency.analysis.outcomes import count_outcomes
from fluency.core.records import FailureClass
from fluency.core.shells import EXTRA_CONDITIONS, SHELLS, Condition, gap_shells

MISSING_PROGRAM: FailureClass = "missing-program"


@dataclass(frozen=True)
class Sensitivity:
    """The gap under another definition of a pass; None if no task was measured so."""

    key: str
    label: str
    estimate: GapEstimate | None


def shells_under(condition: Condition, contrast: tuple[str, str]) -> list[str]:
    """The contrasted shells whose answers are run again under a condition."""
    return [shell for shell in contrast if condition in SHELLS[shell].conditions]


def conditions_of(contrast: tuple[str, str]) -> list[Condition]:
    """The conditions that some contrasted shell is run under in addition to the designed one."""
    return [condition for condition in EXTRA_CONDITIONS if shells_under(condition, contrast)]


def _definitions(
    rows: pd.DataFrame, contrast: tuple[str, str]
) -> Iterator[tuple[str, str, pd.Series]]:
    """Key, name with explanation, and mark of each definition of a pass; the headline's first.

    An answer without a command is run under no condition; it fails in each, as in the headline.
    """
    passed, lacked = rows["passed"], rows["failure_class"].eq(MISSING_PROGRAM).fillna(False)
    refused, delegated = (
        rows[column].eq(word).fillna(False)
        for column, word in (("outcome", "refusal"), ("made_of", "delegation"))
    )
    yield "headline", "headline: exit 0, structure and content; command read strictly", passed
    yield (
        "lenient",
        "lenient reading: a command is also taken out of prose",
        rows["lenient_passed"],
    )
    yield (
        "structural",
        "structure only: exit 0, the design's literal check",
        rows["structural_pass"],
    )
    yield "exit", "exit only: exit code 0 with any output", rows["exit_ok"]
    yield "output", "output only: structure and content with any exit code", rows["content_ok"]
    yield "no_refusals", "refusals left out: they fail in the headline", passed.mask(refused)
    yield (
        "no_delegation",
        "delegation failed: answers that call another shell",
        passed.mask(delegated, False),
    )
    yield (
        "missing_left_out",
        "missing programs left out: the sandbox lacks them",
        passed.mask(lacked),
    )
    yield (
        "missing_passed",
        "missing programs passed: the sandbox lacks them",
        passed.mask(lacked & passed.notna(), True),
    )
    no_command = rows["command"].isna() & passed.eq(False).fillna(False)
    for condition in conditions_of(contrast):
        under = shells_under(condition, contrast)
        names, others = (
            " and ".join(SHELLS[shell].short_title for shell in contrast if (shell in under) == own)
            for own in (True, False)
        )
        label = f"{condition.title}: {condition.setting} for {names}"
        mark = rows[condition.score_field]
        yield (
            condition.name,
            label + (f" ({others} as designed)" if others else ""),
            mark.mask(mark.isna() & no_command, False).where(rows["shell"].isin(under), passed),
        )


def sensitivities(
    rows: pd.DataFrame, tasks: tuple[str, ...], trials: int, shells: Sequence[str]
) -> tuple[Sensitivity, ...]:
    """The gap of one model under every definition of a pass; the first is the headline's."""
    return tuple(
        Sensitivity(
            key,
            label,
            estimate_gap(count_outcomes(rows.assign(passed=mark), tasks, trials, shells)),
        )
        for key, label, mark in _definitions(rows, gap_shells(shells))
    )
