"""A cell's command in all worlds and conditions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from fluency import __version__
from fluency.common.files import pretty_json, write_atomic
from fluency.core.grammar import condition_applies
from fluency.core.records import Execution, Extraction, Generation, ImageInfo, Reading, Result, Run
from fluency.core.shells import AS_DESIGNED, SHELLS, ConditionName
from fluency.core.study import Study
from fluency.core.tasks import Task
from fluency.execution.extract import extract
from fluency.execution.protocol import Invocation
from fluency.world import World

MOST_ATTEMPTS = 3


class Attempts:
    """The failed attempts at one cell, in a file; they count while `key`, all that decides the result, is the same."""

    def __init__(self, path: Path, key: str) -> None:
        self.path, self._key = path, key

    @property
    def failed(self) -> list[str]:
        """Why each failed, in order."""
        try:
            kept = json.loads(self.path.read_bytes())
            return [str(why) for why in kept["failed"]] if kept["key"] == self._key else []
        except (OSError, ValueError, KeyError, TypeError):
            return []

    def add(self, why: str) -> list[str]:
        """Keep one more; returns them all."""
        failed = [*self.failed, why]
        write_atomic(self.path, pretty_json({"key": self._key, "failed": failed}))
        return failed


def gave_up(failed: Sequence[str]) -> str | None:
    """Why a cell is not tried again, or None while it has attempts left."""
    if len(failed) < MOST_ATTEMPTS:
        return None
    return f"its command was started {len(failed)} times, and no result came back: {'; '.join(failed)}"


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
    extraction = extraction_of(generation)
    reason = missing_shell_reason(sandbox, shell)
    limits = study.sandbox.limits
    timeout_s = limits.timeout_s[shell]
    runs = []
    given_up = gave_up(failed)
    for reading, command, condition in [] if reason or given_up else planned_runs(study, shell, extraction):
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


def extraction_of(generation: Generation) -> Extraction:
    """The command as read strictly and leniently; an answer that is not `ok` holds none."""
    if generation.answer.outcome != "ok":
        return Extraction(strict=None, lenient=None, notes=[f"outcome {generation.answer.outcome}"])
    return extract(generation.answer.text)


def planned_runs(study: Study, shell: str, extraction: Extraction) -> Iterator[tuple[Reading, str, ConditionName]]:
    """What is executed in each world: the headline first, then what is reported beside it."""
    if extraction.strict is not None:
        yield "strict", extraction.strict, AS_DESIGNED.name
        for condition in SHELLS[shell].conditions:
            if condition.name in study.conditions and condition_applies(condition, SHELLS[shell], extraction.strict):
                yield "strict", extraction.strict, condition.name
    if extraction.lenient is not None and extraction.lenient != extraction.strict:
        yield "lenient", extraction.lenient, AS_DESIGNED.name


def missing_shell_reason(sandbox: Executor, shell: str) -> str | None:
    """Why an arm cannot be measured in this sandbox's image, or None."""
    why = sandbox.why_missing(shell)
    return None if why is None else f"the sandbox image holds no {SHELLS[shell].title}: {why}"
