"""The scorer: the study's verdict on a model's answer."""

from __future__ import annotations

from typing import Any

import anyio.to_thread
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState

from fluency.core.records import Outcome
from fluency.core.table import side_effects_of
from fluency.core.tasks import load_tasks
from fluency_inspect.measure import measured, study_of

_OUTCOMES: dict[str, Outcome] = {
    "content_filter": "refusal",
    "max_tokens": "truncated",
    "model_length": "truncated",
}


@scorer(metrics=[accuracy(), stderr()])
def verdict(seeds: list[int]) -> Scorer:
    """Right if the command, verbatim, exits 0 with the right answer in every world of these seeds.

    A command that could not be measured is an error of the sample, which `--retry-on-error` tries
    again. A shell that the image lacks has no score and says why.
    """

    async def score(state: TaskState, target: Target) -> Score:
        (task,) = load_tasks([state.metadata["task"]])
        study = study_of(state.metadata["shell"], [task.id], seeds)
        text = state.output.completion
        outcome = _OUTCOMES.get(state.output.stop_reason, "ok" if text.strip() else "empty")
        execution, found = await anyio.to_thread.run_sync(
            measured, study, task, text, outcome, state.epoch
        )
        details = {"failure_class": found.failure_class}
        details["side_effects"] = side_effects_of(execution)
        details["worlds"] = [world.model_dump(mode="json") for world in found.worlds]
        return score_of(found.passed, execution.extraction.strict, found.why, details)

    return score


def score_of(
    value: bool | None, answer: str | None, why: str | None, details: dict[str, Any] | None = None
) -> Score:
    """Inspect's C or I; unscored where the study has no value."""
    if value is None:
        return Score.unscored(
            reason="not-measured", answer=answer, explanation=why, metadata=details
        )
    return Score(
        value=CORRECT if value else INCORRECT, answer=answer, explanation=why, metadata=details
    )
