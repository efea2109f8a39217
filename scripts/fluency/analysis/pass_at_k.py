"""pass@k: any of k trials passes, with k the study's number of trials.

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
    """Of the tasks with every trial measured the share that is ever passed.

    Attributes:
        value: None without such tasks.
        tasks: How many these are.
        interval: 95 %, exact; None where the value is.
    """

    value: Fraction | None
    tasks: int
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class PassK:
    """pass@k in every shell, and how the contrasted ones compare.

    Attributes:
        k: The study's trials.
        shares: By shell.
        gap: Over the complete tasks; None without any.
        complete: Tasks with every trial measured in both contrasted shells.
        both: Of these, tasks passed in both shells; the next three likewise.
        challenger_only: Passed in the challenger.
        baseline_only: Passed in the baseline.
        neither: Never passed.
    """

    k: int
    shares: dict[str, ShareOfTasks]
    gap: Fraction | None
    complete: int
    both: int
    challenger_only: int
    baseline_only: int
    neither: int


def pass_k(outcomes: Outcomes) -> PassK:
    """Compare the contrasted shells on the tasks with every trial measured in both."""
    k = outcomes.trials
    baseline, challenger = outcomes.baseline, outcomes.challenger
    cells = zip(baseline.passes, baseline.scored, challenger.passes, challenger.scored, strict=True)
    table = Counter((below > 0, above > 0) for below, m, above, n in cells if min(m, n) >= k)
    complete = table.total()
    more = table[False, True] - table[True, False]
    return PassK(
        k=k,
        shares={shell: _share(counts, k) for shell, counts in outcomes.by_shell.items()},
        gap=Fraction(more, complete) if complete else None,
        complete=complete,
        both=table[True, True],
        challenger_only=table[False, True],
        baseline_only=table[True, False],
        neither=table[False, False],
    )


def _share(counts: ShellPasses, k: int) -> ShareOfTasks:
    cells = zip(counts.passes, counts.scored, strict=True)
    found = [passes > 0 for passes, scored in cells if scored >= k]
    if not found:
        return ShareOfTasks(None, 0, None)
    share = Fraction(sum(found), len(found))
    return ShareOfTasks(share, len(found), clopper_pearson(sum(found), len(found)))
