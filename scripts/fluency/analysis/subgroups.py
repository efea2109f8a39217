"""Leaning tasks, sets of tasks, and two aliases of one model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

from fluency.analysis.decision_table import edge_of
from fluency.analysis.gap import GapEstimate, TableReading, apply_table, estimate_gap
from fluency.analysis.intervals import Interval, task_interval
from fluency.analysis.outcomes import (
    Outcomes,
    PoolingError,
    Tally,
    mean,
    well_measured,
)
from fluency.core.study import ModelConfig

Sets = Mapping[str, Collection[str]]  # name -> ids of tasks
GAP = "gap"  # the name of the difference of the gaps


@dataclass(frozen=True)
class Subset:
    """Gap and verdict over `tasks` tasks: of a set, or of those that lean to no shell named."""

    names: tuple[str, ...]
    tasks: int
    gap: GapEstimate | None
    reading: TableReading


def without_leaning(
    outcomes: Outcomes,
    tallies: Mapping[str, Tally],
    leans: Mapping[str, str],
    categories: Mapping[str, str],
) -> tuple[Subset, ...]:
    """Without the tasks that lean to one contrasted shell, to the other, and to either."""
    found = [shell for shell in outcomes.contrast if shell in leans.values()]
    groups = [(shell,) for shell in found] + [tuple(found)] * (len(found) > 1)
    kept = {
        group: {task for task in outcomes.tasks if leans.get(task) not in group} for group in groups
    }
    return _subsets(outcomes, tallies, kept, categories)


def by_set(
    outcomes: Outcomes, tallies: Mapping[str, Tally], sets: Sets, categories: Mapping[str, str]
) -> tuple[Subset, ...]:
    """Each named set that is a part of the study's tasks; all of them together are the headline."""
    parts: dict[tuple[str, ...], set[str]] = {
        (n,): set(tasks) for n, tasks in sets.items() if set(tasks) < set(outcomes.tasks)
    }
    return _subsets(outcomes, tallies, parts, categories)


def _subsets(
    outcomes: Outcomes,
    tallies: Mapping[str, Tally],
    parts: Mapping[tuple[str, ...], Collection[str]],
    categories: Mapping[str, str],
) -> tuple[Subset, ...]:
    """Whether enough was measured is asked of the study's `tallies`, and of the number of tasks."""
    found = []
    for names, tasks in parts.items():
        places = [place for place, task in enumerate(outcomes.tasks) if task in tasks]
        if not places:
            continue
        kept = replace(
            outcomes,
            tasks=tuple(outcomes.tasks[place] for place in places),
            by_shell={shell: counts.at(places) for shell, counts in outcomes.by_shell.items()},
        )
        gap = estimate_gap(kept, categories)
        found.append(Subset(names, len(places), gap, apply_table(kept, gap, tallies)))
    return tuple(found)


@dataclass(frozen=True)
class RateChange:
    """A rate of one shell, or a gap, measured twice: how much larger it was the second time.

    Attributes:
        what: A shell (its pass@1), or `gap`.
        tasks: How many were measured well enough both times.
        before: The first time, in shares of one.
        after: The second time.
        interval: 95 % of the change, for tasks like these; of a gap it lies within ±2.
        differing: Tasks that changed at all.
    """

    what: str
    tasks: int
    before: Fraction
    after: Fraction
    interval: Interval
    differing: int

    @property
    def change(self) -> Fraction:
        return self.after - self.before


@dataclass(frozen=True)
class AliasPair:
    """Two aliases of one id: a change for each shell of the contrast, and the gap's last."""

    first: str
    second: str
    changes: tuple[RateChange, ...]
    model_id: str = ""


def alias_pairs(
    models: Sequence[ModelConfig], outcomes: Mapping[str, Outcomes]
) -> tuple[AliasPair, ...]:
    """Every two aliases of one model id in the study's order; those asked by a tool come last."""
    found = []
    for first, second in combinations(sorted(models, key=lambda m: m.interface == "tool"), 2):
        if first.id == second.id:
            changes = rate_changes(outcomes[first.alias], outcomes[second.alias])
            found.append(AliasPair(first.alias, second.alias, changes, first.id))
    return tuple(found)


def rate_changes(
    first: Outcomes, second: Outcomes, shells: Sequence[str] = ()
) -> tuple[RateChange, ...]:
    """The changes from the first outcomes to the second that some task was measured for.

    Args:
        first: One model's outcomes.
        second: Others over the same tasks and contrast: another alias, or another study.
        shells: Those to compare; by default the contrast.

    Raises:
        PoolingError: The outcomes have other tasks or another contrast.
    """
    if (first.tasks, first.contrast) != (second.tasks, second.contrast):
        raise PoolingError("these outcomes are not of one design")
    parts: dict[str, tuple[str, ...]] = {shell: (shell,) for shell in shells or first.contrast}
    parts[GAP] = first.contrast
    found = [_change(name, part, first, second) for name, part in parts.items()]
    return tuple(change for change in found if change)


def _change(
    name: str, shells: tuple[str, ...], first: Outcomes, second: Outcomes
) -> RateChange | None:
    """The change of one shell's rate; of two shells, of the second's rate less the first's."""
    enough = [
        set(well_measured(one.min_trials, *(one.by_shell[shell] for shell in shells)))
        for one in (first, second)
    ]
    kept = sorted(set.intersection(*enough))
    if not kept:
        return None
    rates = [[one.by_shell[shell].at(kept).rates for shell in shells] for one in (first, second)]
    before, after = (
        [values[-1] - sum(values[:-1], Fraction()) for values in zip(*side, strict=True)]
        for side in rates
    )
    changes = [b - a for a, b in zip(before, after, strict=True)]
    near_edge = any(edge_of(mean(values)) for side in rates for values in side)
    return RateChange(
        what=name,
        tasks=len(kept),
        before=mean(before),
        after=mean(after),
        interval=task_interval(changes, near_edge=near_edge, reach=len(shells)),
        differing=sum(value != 0 for value in changes),
    )
