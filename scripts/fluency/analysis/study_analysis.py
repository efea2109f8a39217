"""Everything about a study and each of its models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fluency.analysis import descriptive
from fluency.analysis.decision_table import Band, BandWords, band_words, plan_for, plan_sha256
from fluency.analysis.gap import GapEstimate, TableReading, apply_table, estimate_gap
from fluency.analysis.outcomes import (
    Outcomes,
    ShellPasses,
    Tally,
    cells_in,
    count_cells,
    count_outcomes,
    enough_measured,
    ordered_shells,
)
from fluency.analysis.pass_at_k import PassK, pass_k
from fluency.analysis.robustness import BriefEstimate, Sensitivity, sensitivities
from fluency.analysis.subgroups import (
    AliasPair,
    Sets,
    Subset,
    alias_pairs,
    by_set,
    without_leaning,
)
from fluency.analysis.times import ShellTimes, times
from fluency.common.errors import REBUILD_HINT, UserError
from fluency.core.shells import Condition, gap_shells
from fluency.core.study import Cell, Study
from fluency.core.tasks import Task


@dataclass(frozen=True)
class ModelAnalysis:
    """One model.

    Attributes:
        tallies: Of the study's shells, as are `composition` and `silent`.
        marks: By (task, shell), one a trial, see `trial_marks`.
        passes: Of every shell in report order; None if no task has enough measured trials.
        gap: None if no task was measured in both contrasted shells; `reading` says why.
        without: The gap without the tasks that lean to a shell.
        sets: The gap of each named set that is a part of the study's tasks.
    """

    model: str
    tallies: dict[str, Tally]
    outcomes: Outcomes
    marks: dict[tuple[str, str], tuple[str, ...]]
    passes: dict[str, ShellPasses | None]
    gap: GapEstimate | None
    reading: TableReading
    pass_k: PassK
    sensitivities: tuple[Sensitivity, ...]
    without: tuple[Subset, ...]
    sets: tuple[Subset, ...]
    composition: dict[str, descriptive.ShellComposition]
    failures: tuple[descriptive.FailureLine, ...]
    silent: dict[str, descriptive.SilentFailures]
    side_effects: tuple[Cell, ...]
    retried_cells: tuple[tuple[Cell, int, bool], ...]
    times: dict[str, ShellTimes]

    @property
    def words(self) -> dict[Band, BandWords]:
        """The decision table in words, for the shells contrasted here."""
        return band_words(self.outcomes.contrast)

    def under(self, condition: Condition) -> BriefEstimate | None:
        """The gap where a shell's answers ran again under a condition; None if not measured."""
        return next(
            (line.estimate for line in self.sensitivities if line.key == condition.name), None
        )


def analyse_model(
    rows: pd.DataFrame,
    model: str,
    shells: tuple[str, ...],
    categories: Mapping[str, str],
    trials: int,
    leans: Mapping[str, str] | None = None,
    sets: Sets | None = None,
) -> ModelAnalysis:
    """Analyse the rows of one model.

    Args:
        rows: The model's, maybe none.
        model: Its alias.
        shells: The study's.
        categories: The study's tasks in order, with their categories.
        trials: Planned of each task and shell.
        leans: The shell that a task leans to, of those that say it.
        sets: The tasks of each named set.

    Raises:
        PoolingError: The rows are of two models.
        UserError: A measured cell has no pass mark.
    """
    if broken := cells_in(rows[rows["status"].eq("measured") & rows["passed"].isna()]):
        raise UserError(
            f"{len(broken)} measured cells hold no pass mark, the first is {broken[0].path}",
            where="cells.csv: passed",
            hint=REBUILD_HINT,
        )
    tasks = tuple(categories)
    tallies = {shell: count_cells(rows, shell, tasks, trials) for shell in shells}
    outcomes = count_outcomes(rows, tasks, trials, shells)
    gap = estimate_gap(outcomes, categories)
    return ModelAnalysis(
        model=model,
        tallies=tallies,
        outcomes=outcomes,
        marks=trial_marks(rows, tasks, trials, shells),
        passes={shell: enough_measured(outcomes, shell) for shell in outcomes.by_shell},
        gap=gap,
        reading=apply_table(outcomes, gap, tallies),
        pass_k=pass_k(outcomes),
        sensitivities=sensitivities(rows, tasks, trials, shells),
        without=without_leaning(outcomes, tallies, leans or {}, categories),
        sets=by_set(outcomes, tallies, sets or {}, categories),
        composition={shell: descriptive.composition(rows, shell) for shell in shells},
        failures=descriptive.failure_lines(rows, outcomes.by_shell),
        silent={shell: descriptive.silent_failures(rows, shell) for shell in shells},
        side_effects=descriptive.side_effects(rows),
        retried_cells=descriptive.retried_cells(rows),
        times=times(rows, trials, shells),
    )


