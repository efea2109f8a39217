"""What counts as a pass: the gap under other definitions, and under other conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from fluency.analysis.gap import GapEstimate, estimate_gap
from fluency.analysis.outcomes import count_outcomes
from fluency.core.records import FailureClass
from fluency.core.shells import EXTRA_CONDITIONS, SHELLS, Condition, gap_shells

MISSING_PROGRAM: FailureClass = "missing-program"


def shells_under(condition: Condition, contrast: tuple[str, str]) -> list[str]:
    """The contrasted shells whose answers are run again under a condition."""
    return [shell for shell in contrast if condition in SHELLS[shell].conditions]


def conditions_of(contrast: tuple[str, str]) -> list[Condition]:
    """The conditions that some contrasted shell is run under in addition to the designed one."""
    return [condition for condition in EXTRA_CONDITIONS if shells_under(condition, contrast)]


class Sensitivity(NamedTuple):
    """The gap under another definition of a pass; None if no task was measured so.

    Attributes:
        name: As sentences name it; a condition has its title.
        label: The name with an explanation.
    """

    name: str
    label: str
    estimate: GapEstimate | None


def sensitivities(
    rows: pd.DataFrame, tasks: Sequence[str], trials: int, shells: Sequence[str]
) -> list[Sensitivity]:
    """The gap of one model under every definition of a pass; the first is the headline's."""
    found = []
    for label, mark in _marks(rows, gap_shells(shells)).items():
        outcomes = count_outcomes(rows.assign(passed=mark), tasks, trials, shells)
        found.append(Sensitivity(label.split(":")[0], label, estimate_gap(outcomes)))
    return found


def _marks(rows: pd.DataFrame, contrast: tuple[str, str]) -> dict[str, pd.Series]:
    """The marks of one model's rows by name and explanation of each definition of a pass.

    An answer without a command is run under no condition; it fails in each, as in the headline.
    """
    passed, lacked = rows["passed"], rows["failure_class"].eq(MISSING_PROGRAM).fillna(False)
    refused = rows["outcome"].eq("refusal").fillna(False)
    delegated = rows["made_of"].eq("delegation").fillna(False)
    marks = {
        "headline: exit 0, structure and content; command read strictly": passed,
        "lenient reading: a command is also taken out of prose": rows["lenient_passed"],
        "structure only: exit 0, the design's literal check": rows["structural_pass"],
        "exit only: exit code 0 with any output": rows["exit_ok"],
        "output only: structure and content with any exit code": rows["content_ok"],
        "refusals left out: they fail in the headline": passed.mask(refused),
        "delegation failed: answers that call another shell": passed.mask(delegated, False),
        "missing programs left out: the sandbox lacks them": passed.mask(lacked),
        "missing programs passed: the sandbox lacks them": passed.mask(
            lacked & passed.notna(), True
        ),
    }
    no_command = rows["command"].isna() & passed.eq(False).fillna(False)
    for condition in conditions_of(contrast):
        under = shells_under(condition, contrast)
        names, others = (
            " and ".join(SHELLS[shell].short_title for shell in contrast if (shell in under) == own)
            for own in (True, False)
        )
        label = f"{condition.title}: {condition.setting} for {names}"
        mark = rows[condition.score_field]
        mark = mark.mask(mark.isna() & no_command, False)
        marks[label + (f" ({others} as designed)" if others else "")] = mark.where(
            rows["shell"].isin(under), passed
        )
    return marks
