"""Playback: an archive's answers and outputs through the functions that make a study. Pure.

answer → generation, recorded results → execution → score. The result is compared with what is
stored; `FIELDS` says how each field of a record is checked.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import inf
from typing import Any, Literal

from fluency.common.errors import ArchiveError, UserError
from fluency.common.files import sha256
from fluency.core.code_hashes import code_sha256
from fluency.core.provenance import is_later
from fluency.core.records import (
    Answer,
    Control,
    ControlRun,
    Execution,
    Generation,
    ImageInfo,
    Result,
    Run,
    Score,
    WorldScore,
)
from fluency.core.schema import FrozenModel
from fluency.core.study import Cell, Limits, Study
from fluency.core.table import RECORD_TYPES, CellRecords, cell_record
from fluency.core.task_world import WorldFor, expected_in
from fluency.core.tasks import Task
from fluency.execution.execute import MAX_ATTEMPTS, execute_cell, why_ended
from fluency.execution.protocol import PATIENCE, Invocation
from fluency.generation.conversation import request_after, shown_of
from fluency.generation.failure import Failure
from fluency.generation.generator import CONTEXT_FULL, generation_of, not_asked
from fluency.generation.policies import resolve
from fluency.generation.providers import answer_to
from fluency.generation.request import build_prompt, planned_after, request_for
from fluency.scoring.score_cell import score_cell

Kind = Literal["recomputed", "worded", "equal", "stated", "code"]
FIELDS: Mapping[type[FrozenModel], Mapping[Kind, str]] = {
    Answer: {
        "recomputed": "request_key request outcome text raw stop_reason model_echoed usage",
        "stated": "request_id latency_s attempts received_utc server client",
    },
    Generation: {
        "recomputed": "cell answer temperature_requested cost_usd ended",
        "stated": "price",
        "code": "task_sha256 provenance",
    },
    Execution: {
        "recomputed": "cell request_key extraction runs not_measured repeats",
        "equal": "image engine limits timeout_s",
        "stated": "attempts unmeasured",
        "code": "provenance",
    },
    Run: {"recomputed": "seed world_sha256 condition reading", "stated": "result"},
    Score: {
        "recomputed": "cell request_key passed structural_pass exit_ok content_ok lenient_passed "
        "passed_under worlds not_measured",
        "worded": "failure_class why make_up",
        "code": "task_sha256 provenance",
    },
    WorldScore: {
        "recomputed": "seed condition reading exit_ok structural content passed unasked wall_s",
        "worded": "why expected left",
    },
    Control: {"recomputed": "runs", "stated": "not_measured"},
    ControlRun: {
        "recomputed": "task shell kind command passed",
        "worded": "why",
        "stated": "results",
    },
}
"""Record -> how its fields are checked. recomputed: by the code of this checkout; worded: too, but
it may differ at a later commit; equal: to the one source in the archive; stated: within bounds;
code: which version made it."""
LATE_S = 10.0
"""By how much the end of a command that is killed may pass its deadline."""


def stated(record: FrozenModel) -> dict[str, Any]:
    """The fields of a record that only the archive can give."""
    return {name: getattr(record, name) for name in FIELDS[type(record)].get("stated", "").split()}


def differences(made: FrozenModel, stored: FrozenModel) -> Iterator[tuple[Kind, str, str]]:
    """How each field is checked that was made differently, its name, and a sentence."""
    for kind, names in FIELDS[type(made)].items():
        for name in names.split():
            ours, theirs = getattr(made, name), getattr(stored, name)
            if ours == theirs:
                continue
            mine, found = _records(ours), _records(theirs)
            if not mine or len(mine) != len(found):
                yield kind, name, f"`{name}` is {_short(theirs)}, recomputed {_short(ours)}"
            for pair in zip(mine, found, strict=False):
                yield from differences(*pair)
            if kind == "code" and isinstance(ours, dict) and ours.keys() != theirs.keys():
                yield "recomputed", name, f"`{name}` has other keys"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


def _records(value: Any) -> list[FrozenModel]:
    values = value if isinstance(value, list) else [value]
    return [one for one in values if type(one) in FIELDS]


class Player:
    """In place of the sandbox: the results that an execution holds, in the order of making."""

    def __init__(
        self, shell: str, stored: Execution, image: ImageInfo, engine: dict[str, Any]
    ) -> None:
        self.images, self.engine = {shell: image}, engine
        self._missing = stored.not_measured or "not in the image"
        self._results = iter([run.result for run in stored.runs])

    def why_missing(self, shell: str) -> str | None:
        """The stated reason, if the image lacks the shell."""
        return None if self.images[shell].shells.get(shell) else self._missing

    def run(self, _: Invocation) -> Result:
        """The next result; ArchiveError after the last."""
        if result := next(self._results, None):
            return result
        raise ArchiveError("it lacks runs that the study plans")


Differ = Callable[[str, Kind, str], None]
"""Takes a record's file, how its field is checked, and in a sentence what differs."""


