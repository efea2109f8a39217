"""The analysis: the cells table and the design in, numbers out. Nothing here reads a file or a clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from fluency.analysis.analysis_plan import VERSION, plan_sha256
from fluency.analysis.model_analysis import ModelAnalysis, analyse_model
from fluency.core.study import Study
from fluency.core.tasks import Task

__all__ = ["Analysis", "ModelAnalysis", "analyse", "headline"]


@dataclass(frozen=True)
class Analysis:
    """A study's models side by side, each analysed alone."""

    study: str
    trials: int
    shells: tuple[str, ...]
    tasks: tuple[str, ...]
    categories: dict[str, str]
    models: tuple[ModelAnalysis, ...]
    plan_version: str
    plan_sha256: str


def analyse(frame: pd.DataFrame, study: Study, tasks: Sequence[Task]) -> Analysis:
    """Analyse the cells table of a study: one `ModelAnalysis` for each of its models, never pooled."""
    categories = {task.id: task.category for task in tasks}
    return Analysis(
        study=study.study,
        trials=study.trials,
        shells=tuple(study.shells),
        tasks=tuple(categories),
        categories=categories,
        models=tuple(
            analyse_model(
                frame[frame["model"] == model.alias], model.alias, tuple(study.shells), categories, study.trials
            )
            for model in study.models
        ),
        plan_version=VERSION,
        plan_sha256=plan_sha256(),
    )


def headline(analysis: Analysis) -> str:
    """One line a model for the terminal: gap, table verdict, uncertainty, whether it is resolved."""
    from fluency.analysis.headline import headline_of

    return "\n".join(headline_of(model) for model in analysis.models)
