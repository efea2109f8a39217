"""The comparison of two studies: which models and tasks they share, and what differs between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fluency.common.errors import UserError
from fluency.common.paths import RESULTS
from fluency.report.compare.changes import ModelChange, model_change
from fluency.report.compare.compared_study import ComparedStudy, open_compared
from fluency.report.compare.run_differences import Difference, changed_tasks, run_differences


@dataclass(frozen=True)
class Comparison:
    """Everything `make compare` prints."""

    a: ComparedStudy
    b: ComparedStudy
    models: tuple[ModelChange, ...]
    only_a: dict[str, list[str]]
    only_b: dict[str, list[str]]
    changed_tasks: list[str]
    differences: list[Difference]


def compare(a: str, b: str, results: Path = RESULTS) -> Comparison:
    """The comparison of two studies, each a name, a folder or a cells.csv; UserError if they share no model."""
    first, second = open_compared(a, results), open_compared(b, results)
    pairs = paired_models(first.models, second.models)
    if not pairs:
        raise UserError(
            "the two studies share no model",
            where=f"{a} has {', '.join(first.models)}; {b} has {', '.join(second.models)}",
            hint="give both configurations the same alias for the models to compare",
        )
    shared = [task for task in first.tasks if task in second.tasks]
    if not shared:
        raise UserError("the two studies share no task", where=f"{a}, {b}", hint="compare studies of one task bank")
    return Comparison(
        a=first,
        b=second,
        models=tuple(model_change(first, second, x, y, shared) for x, y in pairs),
        only_a=_only(first, second, {x for x, _ in pairs}),
        only_b=_only(second, first, {y for _, y in pairs}),
        changed_tasks=changed_tasks(first, second),
        differences=run_differences(first, second, pairs),
    )


def paired_models(a: Sequence[str], b: Sequence[str]) -> list[tuple[str, str]]:
    """The models to compare: same alias; and if one is left on each side, those two, a new version of the other."""
    pairs = [(model, model) for model in a if model in b]
    left = [model for model in a if model not in b], [model for model in b if model not in a]
    return pairs + ([(left[0][0], left[1][0])] if len(left[0]) == len(left[1]) == 1 else [])


def _only(one: ComparedStudy, other: ComparedStudy, paired: set[str]) -> dict[str, list[str]]:
    return {
        "tasks": [task for task in one.tasks if task not in other.tasks],
        "models": [model for model in one.models if model not in paired],
    }
