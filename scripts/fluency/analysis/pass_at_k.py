"""pass@k (any of k trials passes) and pass^k (all k pass), with k the study's number of trials.

With as many trials as k the estimator of Chen et al. (2021), arXiv 2107.03374, is one bit a task; a task with fewer
measured trials has none.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from fluency.analysis.intervals import clopper_pearson
from fluency.analysis.outcomes import Outcomes, ShellPasses


@dataclass(frozen=True)
class ShareOfTasks:
    """Of the `tasks` with every trial measured the share that counts, with its exact interval; None without such."""

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

    def gap(least: int) -> Fraction | None:
        more = sum((above >= least) - (below >= least) for below, above in complete)
        return Fraction(more, len(complete)) if complete else None

    return PassK(
        k=k,
        any_of={
            shell: _share_of_tasks(counts, 1, k) for shell, counts in outcomes.by_shell.items()
        },
        all_of={
            shell: _share_of_tasks(counts, k, k) for shell, counts in outcomes.by_shell.items()
        },
        both=table[True, True],
        challenger_only=table[False, True],
        baseline_only=table[True, False],
        neither=table[False, False],
        complete=len(complete),
        any_gap=gap(1),
        all_gap=gap(k),
        challenger_share=clopper_pearson(table[False, True], discordant) if discordant else None,
    )


def _share_of_tasks(counts: ShellPasses, least: int, k: int) -> ShareOfTasks:
    found = [
        passes >= least
        for passes, scored in zip(counts.passes, counts.scored, strict=True)
        if scored >= k
    ]
    if not found:
        return ShareOfTasks(None, 0, None)
    return ShareOfTasks(
        Fraction(sum(found), len(found)), len(found), clopper_pearson(sum(found), len(found))
    )
