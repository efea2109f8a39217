"""Two aliases of one model id side by side, paired by task: what another way of asking changes. Descriptive only.

Nothing is pooled: every number is a difference between two models' own, each counted alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from fluency.analysis.gap import mean
from fluency.analysis.intervals import Interval, floored_interval, t_interval
from fluency.analysis.outcomes import Arm, Outcomes, PoolingError
from fluency.core.study import ModelConfig

GAP = "gap"
"""Name of the difference of the gaps, beside those of the arms."""


@dataclass(frozen=True)
class AliasDifference:
    """The second alias less the first in one arm, or in the gap, over the `tasks` tasks measured well enough in both.

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
    """Two aliases of one id: a difference for each arm of the contrast, and the one of the gaps last."""

    first: str
    second: str
    differences: tuple[AliasDifference, ...]
    model_id: str = ""


def alias_pairs(models: Sequence[ModelConfig], outcomes: Mapping[str, Outcomes]) -> tuple[AliasPair, ...]:
    """Every two aliases of one model id, in the study's order, but one that is asked for a reply before a tool call."""
    found = []
    for pair in combinations(sorted(models, key=lambda model: model.interface == "tool"), 2):
        if pair[0].id == pair[1].id:
            made = compare_aliases(*(outcomes[model.alias] for model in pair))
            found.append(AliasPair(made.first, made.second, made.differences, pair[0].id))
    return tuple(found)


def compare_aliases(first: Outcomes, second: Outcomes) -> AliasPair:
    """The comparison of two models' outcomes; PoolingError if they are not of the same tasks, trials and contrast."""
    if (first.tasks, first.trials, first.contrast) != (second.tasks, second.trials, second.contrast):
        raise PoolingError("these outcomes are not of one design")
    arms = [(shell, (first.arms[shell], second.arms[shell])) for shell in first.contrast]
    lines = [_difference(shell, both, _kept(both, first.enough), (1,)) for shell, both in arms]
    four = (first.baseline, first.challenger, second.baseline, second.challenger)
    return AliasPair(
        first.model, second.model, (*lines, _difference(GAP, _crossed(four), _kept(four, first.enough), (-1, 1)))
    )


def _crossed(four: tuple[Arm, Arm, Arm, Arm]) -> tuple[Arm, ...]:
    """Arms as (first, second) pairs: of the baseline, then of the challenger."""
    return four[0], four[2], four[1], four[3]


def _kept(arms: Sequence[Arm], enough: int) -> list[int]:
    return [i for i in range(len(arms[0].scored)) if min(arm.scored[i] for arm in arms) >= enough]


def _difference(name: str, arms: Sequence[Arm], kept: Sequence[int], signs: Sequence[int]) -> AliasDifference:
    """The mean over tasks of the signed sum, over pairs of arms, of the second's rate less the first's."""
    if not kept:
        return AliasDifference(name, 0, None, None, None, False)
    rates = [[Fraction(arm.passes[i], arm.scored[i]) for i in kept] for arm in arms]
    pairs = list(zip(signs, rates[::2], rates[1::2], strict=True))
    firsts, seconds = (
        [sum((sign * pair[side][n] for sign, *pair in pairs), Fraction()) for n in range(len(kept))] for side in (0, 1)
    )
    differences = [b - a for a, b in zip(firsts, seconds, strict=True)]
    # The intervals are made for values within ±1: what lies within ±2 is halved for them, and they are doubled.
    halved = [d / len(signs) for d in differences]
    interval = t_interval(halved)
    low, high = interval or floored_interval(halved)
    return AliasDifference(
        name=name,
        tasks=len(kept),
        rates=(mean(firsts), mean(seconds)),
        value=mean(differences),
        interval=Interval(low * len(signs), high * len(signs)),
        floored=interval is None,
    )
