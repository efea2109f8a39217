"""An answer through the study's own stages: read, run in each world, judged. No Inspect AI in here."""

from __future__ import annotations

import threading
from functools import cache

from fluency import __version__
from fluency.common.clock import utc_now
from fluency.core.records import Answer, Execution, Generation, Outcome, Score, Usage
from fluency.core.study import Cell, CellName, Study, load_study, validate_study
from fluency.core.task_world import world_for
from fluency.core.tasks import Task
from fluency.execution.execute import Executor, execute_cell
from fluency.execution.sandbox import open_sandbox
from fluency.generation.request import build_prompt, request_for, request_key
from fluency.scoring.score_cell import score_cell

_OPENING = threading.Lock()


def study_of(shell: str, tasks: list[str], seeds: list[int]) -> Study:
    """The default study with these tasks, worlds and one arm, run as designed."""
    own = {"study": "inspect", "tasks": tasks, "shells": [shell], "seeds": seeds, "conditions": ["as_designed"]}
    return validate_study(load_study().model_dump(exclude={"seeds_sealed"}) | own)


def measured(
    study: Study, task: Task, text: str, outcome: Outcome, trial: int, sandbox: Executor | None = None
) -> tuple[Execution, Score]:
    """What became of an answer; SandboxError when its command could not be measured."""
    generation = _generation(study, task, text, outcome, trial)
    execution = execute_cell(study, task, generation, sandbox or shared_sandbox(), world_for, utc_now())
    return execution, score_cell(task, generation, execution, world_for, seeds=study.seeds, conditions=study.conditions)


def shared_sandbox() -> Executor:
    """The sandbox of this process, opened by the first who asks."""
    with _OPENING:
        return _sandbox()


@cache
def _sandbox() -> Executor:
    return open_sandbox(load_study().sandbox)


def _generation(study: Study, task: Task, text: str, outcome: Outcome, trial: int) -> Generation:
    """A record of the answer, such as a study would have kept: Inspect asked for it, and keeps what it was sent."""
    cell = Cell(study.models[0].alias, study.shells[0], task.id, trial)
    request = request_for(study, cell, build_prompt(task.prompt, cell.shell))
    answer = Answer(
        request_key=request_key(request),
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
        cell=CellName.of(cell),
        answer=answer,
        temperature_requested="provider-default",
        cost_usd=None,
        price=None,
        task_sha256=task.sha256,
        provenance={},
    )
