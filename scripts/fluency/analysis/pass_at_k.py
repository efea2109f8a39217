"""pass@k: any of k trials passes, with k the study's number of trials.

With k trials the estimator of Chen et al. (2021), arXiv 2107.03374, is one bit a task; a task with
fewer measured trials has none.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from fluency.analysis.intervals import clopper_pearson
from fluency.analysis.outcomes import Outcomes


class ShareOfTasks(NamedTuple):
    """Of the tasks with every trial measured those that are ever passed."""

    passed: int
    tasks: int

    @property
    def value(self) -> Fraction | None:
        return Fraction(self.passed, self.tasks) if self.tasks else None

    @property
    def interval(self) -> tuple[float, float]:
        """95 %, exact."""
        return clopper_pearson(self.passed, self.tasks)


@dataclass(frozen=True)
class PassK:
    """pass@k in every shell, and how the contrasted ones compare.

    Attributes:
        shares: By shell.
        gap: Over the complete tasks; None without any.
        complete: Tasks with every trial measured in both contrasted shells.
        both: Of these, tasks passed in both shells; the next three likewise.
        challenger_only: Passed in the challenger.
        baseline_only: Passed in the baseline.
        neither: Never passed.
    """

    shares: dict[str, ShareOfTasks]
    gap: Fraction | None
    complete: int
    both: int
    challenger_only: int
    baseline_only: int
    neither: int


def pass_k(outcomes: Outcomes) -> PassK:
    """Compare the contrasted shells on the tasks with every trial measured in both."""
    ever = {
        shell: [
            passes > 0 if scored >= outcomes.trials else None
            for passes, scored in zip(counts.passes, counts.scored, strict=True)
        ]
        for shell, counts in outcomes.by_shell.items()
    }
    table = Counter(zip(*(ever[shell] for shell in outcomes.contrast), strict=True))
    both, neither = table[True, True], table[False, False]
    challenger_only, baseline_only = table[False, True], table[True, False]
    complete = both + neither + challenger_only + baseline_only
    return PassK(
        shares={
            shell: ShareOfTasks(marks.count(True), len(marks) - marks.count(None))
            for shell, marks in ever.items()
        },
        gap=Fraction(challenger_only - baseline_only, complete) if complete else None,
        complete=complete,
        both=both,
        challenger_only=challenger_only,
        baseline_only=baseline_only,
        neither=neither,
    )
