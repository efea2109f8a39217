"""The chain of a cell: score, execution, generation, answer, request; task, world, study."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from math import inf

from fluency.archive.archived_study import ArchivedStudy
from fluency.archive.findings import VerifyReport
from fluency.archive.pack import answer_name
from fluency.archive.untrusted_json import parse_untrusted
from fluency.common.clock import is_time, parse_time
from fluency.common.errors import UserError
from fluency.core.code_hashes import code_sha256
from fluency.core.records import Execution, Generation, Result, Score
from fluency.core.shells import SHELLS
from fluency.core.study import Cell
from fluency.core.table import RECORD_TYPES, CellRecords
from fluency.core.tasks import Task
from fluency.execution.execute import extraction_of, planned_runs
from fluency.execution.protocol import PATIENCE
from fluency.generation.budget import cost_of
from fluency.generation.failure import Failure
from fluency.generation.policies import resolve
from fluency.generation.providers import read_reply
from fluency.generation.request import build_prompt, request_for
from fluency.generation.store import answer_in
from fluency.scoring.score_cell import score_cell

EXECUTING = "control"
"""The stage whose hash is of everything that executes; the hash of `execute` is of a list."""
LATE_S = 10.0
"""By how much the end of a command that is killed may pass its deadline."""
Check = Callable[..., bool]
"""`VerifyReport.check` of one file."""


def check_cell(
    archived: ArchivedStudy, report: VerifyReport, cell: Cell, records: CellRecords
) -> None:
    """Check every link of one cell, as far as its records go, and judge it again."""
    generation, execution, score = records
    checks = [partial(report.check, f"results/{stage}/{cell.path}.json") for stage in RECORD_TYPES]
    held = [record is not None for record in records]
    report.check(
        cell.path,
        held == sorted(held, reverse=True),
        "it has a record without the one that this is made from",
    )
    if generation is None:
        return
    key = generation.answer.request_key
    for check, record in zip(checks, records, strict=True):
        if record:
            check(record.cell == cell, "it is the record of another cell")
            check(getattr(record, "request_key", key) == key, "it is about another answer")
    _check_generation(archived, checks[0], generation, cell)
    if execution:
        _check_execution(archived, report, checks[1], generation, execution)
        if score:
            _check_score(archived, report, checks[2], generation, execution, score)
    task = archived.task_of[cell.task]
    if {generation.task_sha256, (score or generation).task_sha256} != {task.sha256}:
        report.add(
            "note",
            f"tasks/{task.id}",
            f"records were made with another version of the task {task.id}",
        )


def _check_generation(
    archived: ArchivedStudy, check: Check, generation: Generation, cell: Cell
) -> None:
    """Its answer is the stored one, to the study's request, and says what the message says."""
    study, task, answer = archived.study, archived.task_of[cell.task], generation.answer
    asked, name = answer.request, answer_name(answer.request_key)
    document = parse_untrusted(archived.read_json(name), name)
    try:
        check(
            answer_in(document, answer.request_key) == answer,
            f"its answer is not the one in {name}",
        )
    except (ValueError, KeyError, TypeError):
        check(False, f"{name} is not a stored answer, or hash, request and name do not fit")
    check(
        task.prompt.strip() in asked.prompt and SHELLS[cell.shell].prompt_line in asked.prompt,
        "its prompt lacks the task or the line about the shell",
    )
    check(asked.trial == cell.trial, "its request is of another trial")
    check(
        _time(answer.received_utc) < _end_of_day(archived),
        "it came after the archive's day, or at no time",
    )
    numbers = (answer.latency_s, generation.cost_usd, answer.attempts - 1)
    check(
        _are_plausible(*numbers, *dict(answer.usage).values()),
        "a time, count or cost is negative or infinite",
    )
    policy = resolve(study.model(cell.model))
    made = {
        "prompt": (asked.prompt, build_prompt(task.prompt, cell.shell)),
        "request": (asked, request_for(study, cell, asked.prompt)),
        "price": (generation.price, policy.price),
        "cost": (generation.cost_usd, cost_of(policy, answer)),
        "temperature": (generation.temperature_requested, policy.temperature_requested),
    }
    try:
        read = read_reply(asked, answer.raw)
        for name in ("outcome", "text", "stop_reason", "model_echoed", "usage"):
            made[name] = (getattr(answer, name), getattr(read, name))
    except Failure as error:
        made["message"] = (answer.raw, str(error))
    for name, (stated, ours) in made.items():
        check(stated == ours, f"study, policy and raw message give another {name}", "generate")