def trial_marks(
    rows: pd.DataFrame, tasks: tuple[str, ...], trials: int, shells: tuple[str, ...]
) -> dict[tuple[str, str], tuple[str, ...]]:
    """How every trial ended, by (task, shell).

    `passed`, `missing`, `not_measured`, a failure class or `unclassified`.
    """
    marks = {
        (task, shell): ["missing"] * trials for task in tasks for shell in ordered_shells(shells)
    }
    measured, failed = rows["status"].eq("measured"), rows["failure_class"].fillna("unclassified")
    ends = rows["status"].mask(measured, failed).mask(measured & rows["passed"], "passed")
    for cell, end in zip(cells_in(rows), ends, strict=True):
        if (cell.task, cell.shell) in marks and 1 <= cell.trial <= trials:
            marks[cell.task, cell.shell][cell.trial - 1] = end
    return {key: tuple(value) for key, value in marks.items()}


@dataclass(frozen=True)
class Analysis:
    """One `ModelAnalysis` a model, never pooled.

    Attributes:
        shells: The study's; `shells_shown` are those in tables.
        orders: By model, the order in which its answers were asked.
        pairs: Aliases of one model id side by side.
    """

    trials: int
    shells: tuple[str, ...]
    contrast: tuple[str, str]
    tasks: tuple[str, ...]
    categories: dict[str, str]
    models: tuple[ModelAnalysis, ...]
    orders: dict[str, descriptive.AskingOrder]
    pairs: tuple[AliasPair, ...] = ()

    @property
    def shells_shown(self) -> tuple[str, ...]:
        return ordered_shells(self.shells)

    @property
    def words(self) -> dict[Band, BandWords]:
        return band_words(self.contrast)

    @property
    def plan(self) -> dict[str, Any]:
        return plan_for(self.contrast)

    @property
    def plan_sha256(self) -> str:
        return plan_sha256(self.plan)


def analyse(
    frame: pd.DataFrame, study: Study, tasks: Sequence[Task], sets: Sets | None = None
) -> Analysis:
    """Analyse the cells table of a study; `sets` has the tasks of each named set."""
    categories: dict[str, str] = {task.id: task.category for task in tasks}
    leans: dict[str, str] = {task.id: task.lean for task in tasks if task.lean}
    shells = tuple(study.shells)
    by_model = {model.alias: frame[frame["model"] == model.alias] for model in study.models}
    models = tuple(
        analyse_model(rows, name, shells, categories, study.trials, leans, sets)
        for name, rows in by_model.items()
    )
    return Analysis(
        trials=study.trials,
        shells=shells,
        contrast=gap_shells(shells),
        tasks=tuple(categories),
        categories=categories,
        models=models,
        orders={
            name: descriptive.asking_order(rows, name, study) for name, rows in by_model.items()
        },
        pairs=alias_pairs(study.models, {model.model: model.outcomes for model in models}),
    )