def play(
    study: Study,
    task: Task,
    cell: Cell,
    stored: CellRecords,
    player: Player | None,
    world_for: WorldFor,
    differ: Differ,
    before: CellRecords | None,
) -> CellRecords:
    """What a cell's records give; None from the stage on that cannot be played.

    Args:
        player: of the execution; None without one.
        before: the history from the turn before; None for the first turn.
    """
    made = list[Any]()

    def keep(stage: str, played: FrozenModel, record: FrozenModel) -> None:
        made.append(played)
        for kind, _, what in differences(played, record):
            differ(f"results/{cell_record(stage, cell)}", kind, what)

    try:
        if stored.generation:
            played = play_generation(study, task, cell, stored.generation, world_for, before)
            keep("generations", played, stored.generation)
        if stored.generation and stored.execution and player:
            earlier = before.execution if before else None
            ran = play_execution(study, task, played, stored.execution, player, world_for, earlier)
            keep("executions", ran, stored.execution)
            planned = {*FIELDS[Execution]["recomputed"].split()} - {"request_key"}
            if any(getattr(ran, name) != getattr(stored.execution, name) for name in planned):
                made.pop()  # this checkout plans other runs than the results have
            elif stored.score:
                score = play_score(study, task, played, ran, world_for)
                keep("scores", score, stored.score)
    except UserError as error:
        stage = [*RECORD_TYPES][len(made)]
        differ(f"results/{cell_record(stage, cell)}", "recomputed", error.what)
    return CellRecords(*made, *[None] * (len(RECORD_TYPES) - len(made)))


def play_generation(
    study: Study,
    task: Task,
    cell: Cell,
    stored: Generation,
    world_for: WorldFor,
    before: CellRecords | None = None,
) -> Generation:
    """The generation that the archived message gives; ArchiveError if it is not an answer.

    Args:
        before: the records of the turn before; None for the first turn.
    """
    policy = replace(resolve(study.model(cell.model)), price=stored.price)
    request = request_for(study, cell, build_prompt(task.prompt, cell.shell))
    if before:
        if not (before.generation and before.execution):
            raise ArchiveError("the turn before it is not there, or cannot be played")
        why = why_ended(before.generation, before.execution)
        if why or stored.ended == CONTEXT_FULL:
            return not_asked(before.generation, cell, why or CONTEXT_FULL)
        world = world_for(task, study.seeds[0]).sha256
        planned = planned_after(before.generation.answer.request, world)
        shown = shown_of(before.execution)
        if is_later(before.execution, stored.answer) and (earlier := stored.answer.request.earlier):
            shown = earlier.shown or shown
        request = request_after(before.generation.answer, planned, shown, cell.shell)
    try:
        answer = answer_to(request, stored.answer.raw, **stated(stored.answer))
    except Failure as error:
        raise ArchiveError(f"the raw message is not an answer: {error.what}") from None
    return generation_of(cell, policy, answer, task.sha256)


def play_execution(
    study: Study,
    task: Task,
    generation: Generation,
    stored: Execution,
    player: Player,
    world_for: WorldFor,
    before: Execution | None,
) -> Execution:
    """The execution that the archived results give; ArchiveError if some are lacking.

    `before` is of the turn before.
    """
    utc = str(stored.provenance.get("utc"))
    failed = [""] * MAX_ATTEMPTS if stored.unmeasured else []
    made = execute_cell(study, task, generation, player, world_for, utc, failed, before)
    return made if made.repeats else made.model_copy(update=stated(stored))


def play_score(
    study: Study,
    task: Task,
    generation: Generation,
    execution: Execution,
    world_for: WorldFor,
) -> Score:
    """The score of records; a UserError names this checkout's task if that fails."""
    try:
        code = code_sha256("score")
        return score_cell(study, task, generation, execution, world_for, code)
    except UserError:
        for seed in study.seeds:
            expected_in(task, seed)
        raise


def is_result_possible(result: Result, timeout_s: float, limits: Limits) -> bool:
    """Whether a result's numbers agree with each other and with the limits of its execution."""
    try:
        kept = [(stream, len(stream.raw())) for stream in (result.stdout, result.stderr)]
        states = result.state if isinstance(result.state, list) else []
        files = [(one, one.content) for one in states if one.content and one.content.data]
        if any(sha256(content.raw()) != one.sha256 for one, content in files):
            return False
    except ValueError:  # not base64
        return False
    ended = result.exit_code is not None or result.signal is not None
    return (
        are_possible(result.wall_s, *dict(result.used).values())
        and (result.exit_code is None or result.signal is None)
        and not (result.lost and (ended or any(size for _, size in kept)))
        and result.wall_s <= PATIENCE * timeout_s + LATE_S
        and (not result.timed_out or result.wall_s >= timeout_s - 0.001)
        and all(
            size <= limits.output_bytes
            and (stream.bytes > size if stream.truncated else stream.bytes == size)
            for stream, size in kept
        )
    )


def are_possible(*numbers: float | None) -> bool:
    """Whether known numbers are neither negative nor infinite."""
    return all(number is None or 0 <= number < inf for number in numbers)
