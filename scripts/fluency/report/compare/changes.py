"""The change of a model from one study to another.

The method is the report's own, applied to the change instead of the gap: paired per task, t interval and
exact sign-flip over tasks. No verdict of the decision table follows from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from fluency.analysis.intervals import Interval, PValue, fixed_task_halfwidth, floored_interval, sign_flip, t_interval
from fluency.analysis.outcomes import Arm, Outcomes, count_outcomes, mean, pair
from fluency.report.compare.compared_study import ComparedStudy

GAP = "gap"


@dataclass(frozen=True)
class Change:
    """The change of one quantity from A to B over the tasks measured in both.

    what: a shell (its pass@1) or `gap` (the challenger's pass@1 less the baseline's). before, after, change: shares
    of one.
    interval: 95 %, for tasks like these. fixed: half-width for these very tasks (None for the gap, and
    where a task has one trial). p: two-sided, exact sign-flip. differing: tasks that changed at all.
    """

    what: str
    tasks: int
    before: Fraction
    after: Fraction
    change: Fraction
    interval: Interval
    fixed: float | None
    p: PValue
    differing: int


@dataclass(frozen=True)
class TaskChange:
    """One task in one pair of models: passes and measured trials by shell, in A and in B."""

    task: str
    a: dict[str, tuple[int, int]]
    b: dict[str, tuple[int, int]]

    def change(self, shell: str) -> Fraction | None:
        """Rate in B less rate in A; None where one of them was not measured."""
        (passes_a, scored_a), (passes_b, scored_b) = self.a[shell], self.b[shell]
        return Fraction(passes_b, scored_b) - Fraction(passes_a, scored_a) if scored_a and scored_b else None

    @property
    def size(self) -> Fraction:
        """How much it changed in all."""
        return sum((abs(self.change(shell) or Fraction()) for shell in self.a), Fraction())


@dataclass(frozen=True)
class ModelChange:
    """One model in both studies, or the one model of each; `contrast` is the baseline and the challenger."""

    model_a: str
    model_b: str
    arms: tuple[str, ...]
    contrast: tuple[str, str]
    changes: tuple[Change, ...]
    tasks: tuple[TaskChange, ...]


def model_change(
    first: ComparedStudy, second: ComparedStudy, model_a: str, model_b: str, tasks: list[str]
) -> ModelChange:
    """One pair of models over the tasks both studies have."""
    shells = [*first.frame["shell"].unique(), *second.frame["shell"].unique()]
    counts = [
        count_outcomes(source.frame[source.frame["model"] == model], tasks, source.trials, shells)
        for source, model in ((first, model_a), (second, model_b))
    ]
    changes = [change for what in (*counts[0].arms, GAP) if (change := _change(what, *counts)) is not None]
    per_task = [
        TaskChange(task, *({s: (arm.passes[i], arm.scored[i]) for s, arm in c.arms.items()} for c in counts))
        for i, task in enumerate(tasks)
    ]
    return ModelChange(model_a, model_b, tuple(counts[0].arms), counts[0].contrast, tuple(changes), tuple(per_task))


def _change(what: str, a: Outcomes, b: Outcomes) -> Change | None:
    """One change, over the tasks that have enough measured trials in every arm it needs; None without any."""
    shells = a.contrast if what == GAP else (what,)
    kept = [
        i for i in range(len(a.tasks)) if all(o.arms[s].scored[i] >= ceil(o.trials / 2) for o in (a, b) for s in shells)
    ]
    if not kept:
        return None
    rates = [[_quantity(outcomes, what, i) for i in kept] for outcomes in (a, b)]
    differences = [after - before for before, after in zip(*rates, strict=True)]
    return Change(
        what=what,
        tasks=len(kept),
        before=mean(rates[0]),
        after=mean(rates[1]),
        change=mean(differences),
        interval=t_interval(differences) or floored_interval(differences),
        fixed=None if what == GAP else _fixed(a.arms[what], b.arms[what], kept),
        p=sign_flip(differences),
        differing=sum(difference != 0 for difference in differences),
    )


def _quantity(outcomes: Outcomes, what: str, i: int) -> Fraction:
    def rate(shell: str) -> Fraction:
        return Fraction(outcomes.arms[shell].passes[i], outcomes.arms[shell].scored[i])

    baseline, challenger = outcomes.contrast
    return rate(challenger) - rate(baseline) if what == GAP else rate(what)


def _fixed(a: Arm, b: Arm, kept: list[int]) -> float | None:
    """The report's interval for these very tasks, with A and B in the places of the contrasted arms."""
    arms = [Arm(tuple(arm.passes[i] for i in kept), tuple(arm.scored[i] for i in kept)) for arm in (a, b)]
    as_arms = Outcomes("A against B", tuple(str(i) for i in kept), 1, dict(zip("AB", arms, strict=True)), ("A", "B"))
    return fixed_task_halfwidth(as_arms) if pair(as_arms) else None
