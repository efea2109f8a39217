"""Passes and measured trials of ONE model; the only door through which the analysis sees pass marks.

Everything that computes with passes takes an `Outcomes`, and an `Outcomes` is made from rows of a single
model alias: pooling models is impossible, not merely avoided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import pandas as pd

from fluency.core.shells import SHELLS


class PoolingError(ValueError):
    """Rows of two models met in one computation. A bug of this project, never a user's mistake."""


def one_model(rows: pd.DataFrame) -> str:
    """The alias all rows share; PoolingError if they share none, or if there are no rows."""
    aliases = sorted(set(rows["model"]))
    if len(aliases) != 1:
        raise PoolingError(f"models are never pooled; these rows hold {len(aliases)}: {aliases}")
    return aliases[0]


@dataclass(frozen=True)
class Arm:
    """One shell of one model: per task (in design order) the passes and the measured trials."""

    passes: tuple[int, ...]
    scored: tuple[int, ...]

    @property
    def total_passes(self) -> int:
        """Over all tasks."""
        return sum(self.passes)

    @property
    def total_scored(self) -> int:
        """Over all tasks."""
        return sum(self.scored)


@dataclass(frozen=True)
class Outcomes:
    """Both arms of one model over the study's tasks."""

    model: str
    tasks: tuple[str, ...]
    trials: int
    bash: Arm
    pwsh: Arm

    def arm(self, shell: str) -> Arm:
        """The arm of a shell."""
        return {"bash": self.bash, "pwsh": self.pwsh}[shell]

    @property
    def enough(self) -> int:
        """Measured trials a task needs in a shell to enter: ceil(trials / 2)."""
        return ceil(self.trials / 2)

    def swapped(self) -> Outcomes:
        """The same data with the shells' names exchanged: the antisymmetry tests need it."""
        return Outcomes(self.model, self.tasks, self.trials, self.pwsh, self.bash)


@dataclass(frozen=True)
class Rate:
    """A pass@1 with its denominators: the mean over `tasks` tasks of passes / measured trials."""

    value: Fraction | None
    passes: int
    scored: int
    tasks: int


def count_outcomes(
    rows: pd.DataFrame,
    tasks: Sequence[str],
    trials: int,
    columns: Mapping[str, str] | str = "passed",
) -> Outcomes:
    """Passes and measured trials by task and shell.

    `rows` are one model's; `columns` names the mark to count, for both shells or for each. A mark that is
    unknown (null) is not measured, never a failure.
    """
    model = one_model(rows)
    column = {shell: columns if isinstance(columns, str) else columns[shell] for shell in SHELLS}
    place = {task: index for index, task in enumerate(tasks)}
    passes = {shell: [0] * len(place) for shell in SHELLS}
    scored = {shell: [0] * len(place) for shell in SHELLS}
    for shell in SHELLS:
        cells = zip(rows["shell"], rows["task"], rows["status"], rows[column[shell]], strict=True)
        for of, task, status, mark in cells:
            if of == shell and status == "measured" and task in place and not pd.isna(mark):
                passes[shell][place[task]] += int(mark)
                scored[shell][place[task]] += 1
    arms = {shell: Arm(tuple(passes[shell]), tuple(scored[shell])) for shell in SHELLS}
    return Outcomes(model, tuple(tasks), trials, arms["bash"], arms["pwsh"])


def pass_at_1(outcomes: Outcomes, shell: str) -> Rate:
    """Pass@1 of one arm alone, over the tasks with enough measured trials in it."""
    arm = outcomes.arm(shell)
    kept = [(c, n) for c, n in zip(arm.passes, arm.scored, strict=True) if n >= outcomes.enough]
    value = sum((Fraction(c, n) for c, n in kept), Fraction()) / len(kept) if kept else None
    return Rate(value, sum(c for c, _ in kept), sum(n for _, n in kept), len(kept))
