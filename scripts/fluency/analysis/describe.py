"""Descriptions without a test: categories, what answers are made of, how failures failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import get_args

import pandas as pd

from fluency.analysis.gap import Paired, mean
from fluency.analysis.outcomes import one_model
from fluency.core.cells import Cell
from fluency.core.records import FailureClass, MadeOf
from fluency.core.shells import SHELLS


@dataclass(frozen=True)
class CategoryLine:
    """Means of one category: no interval, no p, no verdict; four or five tasks carry none."""

    category: str
    tasks: int
    bash: Fraction
    pwsh: Fraction
    gap: Fraction
    differing: int


@dataclass(frozen=True)
class MadeOfLine:
    """Answers of one arm made of one kind of thing, and how the measured ones fared."""

    made_of: str
    answers: int
    measured: int
    passed: int
    no_unix_tools_run: int
    no_unix_tools_passed: int


@dataclass(frozen=True)
class MakeUpOfArm:
    """What the answers of one arm are made of; `answers` is the denominator of the shares.

    An answer is classified from its text, so those of an arm that could not be executed are too.
    """

    shell: str
    answers: int
    measured: int
    without_command: int
    lines: tuple[MadeOfLine, ...]
    top_commands: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class FailureExample:
    """One failed cell, as the model wrote it: hostile text, to be escaped where it is shown."""

    cell: Cell
    why: str
    command: str | None


@dataclass(frozen=True)
class FailureLine:
    """One failure class: failed cells per shell, and the first of them in design order as the example."""

    failure_class: str
    counts: dict[str, int]
    example: FailureExample


def category_lines(paired: Paired, categories: Mapping[str, str]) -> tuple[CategoryLine, ...]:
    """Means by category, in the order the categories first appear."""
    lines = []
    for category in dict.fromkeys(categories[task] for task in paired.tasks):
        chosen = [i for i, task in enumerate(paired.tasks) if categories[task] == category]
        bash, pwsh = mean([paired.bash[i] for i in chosen]), mean([paired.pwsh[i] for i in chosen])
        differing = sum(paired.bash[i] != paired.pwsh[i] for i in chosen)
        lines.append(CategoryLine(category, len(chosen), bash, pwsh, pwsh - bash, differing))
    return tuple(lines)


def make_up(rows: pd.DataFrame, shell: str, top: int = 8) -> MakeUpOfArm:
    """What one model's answers in one shell are made of."""
    one_model(rows)
    arm = rows[(rows["shell"] == shell) & rows["outcome"].notna()]
    known = arm[arm["made_of"].notna()]
    lines = []
    for kind in get_args(MadeOf):
        part = known[known["made_of"] == kind]
        if len(part):
            marks, second = part["passed"].dropna(), part["no_unix_tools_passed"].dropna()
            lines.append(MadeOfLine(kind, len(part), len(marks), int(marks.sum()), len(second), int(second.sum())))
    names = Counter(name for text in known["commands"].dropna() for name in dict.fromkeys(text.split()))
    ranked = sorted(names.items(), key=lambda item: (-item[1], item[0]))
    measured = int((arm["status"] == "measured").sum())
    return MakeUpOfArm(shell, len(arm), measured, len(arm) - len(known), tuple(lines), tuple(ranked[:top]))


def failure_lines(rows: pd.DataFrame) -> tuple[FailureLine, ...]:
    """Every class that occurs in one model's measured cells, in the order of the closed set."""
    model = one_model(rows)
    failed = rows[(rows["status"] == "measured") & (rows["passed"] == False)]  # noqa: E712
    named = failed["failure_class"].fillna("unclassified")
    lines = []
    for failure_class in (*get_args(FailureClass), "unclassified"):
        part = failed[named == failure_class]
        if part.empty:
            continue
        first = part.iloc[0]
        cell = Cell(model, first["shell"], first["task"], int(first["trial"]))
        why = "" if pd.isna(first["why"]) else str(first["why"])
        command = None if pd.isna(first["command"]) else str(first["command"])
        counts = {shell: int((part["shell"] == shell).sum()) for shell in SHELLS}
        lines.append(FailureLine(failure_class, counts, FailureExample(cell, why, command)))
    return tuple(lines)


def side_effects(rows: pd.DataFrame) -> tuple[Cell, ...]:
    """Cells whose command changed the tree or left processes, whether they passed or not."""
    model = one_model(rows)
    part = rows[(rows["status"] == "measured") & rows["side_effects"].notna()]
    return tuple(Cell(model, s, t, int(n)) for s, t, n in zip(part["shell"], part["task"], part["trial"], strict=True))
