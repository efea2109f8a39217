"""An answer through the study's own stages: read, run in each world, scored. Without Inspect AI."""

from __future__ import annotations

import threading
from functools import cache

from fluency import __version__
from fluency.common.clock import utc_now
from fluency.core.code_hashes import code_sha256
from fluency.core.records import Answer, Execution, Generation, Outcome, Score, Usage
from fluency.core.study import Cell, Study, read_study
from fluency.core.task_world import world_for
from fluency.core.tasks import Task
from fluency.execution.execute import execute_cell
from fluency.execution.sandbox import Sandbox, open_sandbox
from fluency.generation.request import build_prompt, request_for
from fluency.scoring.score_cell import score_cell

_OPENING = threading.Lock()


def study_of(shell: str, tasks: list[str], seeds: list[int]) -> Study:
    """The default study with these tasks, worlds and one shell, run as designed."""
    own = {"study": "inspect", "tasks": tasks, "shells": [shell], "seeds": seeds}
    return Study.model_validate(read_study().model_dump() | own | {"conditions": ["as_designed"]})


def measured(
    study: Study, task: Task, text: str, outcome: Outcome, trial: int
) -> tuple[Execution, Score]:
    """Execution and score of an answer; SandboxError if its command could not be measured."""
    generation = _generation(study, task, text, outcome, trial)
    execution = execute_cell(study, task, generation, shared_sandbox(), world_for, utc_now())
    score = score_cell(study, task, generation, execution, world_for, code_sha256("score"))
    return execution, score


def shared_sandbox() -> Sandbox:
    """The sandbox of this process, opened by the first who asks."""
    with _OPENING:
        return _sandbox()


@cache
def _sandbox() -> Sandbox:
    return open_sandbox(read_study().sandbox)


def _generation(study: Study, task: Task, text: str, outcome: Outcome, trial: int) -> Generation:
    """A record of the answer, as a study would have kept it."""
    cell = Cell(study.models[0].alias, study.shells[0], task.id, trial)
    request = request_for(study, cell, build_prompt(task.prompt, cell.shell))
    answer = Answer(
        request_key=request.key,
        request=request,
        outcome=outcome,
        text=text,
        raw={},
        usage=Usage(),
        latency_s=None,
        received_utc=utc_now(),
        server="inspect",
        client=f"fluency-inspect {__version__}",
    )
    return Generation(
        cell=cell,
        answer=answer,
        temperature_requested="provider-default",
        cost_usd=None,
        price=None,
        task_sha256=task.sha256,
        provenance={},
    )
