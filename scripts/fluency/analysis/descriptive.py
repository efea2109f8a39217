"""Descriptions without a test: categories, what answers are made of, how failures failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import get_args

import pandas as pd

from fluency.analysis.gap import Paired, mean
from fluency.analysis.outcomes import Arm, Outcomes, arms_of, one_model, rate_over
from fluency.core.records import FailureClass, MadeOf
from fluency.core.shells import EXTRA_CONDITIONS
from fluency.core.study import Cell


@dataclass(frozen=True)
class CategoryLine:
    """Means of one category: no interval, no p, no verdict; four or five tasks carry none.

    rates: of each arm, over those of the compared tasks that it has enough measured trials of; None without any.
    """

    category: str
    tasks: int
    rates: dict[str, Fraction | None]
    gap: Fraction
    differing: int


@dataclass(frozen=True)
class MadeOfLine:
    """Answers of one arm made of one kind of thing, and how the measured ones fared."""

    made_of: str
    answers: int
    measured: int
    passed: int
    again: dict[str, tuple[int, int]]
    """Condition -> passed, and known, under it."""


@dataclass(frozen=True)
class CompositionOfArm:
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


def category_lines(outcomes: Outcomes, paired: Paired, categories: Mapping[str, str]) -> tuple[CategoryLine, ...]:
    """Means over the compared tasks by category, in the order the categories first appear."""
    by_task = dict(zip(paired.tasks, paired.differences, strict=True))
    lines = []
    for category in dict.fromkeys(categories[task] for task in paired.tasks):
        chosen = [task for task in paired.tasks if categories[task] == category]
        places = [outcomes.tasks.index(task) for task in chosen]
        rates = {shell: _mean_rate(arm, places, outcomes.enough) for shell, arm in outcomes.arms.items()}
        differences = [by_task[task] for task in chosen]
        lines.append(CategoryLine(category, len(chosen), rates, mean(differences), sum(d != 0 for d in differences)))
    return tuple(lines)


def _mean_rate(arm: Arm, places: Sequence[int], enough: int) -> Fraction | None:
    kept = [place for place in places if arm.scored[place] >= enough]
    return rate_over(arm, kept).value if kept else None


def composition(rows: pd.DataFrame, shell: str, top: int = 8) -> CompositionOfArm:
    """What one model's answers in one shell are made of."""
    one_model(rows)
    arm = rows[(rows["shell"] == shell) & rows["outcome"].notna()]
    known = arm[arm["made_of"].notna()]
    lines = []
    for kind in get_args(MadeOf):
        part = known[known["made_of"] == kind]
        if len(part):
            marks = part["passed"].dropna()
            under = {condition.name: part[condition.mark].dropna() for condition in EXTRA_CONDITIONS}
            again = {name: (int(known.sum()), len(known)) for name, known in under.items()}
            lines.append(MadeOfLine(kind, len(part), len(marks), int(marks.sum()), again))
    names = Counter(name for text in known["commands"].dropna() for name in dict.fromkeys(text.split()))
    ranked = sorted(names.items(), key=lambda item: (-item[1], item[0]))
    measured = int((arm["status"] == "measured").sum())
    return CompositionOfArm(shell, len(arm), measured, len(arm) - len(known), tuple(lines), tuple(ranked[:top]))


def failure_lines(rows: pd.DataFrame, shells: Sequence[str]) -> tuple[FailureLine, ...]:
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
        counts = {shell: int((part["shell"] == shell).sum()) for shell in arms_of(shells)}
        lines.append(FailureLine(failure_class, counts, FailureExample(cell, why, command)))
    return tuple(lines)


def side_effects(rows: pd.DataFrame) -> tuple[Cell, ...]:
    """Cells whose command changed the working folder or left processes, whether they passed or not."""
    model = one_model(rows)
    part = rows[(rows["status"] == "measured") & rows["side_effects"].notna()]
    return tuple(Cell(model, s, t, int(n)) for s, t, n in zip(part["shell"], part["task"], part["trial"], strict=True))


@dataclass(frozen=True)
class Repeated:
    """A cell whose first attempt the engine or somebody outside ended; not `measured`: given up."""

    cell: Cell
    attempts: int
    measured: bool


def repeated(rows: pd.DataFrame) -> tuple[Repeated, ...]:
    """The cells that were attempted more than once."""
    model = one_model(rows)
    part = rows[rows["attempts"].notna() & (rows["attempts"] > 1).fillna(False)]
    columns = zip(part["shell"], part["task"], part["trial"], part["attempts"], part["status"], strict=True)
    return tuple(Repeated(Cell(model, s, t, int(n)), int(a), how == "measured") for s, t, n, a, how in columns)