def _check_execution(
    archived: ArchivedStudy,
    report: VerifyReport,
    check: Check,
    generation: Generation,
    execution: Execution,
) -> None:
    """The answer's command ran in the study's worlds, image and limits."""
    study, cell, runs = archived.study, generation.cell, execution.runs
    limits, timeout_s = study.sandbox.limits, execution.timeout_s
    answered, ran = map(_time, (generation.answer.received_utc, execution.provenance.get("utc")))
    if ran < answered.replace(microsecond=0):  # an execution is timed to the second
        report.add(
            "note",
            "results/executions",
            "some executions are timed before their answers: a clock was set back",
        )
    check(
        answered - timedelta(days=1) <= ran < _end_of_day(archived),
        "it ran more than a day before its answer, after the archive's day, or never",
    )
    check(execution.extraction == extraction_of(generation), "it ran another command", EXECUTING)
    unrun = execution.not_measured or execution.unmeasured
    plan = () if unrun else planned_runs(study, cell.shell, execution.extraction)
    wanted = [(seed, condition, reading) for reading, _, condition in plan for seed in study.seeds]
    check(
        sorted((run.seed, run.condition, run.reading) for run in runs) == sorted(wanted),
        "its runs are not the study's worlds and conditions",
        EXECUTING,
    )
    task = archived.task_of[cell.task]
    worlds = {seed: archived.world(task, seed).sha256 for seed in study.seeds}
    check(all(run.world_sha256 == worlds.get(run.seed) for run in runs), "it ran in other worlds")
    check(
        (execution.not_measured is None) == bool(execution.image.shells.get(cell.shell)),
        "whether it could be measured does not follow from its image",
    )
    check(
        execution.limits == limits and timeout_s == limits.timeout_s[cell.shell],
        "its limits are not the study's",
    )
    check(archived.is_its_image(execution.image), "its image is not the one in results/image.json")
    plausible = execution.attempts >= bool(runs) and all(
        is_result_plausible(run.result, timeout_s, limits.output_bytes) for run in runs
    )
    check(plausible, "a time, count, size or ending contradicts itself or the limits")


def _time(stated: object) -> datetime:
    """The time that a record states; one that no check accepts, if it states none."""
    return parse_time(str(stated)) if is_time(stated) else datetime.max.replace(tzinfo=UTC)


def _end_of_day(archived: ArchivedStudy) -> datetime:
    return parse_time(archived.unpacked.manifest.utc_date) + timedelta(days=1)


def _are_plausible(*numbers: float | None) -> bool:
    return all(number is None or 0 <= number < inf for number in numbers)


def is_result_plausible(result: Result, timeout_s: float, output_bytes: int) -> bool:
    """Whether a result's numbers agree with each other and with the limits of its execution."""
    try:
        kept = [(stream, len(stream.raw())) for stream in (result.stdout, result.stderr)]
    except ValueError:  # not base64
        return False
    return (
        _are_plausible(result.wall_s, *dict(result.used).values())
        and (result.exit_code is None or result.signal is None)
        and result.wall_s <= PATIENCE * timeout_s + LATE_S
        and (not result.timed_out or result.wall_s >= timeout_s - 0.001)
        and all(
            size <= output_bytes
            and (stream.bytes > size if stream.truncated else stream.bytes == size)
            for stream, size in kept
        )
    )


def rescored(
    archived: ArchivedStudy, task: Task, generation: Generation, execution: Execution
) -> Score:
    """Score an execution by this checkout's code in the archived world."""
    code = code_sha256("score")
    return score_cell(archived.study, task, generation, execution, archived.world, code)


def _check_score(
    archived: ArchivedStudy,
    report: VerifyReport,
    check: Check,
    generation: Generation,
    execution: Execution,
    stated: Score,
) -> None:
    """Judge a cell again: by the same code its score is the same, by other code its marks are."""
    task = archived.task_of[generation.cell.task]
    if task.id not in archived.judged_here:
        report.add(
            "NOT CHECKED",
            f"tasks/{task.id}",
            "its code or check is not this checkout's, so its cells were not judged",
            "scores",
        )
        return
    check = partial(check, stage="score", aspect="scores")
    try:
        made = rescored(archived, task, generation, execution)
    except UserError as error:
        check(False, f"it cannot be judged: {error.what}")
        return
    same = _marks(made) == _marks(stated)
    if made.provenance == stated.provenance:
        same = made.model_copy(update={"task_sha256": stated.task_sha256}) == stated
    check(same, f"judged again it is {_in_words(made)}, archived as {_in_words(stated)}")


def _marks(score: Score) -> list[object]:
    """What of a score says whether something passes; the rest puts it into words."""
    worlds = [(run.seed, run.condition, run.reading, run.passed) for run in score.worlds]
    passes = {**dict(score), **score.passed_under}
    return [sorted(worlds), {name: one for name, one in passes.items() if isinstance(one, bool)}]


def _in_words(score: Score) -> str:
    if score.passed is None:
        return "not measured"
    return "passed" if score.passed else f"failed ({score.failure_class}: {score.why[:80]})"
