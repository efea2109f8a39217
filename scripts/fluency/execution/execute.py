"""A cell's command in all worlds and conditions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fluency import __version__
from fluency.common.files import pretty_json, write_atomic
from fluency.core.grammar import condition_applies
from fluency.core.records import Execution, Extraction, Generation, Reading, Run
from fluency.core.shells import AS_DESIGNED, SHELLS, ConditionName
from fluency.core.study import Study
from fluency.core.tasks import Task
from fluency.execution.extract import extract
from fluency.execution.protocol import Invocation
from fluency.world import World

if TYPE_CHECKING:
    from fluency.execution.sandbox import Sandbox

MAX_ATTEMPTS = 3


def failed_attempts(path: Path, key: str) -> list[str]:
    """Why each earlier attempt at a cell failed; none if the file is of another `key`, or damaged."""
    try:
        kept = json.loads(path.read_bytes())
        return [str(why) for why in kept["failed"]] if kept["key"] == key else []
    except (OSError, ValueError, KeyError, TypeError):
        return []


def add_failed_attempt(path: Path, key: str, why: str) -> list[str]:
    """Write one more failed attempt into the file; returns them all."""
    failed = [*failed_attempts(path, key), why]
    write_atomic(path, pretty_json({"key": key, "failed": failed}))
    return failed


def execute_cell(
    study: Study,
    task: Task,
    generation: Generation,
    sandbox: Sandbox,
    world_for: Callable[[Task, int], World],
    utc: str,
    attempt: int = 1,
) -> Execution:
    """The execution record of a generated cell; SandboxError leaves the cell missing."""
    shell = generation.cell.shell
    limits = study.sandbox.limits
    reason = missing_shell_reason(sandbox, shell)
    runs = []
    for reading, command, condition in (
        [] if reason else planned_runs(study, shell, extraction_of(generation))
    ):
        for seed in study.seeds:
            world = world_for(task, seed)
            invocation = Invocation(
                shell, command, world, limits, limits.timeout_s[shell], task.needs, condition
            )
            result = sandbox.run(invocation)
            runs.append(
                Run(
                    seed=seed,
                    world_sha256=world.sha256,
                    condition=condition,
                    reading=reading,
                    result=result,
                )
            )
    attempts = attempt - 1 + bool(runs)
    return _record(
        study, generation, sandbox, utc, runs=runs, not_measured=reason, attempts=attempts
    )


def unmeasured_cell(
    study: Study, generation: Generation, sandbox: Sandbox, utc: str, failed: Sequence[str]
) -> Execution:
    """The record of a cell that is not tried again, since every attempt at it failed."""
    why = (
        f"its command was started {len(failed)} times, and no result came back: {'; '.join(failed)}"
    )
    return _record(study, generation, sandbox, utc, runs=[], attempts=len(failed), unmeasured=why)


def _record(
    study: Study, generation: Generation, sandbox: Sandbox, utc: str, **measured: Any
) -> Execution:
    limits = study.sandbox.limits
    return Execution(
        cell=generation.cell,
        request_key=generation.answer.request_key,
        extraction=extraction_of(generation),
        image=sandbox.image,
        limits=limits,
        timeout_s=limits.timeout_s[generation.cell.shell],
        engine=sandbox.engine,
        provenance={"utc": utc, "version": __version__},
        **measured,
    )


def extraction_of(generation: Generation) -> Extraction:
    """The command as read strictly and leniently; an answer that is not `ok` has none."""
    if generation.answer.outcome != "ok":
        return Extraction(strict=None, lenient=None, notes=[f"outcome {generation.answer.outcome}"])
    return extract(generation.answer.text)


def planned_runs(
    study: Study, shell: str, extraction: Extraction
) -> Iterator[tuple[Reading, str, ConditionName]]:
    """What is executed in each world: the headline first, then the extra conditions and the lenient reading."""
    if extraction.strict is not None:
        yield "strict", extraction.strict, AS_DESIGNED.name
        for condition in SHELLS[shell].conditions:
            if condition.name in study.conditions and condition_applies(
                condition, SHELLS[shell], extraction.strict
            ):
                yield "strict", extraction.strict, condition.name
    if extraction.lenient is not None and extraction.lenient != extraction.strict:
        yield "lenient", extraction.lenient, AS_DESIGNED.name


def missing_shell_reason(sandbox: Sandbox, shell: str) -> str | None:
    """Why a shell cannot be measured in this sandbox's image, or None."""
    why = sandbox.why_missing(shell)
    return None if why is None else f"the sandbox image holds no {SHELLS[shell].title}: {why}"
