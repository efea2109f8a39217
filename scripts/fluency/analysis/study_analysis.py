"""Everything the report says about a study: its models side by side, each analysed alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fluency.analysis.alias_pairs import AliasPair, alias_pairs
from fluency.analysis.analysis_plan import plan_for, plan_sha256
from fluency.analysis.bands import Band, BandWords, band_words
from fluency.analysis.model_analysis import ModelAnalysis, analyse_model
from fluency.analysis.outcomes import arms_of
from fluency.core.shells import gap_shells
from fluency.core.study import Study
from fluency.core.tasks import Task


@dataclass(frozen=True)
class Analysis:
    """One `ModelAnalysis` a model, never pooled. `shells`: the study's; `arms`: those tables have a place for.

    `pairs`: aliases of one model id side by side.
    """

    study: str
    trials: int
    shells: tuple[str, ...]
    contrast: tuple[str, str]
    tasks: tuple[str, ...]
    categories: dict[str, str]
    models: tuple[ModelAnalysis, ...]
    pairs: tuple[AliasPair, ...] = ()

    @property
    def arms(self) -> tuple[str, ...]:
        """In report order."""
        return arms_of(self.shells)

    @property
    def words(self) -> dict[Band, BandWords]:
        """The decision table in words."""
        return band_words(self.contrast)

    @property
    def plan(self) -> dict[str, Any]:
        """What was fixed before the results."""
        return plan_for(self.contrast)

    @property
    def plan_sha256(self) -> str:
        """SHA-256 of `plan`."""
        return plan_sha256(self.plan)


def analyse(frame: pd.DataFrame, study: Study, tasks: Sequence[Task]) -> Analysis:
    """Analyse the cells table of a study."""
    categories: dict[str, str] = {task.id: task.category for task in tasks}
    leans: dict[str, str] = {task.id: task.lean for task in tasks if task.lean}
    shells = tuple(study.shells)
    models = tuple(
        analyse_model(frame[frame["model"] == model.alias], model.alias, shells, categories, study.trials, leans)
        for model in study.models
    )
    return Analysis(
        study=study.study,
        trials=study.trials,
        shells=shells,
        contrast=gap_shells(shells),
        tasks=tuple(categories),
        categories=categories,
        models=models,
        pairs=alias_pairs(study.models, {model.model: model.outcomes for model in models}),
    )
