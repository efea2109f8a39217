"""A cell's command in all worlds and conditions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from fluency import __version__
from fluency.common.files import pretty_json, read_json, write_atomic
from fluency.core.grammar import condition_applies
from fluency.core.records import (
    Answer,
    Execution,
    Extraction,
    Generation,
    ImageInfo,
    Reading,
    Result,
    Run,
)
from fluency.core.shells import AS_DESIGNED, SHELLS, ConditionName
from fluency.core.study import Study
from fluency.core.tasks import Task
from fluency.execution.extract import extract
from fluency.execution.protocol import Invocation
from fluency.world import World

MAX_ATTEMPTS = 3


class Runner(Protocol):
    """What gives the results: the sandbox, or the player of an archive's."""

    engine: dict[str, Any]

    @property
    def images(self) -> Mapping[str, ImageInfo]:
        """Shell -> its image."""

    def why_missing(self, shell: str) -> str | None:
        """Why a shell cannot be measured; None if it can."""

    def run(self, invocation: Invocation) -> Result:
        """The result of one command in one world."""


def failed_attempts(path: Path, key: str) -> list[str]:
    """Why each earlier attempt at a cell failed; empty if the file is missing or of another key."""
    kept = read_json(path) if path.exists() else {}
    return kept["failed"] if kept.get("key") == key else []


def add_failed_attempt(path: Path, key: str, why: str) -> list[str]:
    """Write one more failed attempt into the file; returns them all."""
    failed = [*failed_attempts(path, key), why]
    write_atomic(path, pretty_json({"key": key, "failed": failed}))
    return failed


def execute_cell(
    study: Study,
    task: Task,
    generation: Generation,
    sandbox: Runner,
    world_for: Callable[[Task, int], World],
    utc: str,
    failed: Sequence[str] = (),
    before: Execution | None = None,
) -> Execution:
    """The execution record of a generated cell; SandboxError leaves the cell missing.

    failed: why each earlier attempt failed; after too many the cell is not tried again.
    before: of the turn before, whose runs count for the same command.
    """
    shell, limits, extraction = (
        generation.cell.shell,
        study.sandbox.limits,
        extraction_of(generation.answer),
    )
    if before and (generation.ended or before.extraction.strict == extraction.strict):
        own = {"cell": generation.cell, "request_key": generation.answer.request_key}
        return before.model_copy(update={**own, "extraction": extraction, "repeats": True})
    not_measured, unmeasured = sandbox.why_missing(shell), None
    if len(failed) >= MAX_ATTEMPTS:
        times = f"its command was started {len(failed)} times"
        unmeasured = f"{times}, and no result came back: {'; '.join(failed)}"
    runs = []
    for reading, command, condition in (
        () if not_measured or unmeasured else planned_runs(study, shell, extraction)
    ):
        for seed in study.seeds:
            world, deadline_s = world_for(task, seed), limits.deadline_s(shell)
            result = sandbox.run(
                Invocation(shell, command, world, limits, deadline_s, task.needs, condition)
            )
            runs.append(
                Run(
                    seed=seed,
                    world_sha256=world.sha256,
                    condition=condition,
                    reading=reading,
                    result=result,
                )
            )
    return Execution(
        cell=generation.cell,
        request_key=generation.answer.request_key,
        extraction=extraction,
        image=sandbox.images[shell],
        limits=limits,
        timeout_s=limits.deadline_s(shell),
        engine=sandbox.engine,
        provenance={"utc": utc, "version": __version__},
        runs=runs,
        attempts=len(failed) + bool(runs),
        not_measured=not_measured,
        unmeasured=unmeasured,
    )


def why_ended(generation: Generation, execution: Execution) -> str | None:
    """Why a conversation ends with these records of a turn; None if another turn may follow."""
    outcome, runs = generation.answer.outcome, execution.runs
    ends = {
        outcome: outcome != "ok",
        "not measured": execution.not_measured or execution.unmeasured,
        "no command": execution.extraction.strict is None,
        "same command": execution.repeats,
        "result lost": any(run.result.lost for run in runs),
    }
    return generation.ended or next((why for why, holds in ends.items() if holds), None)


def ends_conversation(answer: Answer, before: Answer | None) -> bool:
    """Whether an answer has no command, or repeats the command before it."""
    command = extraction_of(answer).strict
    return command is None or (before is not None and command == extraction_of(before).strict)


def extraction_of(answer: Answer) -> Extraction:
    """The command as read strictly and leniently; an answer that is not `ok` has none."""
    if answer.outcome != "ok":
        return Extraction(strict=None, lenient=None, notes=[f"outcome {answer.outcome}"])
    return extract(answer.text)


def planned_runs(
    study: Study, shell: str, extraction: Extraction
) -> Iterator[tuple[Reading, str, ConditionName]]:
    """What is executed in each world.

    The headline first, then the extra conditions and the lenient reading.
    """
    if extraction.strict is not None:
        yield "strict", extraction.strict, AS_DESIGNED.name
        for condition in SHELLS[shell].conditions:
            if condition.name in study.conditions and condition_applies(
                condition, SHELLS[shell], extraction.strict
            ):
                yield "strict", extraction.strict, condition.name
    if extraction.lenient is not None and extraction.lenient != extraction.strict:
        yield "lenient", extraction.lenient, AS_DESIGNED.name
