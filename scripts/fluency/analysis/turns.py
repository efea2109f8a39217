"""What later turns add to the first: passes by turn, and what became of each first answer.

The headline is of the first turn alone, and nothing here changes it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import mean
from typing import NamedTuple

import pandas as pd

from fluency.analysis.changes import RateChange, rate_changes
from fluency.analysis.decision_table import edge_of
from fluency.analysis.gap import GapEstimate, Interval, estimate_gap, task_interval
from fluency.analysis.outcomes import Outcomes, ShellPasses, count_outcomes
from fluency.core.shells import gap_pairs
from fluency.core.study import Study

TRIAL = ["shell", "task", "trial"]


class Beyond(NamedTuple):
    """The repaired share less a fresh draw's, mean over the tasks with a failed trial."""

    value: Fraction
    interval: Interval
    tasks: int


class Became(NamedTuple):
    """What became of one shell's first answers at the last turn, of those measured at both.

    Attributes:
        failed: At the first turn.
        repaired: Of them passed; `kept`: have the same command.
        fresh: Share of the other trials of the same task that passed; None with one trial.
        quiet: Of the quietly wrong, how many were repaired, and of how many; `loud`: the others.
        passed: At the first turn; `broken`: of them failed.
    """

    failed: int
    repaired: int
    kept: int
    fresh: Fraction | None
    beyond: Beyond | None
    quiet: tuple[int, int]
    loud: tuple[int, int]
    passed: int
    broken: int

    @property
    def changed(self) -> int:
        """Failed with another command, and still wrong."""
        return self.failed - self.repaired - self.kept


@dataclass(frozen=True)
class Turns:
    """The turns of one model.

    Attributes:
        outcomes: One for each turn.
        gaps: Of the contrast at each turn.
        changes: How much more each shell passed at the last turn than at the first.
        became: By shell.
        fresh: By shell and turn, the rate if each failed trial had been drawn again.
    """

    model: str
    outcomes: list[Outcomes]
    gaps: list[GapEstimate | None]
    changes: dict[str, RateChange]
    became: dict[str, Became]
    fresh: dict[str, list[float]]


def turns_of(rows: pd.DataFrame, first: Outcomes, study: Study) -> Turns:
    """The turns of one model's rows.

    Args:
        first: The outcomes of the first turn.
    """
    pairs, turns = gap_pairs(study.shells), study.turns
    outcomes = [first] + [
        count_outcomes(rows[rows["turn"].eq(turn)], first.tasks, first.trials, [*first.by_shell])
        for turn in range(2, turns + 1)
    ]
    gaps = [estimate_gap(each.of(*pairs[0])) for each in outcomes]
    changes = rate_changes(first, outcomes[-1], pairs)
    known = rows[rows["status"].eq("measured")]
    both = known[known["turn"].eq(1)].merge(
        known[known["turn"].eq(turns)], on=TRIAL, suffixes=("", "_last")
    )
    return Turns(
        model=str(rows["model"].iloc[0]),
        outcomes=outcomes,
        gaps=gaps,
        changes={change.what: change for change in changes if change.what in first.by_shell},
        became={shell: _became(both, first, shell) for shell in first.by_shell},
        fresh={shell: _drawn_again(counts, turns) for shell, counts in first.by_shell.items()},
    )


def _became(pairs: pd.DataFrame, first: Outcomes, shell: str) -> Became:
    own = pairs[pairs["shell"] == shell]
    was, now = own["passed"].astype(bool), own["passed_last"].astype(bool)
    failed = own[~was]
    repaired = failed["passed_last"].astype(bool)
    same = failed["command"].fillna("").eq(failed["command_last"].fillna(""))
    quiet = failed["quiet"].fillna(False).astype(bool)
    counts = zip(first.tasks, *first.by_shell[shell], strict=True)
    others = {task: Fraction(passes, n - 1) for task, passes, n in counts if 1 < n > passes}
    apart, drawn = list[Fraction](), list[Fraction]()
    for task, part in ((str(name), own) for name, own in failed.groupby("task")):
        if task in others:
            drawn += [others[task]] * len(part)
            apart.append(Fraction(int(repaired[part.index].sum()), len(part)) - others[task])
    return Became(
        failed=len(failed),
        repaired=int(repaired.sum()),
        kept=int((same & ~repaired).sum()),
        fresh=mean(drawn) if drawn else None,
        beyond=_beyond(apart, repaired, drawn),
        quiet=(int(repaired[quiet].sum()), int(quiet.sum())),
        loud=(int(repaired[~quiet].sum()), int((~quiet).sum())),
        passed=int(was.sum()),
        broken=int((was & ~now).sum()),
    )


def _beyond(
    apart: Sequence[Fraction], repaired: pd.Series, drawn: Sequence[Fraction]
) -> Beyond | None:
    if not apart:
        return None
    rates = Fraction(int(repaired.sum()), len(repaired)), mean(drawn)
    interval = task_interval(apart, near_edge=any(map(edge_of, rates)))
    return Beyond(mean(apart), interval, len(apart))


def _drawn_again(counts: ShellPasses, turns: int) -> list[float]:
    """The rate at each turn if a failed trial had been drawn again at each turn before it."""
    known = [(passes, n) for passes, n in zip(*counts, strict=True) if n > 1]

    def rate(passes: int, n: int, times: int) -> float:
        again = min(1.0, passes / (n - 1))
        return (passes + (n - passes) * (1 - (1 - again) ** times)) / n

    return [mean(rate(*each, times) for each in known) for times in range(turns)] if known else []
