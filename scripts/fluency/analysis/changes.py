"""A rate or a gap measured twice: by two aliases of one model, or in two studies."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from statistics import mean
from typing import NamedTuple

from fluency.analysis.decision_table import edge_of
from fluency.analysis.gap import Interval, task_interval
from fluency.analysis.outcomes import Outcomes
from fluency.core.study import ModelConfig

GAP = "gap"  # the name of the difference of the gaps


class RateChange(NamedTuple):
    """A rate of one shell, or a gap, measured twice: how much larger it was the second time.

    Attributes:
        what: A shell (its pass@1), or `gap`; of several `gap of <challenger>`.
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


AliasPair = tuple[ModelConfig, ModelConfig, list[RateChange]]
"""Two aliases of one id: a change for each shell, and the gap's last."""


def alias_pairs(
    models: Sequence[ModelConfig],
    outcomes: Mapping[str, Outcomes],
    contrasts: Sequence[tuple[str, str]],
) -> list[AliasPair]:
    """Every two aliases of one model id in the study's order; those asked by a tool come last."""
    ordered = sorted(models, key=lambda model: model.interface == "tool")
    return [
        (one, two, rate_changes(outcomes[one.alias], outcomes[two.alias], contrasts))
        for one, two in combinations(ordered, 2)
        if one.id == two.id
    ]


def rate_changes(
    first: Outcomes, second: Outcomes, contrasts: Sequence[tuple[str, str]]
) -> list[RateChange]:
    """The changes of each shell and of the gap that some task was measured for.

    Args:
        first: One model's outcomes.
        second: Others over the same tasks and shells: another alias, or another study.
        contrasts: The shells of each gap.

    Raises:
        ValueError: The outcomes have other tasks or other shells.
    """
    if (first.tasks, *first.by_shell) != (second.tasks, *second.by_shell):
        raise ValueError("these outcomes are not of one design")
    parts: dict[str, tuple[str, ...]] = {shell: (shell,) for shell in first.by_shell}
    several, found = len(contrasts) > 1, []
    gaps = {f"{GAP} of {pair[1]}" if several else GAP: pair for pair in contrasts}
    for name, part in (parts | gaps).items():
        sides = first.of(*part), second.of(*part)
        enough = sorted(set.intersection(*({*side.enough_measured()} for side in sides)))
        if not enough:
            continue
        rates = [[own.rates for own in side.at(enough).by_shell.values()] for side in sides]
        before, after = (
            # One shell's rate; of two shells, the second's less the first's.
            [values[-1] - sum(values[:-1], Fraction()) for values in zip(*side, strict=True)]
            for side in rates
        )
        changes = [b - a for a, b in zip(before, after, strict=True)]
        near_edge = any(edge_of(mean(values)) for side in rates for values in side)
        found.append(
            RateChange(
                what=name,
                tasks=len(enough),
                before=mean(before),
                after=mean(after),
                interval=task_interval(changes, near_edge=near_edge, reach=len(part)),
                differing=sum(value != 0 for value in changes),
            )
        )
    return found
