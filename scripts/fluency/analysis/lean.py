"""Which shell a task leans to by its author's word: the gap among such tasks, and the verdict without them.

Descriptive: the leans were declared before any result, and no claim is made of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from fluency.analysis.descriptive import CategoryLine, category_lines
from fluency.analysis.estimate import GapEstimate, Verdict, estimate_gap, judge_gap
from fluency.analysis.gap import Paired
from fluency.analysis.outcomes import Arm, Outcomes
from fluency.analysis.tally import Tally

UNDECLARED = "not declared"


@dataclass(frozen=True)
class Without:
    """The gap and the verdict over the `tasks` tasks that lean to none of the shells `left_out`."""

    left_out: tuple[str, ...]
    tasks: int
    gap: GapEstimate | None
    verdict: Verdict


def lean_lines(outcomes: Outcomes, paired: Paired, leans: Mapping[str, str]) -> tuple[CategoryLine, ...]:
    """Means over the compared tasks by lean: the contrasted shells first, then the others by name."""
    lines = category_lines(outcomes, paired, {task: leans.get(task) or UNDECLARED for task in paired.tasks})
    first = {shell: place for place, shell in enumerate(outcomes.contrast)}
    return tuple(sorted(lines, key=lambda line: (first.get(line.category, len(first)), line.category)))


def without_leaning(
    outcomes: Outcomes, tallies: Mapping[str, Tally], leans: Mapping[str, str], categories: Mapping[str, str]
) -> tuple[Without, ...]:
    """Without the tasks that lean to the one contrasted shell, to the other, and to either, where there are such.

    Whether enough was measured is asked of the study's `tallies`, and of the number of tasks that are left.
    """
    found = [shell for shell in outcomes.contrast if any(leans.get(task) == shell for task in outcomes.tasks)]
    groups = [(shell,) for shell in found] + ([tuple(found)] if len(found) > 1 else [])
    kept = [group for group in groups if any(leans.get(task) not in group for task in outcomes.tasks)]
    return tuple(_without(outcomes, tallies, leans, categories, group) for group in kept)


def _without(
    outcomes: Outcomes,
    tallies: Mapping[str, Tally],
    leans: Mapping[str, str],
    categories: Mapping[str, str],
    left_out: tuple[str, ...],
) -> Without:
    places = [place for place, task in enumerate(outcomes.tasks) if leans.get(task) not in left_out]
    tasks = tuple(outcomes.tasks[place] for place in places)
    arms = {
        shell: Arm(tuple(arm.passes[place] for place in places), tuple(arm.scored[place] for place in places))
        for shell, arm in outcomes.arms.items()
    }
    kept = replace(outcomes, tasks=tasks, arms=arms)
    gap = estimate_gap(kept, categories)
    return Without(left_out, len(tasks), gap, judge_gap(kept, gap, tallies))
