"""Leaning tasks, sets of tasks, and two aliases of one model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

from fluency.analysis.descriptive import CategoryLine, category_lines
from fluency.analysis.estimate import GapEstimate, Verdict, estimate_gap, judge_gap
from fluency.analysis.intervals import Interval, task_interval
from fluency.analysis.outcomes import (
    Outcomes,
    PairedRates,
    PoolingError,
    ShellPasses,
    Tally,
    mean,
    well_measured,
)
from fluency.analysis.plan import edge_of
from fluency.core.study import ModelConfig

UNDECLARED = "not declared"
Sets = Mapping[str, Collection[str]]  # name -> ids of tasks
GAP = "gap"  # the name of the difference of the gaps


@dataclass(frozen=True)
class Subset:
    """The gap and the verdict over `tasks` tasks: of the set named, or of those that lean to no shell named."""

    names: tuple[str, ...]
    tasks: int
    gap: GapEstimate | None
    verdict: Verdict


def lean_lines(
    outcomes: Outcomes, paired: PairedRates, leans: Mapping[str, str]
) -> tuple[CategoryLine, ...]:
    """Means over the compared tasks by lean: the contrasted shells first, then the others by name."""
    lines = category_lines(
        outcomes, paired, {task: leans.get(task) or UNDECLARED for task in paired.tasks}
    )
    first = {shell: place for place, shell in enumerate(outcomes.contrast)}
    return tuple(
        sorted(lines, key=lambda line: (first.get(line.category, len(first)), line.category))
    )


def without_leaning(
    outcomes: Outcomes,
    tallies: Mapping[str, Tally],
    leans: Mapping[str, str],
    categories: Mapping[str, str],
) -> tuple[Subset, ...]:
    """Without the tasks that lean to the one contrasted shell, to the other, and to either, where there are such."""
    found = [
        shell
        for shell in outcomes.contrast
        if any(leans.get(task) == shell for task in outcomes.tasks)
    ]
    groups = [(shell,) for shell in found] + ([tuple(found)] if len(found) > 1 else [])
    kept = [
        (group, {task for task in outcomes.tasks if leans.get(task) not in group})
        for group in groups
    ]
    return tuple(
        _subset(outcomes, tallies, categories, group, tasks) for group, tasks in kept if tasks
    )


def by_set(
    outcomes: Outcomes, tallies: Mapping[str, Tally], sets: Sets, categories: Mapping[str, str]
) -> tuple[Subset, ...]:
    """Each named set that is a part of the study's tasks; all of them together are the headline."""
    parts = [(name, set(tasks)) for name, tasks in sets.items() if set(tasks) < set(outcomes.tasks)]
    return tuple(_subset(outcomes, tallies, categories, (name,), tasks) for name, tasks in parts)


def _subset(
    outcomes: Outcomes,
    tallies: Mapping[str, Tally],
    categories: Mapping[str, str],
    names: tuple[str, ...],
    tasks: Collection[str],
) -> Subset:
    """Whether enough was measured is asked of the study's `tallies`, and of the number of tasks."""
    places = [place for place, task in enumerate(outcomes.tasks) if task in tasks]
    by_shell = {
        shell: ShellPasses(
            *(tuple(column[place] for place in places) for column in (counts.passes, counts.scored))
        )
        for shell, counts in outcomes.by_shell.items()
    }
    kept = replace(
        outcomes, tasks=tuple(outcomes.tasks[place] for place in places), by_shell=by_shell
    )
    gap = estimate_gap(kept, categories)
    return Subset(names, len(places), gap, judge_gap(kept, gap, tallies))


@dataclass(frozen=True)
class AliasDifference:
    """The second alias less the first in one shell, or in the gap, over the `tasks` tasks measured well enough in both.

    value, rates (first, second): fractions of one, None without such a task. interval: 95 %, for tasks like these; the
    floored one where all tasks differ alike. The gap's value and interval lie within ±2.
    """

    name: str
    tasks: int
    rates: tuple[Fraction, Fraction] | None
    value: Fraction | None
    interval: Interval | None
    floored: bool


@dataclass(frozen=True)
class AliasPair:
    """Two aliases of one id: a difference for each shell of the contrast, and the one of the gaps last."""

    first: str
    second: str
    differences: tuple[AliasDifference, ...]
    model_id: str = ""


def alias_pairs(
    models: Sequence[ModelConfig], outcomes: Mapping[str, Outcomes]
) -> tuple[AliasPair, ...]:
    """Every two aliases of one model id, in the study's order, but one that is asked for a reply before a tool call."""
    found = []
    for pair in combinations(sorted(models, key=lambda model: model.interface == "tool"), 2):
        if pair[0].id == pair[1].id:
            made = compare_aliases(*(outcomes[model.alias] for model in pair))
            found.append(replace(made, model_id=pair[0].id))
    return tuple(found)


def compare_aliases(first: Outcomes, second: Outcomes) -> AliasPair:
    """The comparison of two models' outcomes; PoolingError if they are not of the same tasks, trials and contrast."""
    if (first.tasks, first.trials, first.contrast) != (
        second.tasks,
        second.trials,
        second.contrast,
    ):
        raise PoolingError("these outcomes are not of one design")
    pairs = [(shell, (first.by_shell[shell], second.by_shell[shell])) for shell in first.contrast]
    lines = [_difference(shell, both, first.min_trials, (1,)) for shell, both in pairs]
    four = (first.baseline, second.baseline, first.challenger, second.challenger)
    gaps = _difference(GAP, four, first.min_trials, (-1, 1))
    return AliasPair(first.model, second.model, (*lines, gaps))


def _difference(
    name: str, compared: Sequence[ShellPasses], least: int, signs: Sequence[int]
) -> AliasDifference:
    """The mean over tasks of the signed sum, over pairs of shells, of the second's rate less the first's."""
    kept = well_measured(least, *compared)
    if not kept:
        return AliasDifference(name, 0, None, None, None, False)
    rates = [[Fraction(counts.passes[i], counts.scored[i]) for i in kept] for counts in compared]
    pairs = list(zip(signs, rates[::2], rates[1::2], strict=True))
    firsts, seconds = (
        [sum((sign * pair[side][n] for sign, *pair in pairs), Fraction()) for n in range(len(kept))]
        for side in (0, 1)
    )
    differences = [b - a for a, b in zip(firsts, seconds, strict=True)]
    # The intervals are made for values within ±1: what lies within ±2 is halved for them, and they are doubled.
    halved = [d / len(signs) for d in differences]
    low, high = task_interval(halved, near_edge=any(edge_of(mean(rate)) for rate in rates))
    return AliasDifference(
        name=name,
        tasks=len(kept),
        rates=(mean(firsts), mean(seconds)),
        value=mean(differences),
        interval=Interval(low * len(signs), high * len(signs)),
        floored=len(set(halved)) == 1,
    )
