"""The second stage: run a cell's command in every world and condition, and record what happened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from fluency import __version__
from fluency.core.conditions import AS_DESIGNED, ConditionName
from fluency.core.grammar import applies
from fluency.core.records import Execution, Extraction, Generation, ImageInfo, Reading, Result, Run
from fluency.core.shells import SHELLS
from fluency.core.study import Study
from fluency.core.tasks import Task
from fluency.execution.attempts import gave_up
from fluency.execution.command import extract
from fluency.execution.invocation import Invocation
from fluency.world import World


class Executor(Protocol):
    """What this stage needs of a sandbox."""

    image: ImageInfo
    engine: dict[str, Any]

    def run(self, invocation: Invocation) -> Result:
        """One command in one fresh container; SandboxError when it could not be measured."""

    def why_missing(self, shell: str) -> str | None:
        """Why the image holds no such shell; None if it does."""


def execute_cell(
    study: Study,
    task: Task,
    generation: Generation,
    sandbox: Executor,
    world_for: Callable[[Task, int], World],
    utc: str,
    failed: Sequence[str] = (),
) -> Execution:
    """The execution record of a generated cell; SandboxError leaves the cell missing.

    `failed` says why each earlier attempt at it failed; after the last that it has, nothing is run any more.
    """
    shell = generation.cell.shell
    extraction = readings_of(generation)
    reason = unmeasured(sandbox, shell)
    limits = study.sandbox.limits
    timeout_s = limits.timeout_s[shell]
    runs = []
    given_up = gave_up(failed)
    for reading, command, condition in [] if reason or given_up else planned(study, shell, extraction):
        for seed in study.seeds:
            world = world_for(task, seed)
            result = sandbox.run(Invocation(shell, command, world, limits, timeout_s, task.needs, condition))
            runs.append(Run(seed=seed, world_sha256=world.sha256, condition=condition, reading=reading, result=result))
    return Execution(
        cell=generation.cell,
        request_key=generation.answer.request_key,
        extraction=extraction,
        runs=runs,
        not_measured=reason,
        attempts=len(failed) + bool(runs),
        unmeasured=given_up,
        image=sandbox.image,
        limits=limits,
        timeout_s=timeout_s,
        engine=sandbox.engine,
        provenance={"utc": utc, "version": __version__},
    )


def readings_of(generation: Generation) -> Extraction:
    """The command as read strictly and leniently; an answer that is not `ok` holds none."""
    if generation.answer.outcome != "ok":
        return Extraction(strict=None, lenient=None, notes=[f"outcome {generation.answer.outcome}"])
    return extract(generation.answer.text)


def planned(study: Study, shell: str, extraction: Extraction) -> Iterator[tuple[Reading, str, ConditionName]]:
    """What is executed in each world: the headline first, then what is reported beside it."""
    if extraction.strict is not None:
        yield "strict", extraction.strict, AS_DESIGNED.name
        for condition in SHELLS[shell].conditions:
            if condition.name in study.conditions and applies(condition, SHELLS[shell], extraction.strict):
                yield "strict", extraction.strict, condition.name
    if extraction.lenient is not None and extraction.lenient != extraction.strict:
        yield "lenient", extraction.lenient, AS_DESIGNED.name


def unmeasured(sandbox: Executor, shell: str) -> str | None:
    """Why an arm cannot be measured in this sandbox's image, or None."""
    why = sandbox.why_missing(shell)
    return None if why is None else f"the sandbox image holds no {SHELLS[shell].title}: {why}"
