"""pass@k (any of k trials passes) and pass^k (all k pass), with k the study's number of trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import comb

from fluency.analysis.intervals import clopper_pearson
from fluency.analysis.outcomes import Outcomes, ShellPasses, mean


def pass_any(passes: int, scored: int, k: int) -> Fraction | None:
    """1 - C(n-c, k)/C(n, k): chance that k of n trials drawn without replacement hold a pass.

    None where fewer than k trials were measured; the plain formula would give a spurious 1 there.
    Source: Chen et al. (2021), arXiv 2107.03374.
    """
    if scored < k:
        return None
    return 1 - Fraction(comb(scored - passes, k), comb(scored, k))


def pass_all(passes: int, scored: int, k: int) -> Fraction | None:
    """C(c, k)/C(n, k): chance that k of n trials drawn without replacement all pass; None if n < k."""
    if scored < k:
        return None
    return Fraction(comb(passes, k), comb(scored, k))


@dataclass(frozen=True)
class ShareOfTasks:
    """Mean over tasks, the tasks it was defined for, and an exact interval where it counts whole tasks."""

    value: Fraction | None
    tasks: int
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class PassK:
    """Both measures in every shell; and, over the `complete` tasks, their gaps and the table of those solved at all.

    complete: tasks with every trial measured in both contrasted shells; the gaps are None without one.
    """

    k: int
    any_of: dict[str, ShareOfTasks]
    all_of: dict[str, ShareOfTasks]
    both: int
    challenger_only: int
    baseline_only: int
    neither: int
    complete: int
    any_gap: Fraction | None
    all_gap: Fraction | None
    challenger_share: tuple[float, float] | None


def pass_k(outcomes: Outcomes) -> PassK:
    """pass@k, pass^k, and how the contrasted shells compare on the tasks with every trial measured in both."""
    k = outcomes.trials
    baseline, challenger = outcomes.baseline, outcomes.challenger
    cells = zip(baseline.passes, baseline.scored, challenger.passes, challenger.scored, strict=True)
    complete = [(below, above) for below, m, above, n in cells if min(m, n) >= k]
    table = Counter((below > 0, above > 0) for below, above in complete)
    discordant = table[False, True] + table[True, False]
    return PassK(
        k=k,
        any_of={shell: _share_of_tasks(pass_any, counts, k) for shell, counts in outcomes.by_shell.items()},
        all_of={shell: _share_of_tasks(pass_all, counts, k) for shell, counts in outcomes.by_shell.items()},
        both=table[True, True],
        challenger_only=table[False, True],
        baseline_only=table[True, False],
        neither=table[False, False],
        complete=len(complete),
        any_gap=mean([Fraction((above > 0) - (below > 0)) for below, above in complete]) if complete else None,
        all_gap=mean([Fraction((above == k) - (below == k)) for below, above in complete]) if complete else None,
        challenger_share=clopper_pearson(table[False, True], discordant) if discordant else None,
    )


def _share_of_tasks(measure: Callable[[int, int, int], Fraction | None], counts: ShellPasses, k: int) -> ShareOfTasks:
    values = [measure(c, n, k) for c, n in zip(counts.passes, counts.scored, strict=True)]
    known = [value for value in values if value is not None]
    if not known:
        return ShareOfTasks(None, 0, None)
    return ShareOfTasks(mean(known), len(known), clopper_pearson(sum(value == 1 for value in known), len(known)))
