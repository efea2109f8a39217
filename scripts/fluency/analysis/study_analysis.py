"""Everything about a study and each of its models."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fluency.analysis import descriptive
from fluency.analysis.changes import AliasPair, alias_pairs
from fluency.analysis.contrast import Contrast
from fluency.analysis.decision_table import plan_for
from fluency.analysis.outcomes import (
    Outcomes,
    Tally,
    cells_in,
    count_cells,
    count_outcomes,
)
from fluency.analysis.turns import Turns, turns_of
from fluency.common.errors import REBUILD_HINT, UserError
from fluency.core.shells import arms, gap_pairs
from fluency.core.study import Cell, Study
from fluency.core.tasks import Task

Sets = Mapping[str, Collection[str]]
"""The tasks of each named set."""


@dataclass(frozen=True)
class ModelAnalysis:
    """One model.

    Attributes:
        tallies: Of the study's shells, as is `composition`.
        ends: By (task, shell), one a trial, see `trial_ends`.
        contrasts: One for each challenger.
        unasked: Runs that removed or changed paths unasked.
        retried_cells: Those interrupted from outside: attempts, and whether the last succeeded.
        order: In which the answers were asked.
    """

    model: str
    tallies: dict[str, Tally]
    outcomes: Outcomes
    ends: dict[tuple[str, str], list[str]]
    contrasts: list[Contrast]
    pass_k: dict[str, descriptive.ShareOfTasks]
    composition: dict[str, list[descriptive.MadeOfLine]]
    failures: list[descriptive.FailureLine]
    unasked: list[tuple[Cell, int, str]]
    retried_cells: list[tuple[Cell, int, bool]]
    times: dict[str, descriptive.ShellTimes]
    order: descriptive.AskingOrder


def _analyse_model(
    rows: pd.DataFrame, model: str, study: Study, tasks: Sequence[Task], sets: Sets
) -> ModelAnalysis:
    if broken := cells_in(rows[rows["status"].eq("measured") & rows["passed"].isna()]):
        raise UserError(
            f"{len(broken)} measured cells hold no pass mark, the first is {broken[0].path}",
            where="cells.csv: passed",
            hint=REBUILD_HINT,
        )
    leans, shells, trials = {task.id: task.lean for task in tasks}, study.shells, study.trials
    tallies = {shell: count_cells(rows, shell, [*leans], trials) for shell in shells}
    outcomes = count_outcomes(rows, [*leans], trials, arms(shells))
    return ModelAnalysis(
        model=model,
        tallies=tallies,
        outcomes=outcomes,
        ends=trial_ends(rows, outcomes),
        contrasts=[
            Contrast(model, pair, rows, outcomes, tallies, leans, sets)
            for pair in gap_pairs(shells)
        ],
        pass_k=descriptive.pass_k(outcomes),
        composition={shell: descriptive.composition(rows, shell) for shell in shells},
        failures=descriptive.failure_lines(rows, outcomes.by_shell),
        unasked=descriptive.unasked_runs(rows),
        retried_cells=descriptive.retried_cells(rows),
        times=descriptive.times(rows, trials, outcomes.by_shell),
        order=descriptive.asking_order(rows, model, study),
    )


def trial_ends(rows: pd.DataFrame, outcomes: Outcomes) -> dict[tuple[str, str], list[str]]:
    """How every trial ended, by (task, shell).

    `passed`, `missing`, `not_measured`, a failure class or `unclassified`.
    """
    ends = {
        (task, shell): ["missing"] * outcomes.trials
        for task in outcomes.tasks
        for shell in outcomes.by_shell
    }
    measured, failed = rows["status"].eq("measured"), rows["failure_class"].fillna("unclassified")
    said = rows["status"].mask(measured, failed).mask(measured & rows["passed"], "passed")
    found = zip(rows["task"], rows["shell"], rows["trial"], said, strict=True)
    for task, shell, trial, end in found:
        if (task, shell) in ends and 1 <= trial <= outcomes.trials:
            ends[task, shell][trial - 1] = end
    return ends


@dataclass(frozen=True)
class Analysis:
    """One `ModelAnalysis` a model, never pooled.

    Attributes:
        categories: The study's tasks in order, with their categories.
        pairs: Aliases of one model id side by side.
        turns: Of each model, if the study has later turns.
    """

    study: Study
    categories: dict[str, str]
    models: list[ModelAnalysis]
    pairs: list[AliasPair]
    turns: list[Turns]

    @property
    def contrasts(self) -> list[Contrast]:
        """Of every model, in the study's order."""
        return [contrast for model in self.models for contrast in model.contrasts]

    @property
    def plan(self) -> dict[str, Any]:
        """The plan, by which each challenger is read."""
        return plan_for(*gap_pairs(self.study.shells))

    @property
    def shells_shown(self) -> tuple[str, ...]:
        """The shells in tables, in report order: the study's and its contrast's."""
        return tuple(self.models[0].outcomes.by_shell)


def analyse(
    frame: pd.DataFrame, study: Study, tasks: Sequence[Task], sets: Sets | None = None
) -> Analysis:
    """Analyse the cells table of a study.

    Args:
        frame: Its rows.
        study: The design.
        tasks: The study's, in order.
        sets: The tasks of each named set, of which those that are a part of the study's count.

    Raises:
        UserError: A measured cell has no pass mark.
    """
    first = frame[frame["turn"].eq(1)]
    models = [
        _analyse_model(first[first["model"] == model.alias], model.alias, study, tasks, sets or {})
        for model in study.models
    ]
    return Analysis(
        study=study,
        categories={task.id: task.category for task in tasks},
        models=models,
        pairs=alias_pairs(
            study.models,
            {model.model: model.outcomes for model in models},
            gap_pairs(study.shells),
        ),
        turns=[
            turns_of(frame[frame["model"] == own.model], own.outcomes, study)
            for own in models
            if study.turns > 1
        ],
    )
