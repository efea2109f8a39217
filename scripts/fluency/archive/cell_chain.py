"""The chain of a cell: score, execution, generation, answer, request; task, world, configuration."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from math import isfinite
from typing import NamedTuple, cast
from urllib.parse import urlsplit

from fluency.archive.archived_study import ArchivedStudy
from fluency.archive.findings import VerifyReport
from fluency.archive.untrusted_json import parse_untrusted
from fluency.common.clock import is_time, parse_time
from fluency.core.records import Execution, Generation, ImageInfo, Result, Score
from fluency.core.study import Cell
from fluency.core.table import CellRecords
from fluency.core.tasks import Task
from fluency.execution.execute import extraction_of, planned_runs
from fluency.generation.budget import cost_of
from fluency.generation.failure import Failure
from fluency.generation.policies import resolve
from fluency.generation.providers import PROVIDERS, read_reply
from fluency.generation.request import build_prompt, request_for
from fluency.generation.store import answer_in

EXECUTING = "control"
"""The stage whose hash is of everything that executes; that of `execute` is of a list."""
LATE_S = 10.0
"""By how much the end of a command that is killed may pass its deadline."""


class CellFacts(NamedTuple):
    """A cell's records; those that are missing are never looked at."""

    archived: ArchivedStudy
    cell: Cell
    task: Task
    generation: Generation
    execution: Execution
    score: Score


class Relation(NamedTuple):
    """What must hold of a record; `code`: the stage by whose code it is decided."""

    holds: Callable[[CellFacts], bool]
    what: str
    code: str | None = None


def check_cell(
    archived: ArchivedStudy, report: VerifyReport, cell: Cell, task: Task, records: CellRecords
) -> None:
    """Check every link of one cell, as far as its records go."""
    if records.generation is None:
        return
    facts = CellFacts(archived, cell, task, *cast("tuple[Generation, Execution, Score]", records))
    _check_answer(facts, report)
    for record, (stage, relations) in zip(records, RELATIONS.items(), strict=True):
        if record is None:
            continue
        where = f"results/{stage}/{cell.path}.json"
        report.check(record.cell == cell, where, "it is the record of another cell", "links")
        for relation in relations:
            report.check(relation.holds(facts), where, relation.what, "links", relation.code)
    if records.execution and not _is_after_answer(facts):
        what = "some executions are timed before their answers: a clock was set back"
        report.add("note", "results/executions", what)
    stages = [stage for stage, record in zip(RELATIONS, records, strict=True) if record]
    if any(
        record and getattr(record, "task_sha256", task.sha256) != task.sha256 for record in records
    ):
        report.add(
            "note", f"results/{stages[-1]}", f"made with another version of the task {task.id}"
        )


def _check_answer(facts: CellFacts, report: VerifyReport) -> None:
    """The answer is the stored one, and the study, its tasks and prices ask exactly its request."""
    generation, answer, study = facts.generation, facts.generation.answer, facts.archived.study
    where, key = f"results/generations/{facts.cell.path}.json", answer.request_key
    name = f"answers/{key[:2]}/{key}.json"
    with report.collecting_errors():
        document = parse_untrusted(facts.archived.unpacked.read(name), name)
        try:
            same = answer_in(document, key) == answer
            report.check(same, where, f"its answer is not the one in {name}", "links")
        except (ValueError, KeyError, TypeError):
            what = "it is not a stored answer, or hash, request and name do not fit"
            report.check(False, name, what, "links")
    prompt = build_prompt(facts.task.prompt, facts.cell.shell)
    same, what = answer.request.prompt == prompt, "the model was asked another prompt"
    report.check(same, where, what, "links", "generate")
    with report.collecting_errors(facts.cell.path):
        same = answer.request == request_for(study, facts.cell, prompt)
        report.check(same, where, "the study asks another request", "links", "generate")
        policy = resolve(study.model(facts.cell.model))
        stated = (generation.cost_usd, generation.price, generation.temperature_requested)
        made = (
            cost_of(policy, answer),
            policy.price,
            policy.temperature_requested,
        )
        what = "price, cost or temperature are not the policy's"
        report.check(stated == made, where, what, "links", "generate")


def _reading_fits(facts: CellFacts) -> bool:
    answer = facts.generation.answer
    try:
        read = read_reply(answer.request, answer.raw)
    except Failure:
        return False
    names = ("outcome", "text", "stop_reason", "model_echoed", "usage")
    return all(getattr(read, name) == getattr(answer, name) for name in names)


def _server_fits(facts: CellFacts) -> bool:
    """A service is asked at its own address; a user's own server may have moved."""
    model, server = facts.archived.study.model(facts.cell.model), facts.generation.answer.server
    if model.served_by == "embedded" or model.base_url:
        return (server == "embedded") == (model.served_by == "embedded")
    address, _ = PROVIDERS[model.wire].address(model, None, "base_url")
    return server == (urlsplit(address).hostname or address)


def _runs_fit(facts: CellFacts) -> bool:
    execution, study = facts.execution, facts.archived.study
    unrun = execution.not_measured or execution.unmeasured
    plan = [] if unrun else list(planned_runs(study, facts.cell.shell, execution.extraction))
    wanted = {(seed, condition, reading) for reading, _, condition in plan for seed in study.seeds}
    ran = [(run.seed, run.condition, run.reading) for run in execution.runs]
    return len(ran) == len(set(ran)) and set(ran) == wanted


def _worlds_fit(facts: CellFacts) -> bool:
    runs = [run for run in facts.execution.runs if run.seed in facts.archived.study.seeds]
    return all(
        run.world_sha256 == facts.archived.world(facts.task, run.seed).sha256 for run in runs
    )


def _limits_fit(facts: CellFacts) -> bool:
    execution, limits = facts.execution, facts.archived.study.sandbox.limits
    return execution.limits == limits and execution.timeout_s == limits.timeout_s[facts.cell.shell]


def is_archived_image(archived: ArchivedStudy, image: ImageInfo) -> bool:
    """Whether an image is the one in results/image.json."""
    return archived.image_file is None or archived.image_file.image == image


def _is_in_time(facts: CellFacts, time: object) -> bool:
    """Whether something was done by the end of the archive's day."""
    day = parse_time(facts.archived.unpacked.manifest.utc_date)
    return is_time(time) and parse_time(str(time)) < day + timedelta(days=1)


def _is_after_answer(facts: CellFacts, tolerance: timedelta = timedelta()) -> bool:
    ran, answered = facts.execution.provenance.get("utc"), facts.generation.answer.received_utc
    if not (is_time(ran) and is_time(answered)):
        return False
    return parse_time(str(ran)) + tolerance >= parse_time(answered)


def _are_plausible(*numbers: float | None) -> bool:
    return all(number is None or (isfinite(number) and number >= 0) for number in numbers)


def is_result_plausible(result: Result, timeout_s: float, output_bytes: int) -> bool:
    """Whether a result's numbers agree with each other and with the limits of its execution."""
    used = result.used
    sizes = (used.peak_rss_bytes, used.peak_memory_bytes, used.peak_processes, used.written_bytes)
    try:
        kept = [(stream, len(stream.raw())) for stream in (result.stdout, result.stderr)]
    except ValueError:  # not base64
        return False
    return (
        _are_plausible(result.wall_s, used.cpu_s, *sizes)
        and (result.exit_code is None or result.signal is None)
        and result.wall_s <= timeout_s + LATE_S
        and (not result.timed_out or result.wall_s >= timeout_s - 0.001)
        and all(size <= output_bytes for _, size in kept)
        and all(
            stream.bytes > size if stream.truncated else stream.bytes == size
            for stream, size in kept
        )
    )


# fmt: off
RELATIONS: dict[str, tuple[Relation, ...]] = {
    "generations": (
        Relation(lambda c: _is_in_time(c, c.generation.answer.received_utc),
                 "it came after the archive's day, or at no time"),
        Relation(lambda c: c.generation.answer.request.trial == c.cell.trial,
                 "its request is of another trial"),
        Relation(lambda c: _are_plausible(
            c.generation.answer.latency_s, c.generation.cost_usd, c.generation.answer.attempts - 1,
            *dict(c.generation.answer.usage).values(),
        ), "a time, count or cost is negative or infinite"),
        Relation(_server_fits, "another server than the model's answered"),
        Relation(_reading_fits, "text, outcome or usage are not those of the raw message",
                 "generate"),
    ),
    "executions": (
        Relation(lambda c: _is_in_time(c, c.execution.provenance.get("utc"))
                 and _is_after_answer(c, timedelta(days=1)),
                 "it ran more than a day before its answer came, after the archive's day, or at no "
                 "time"),
        Relation(lambda c: c.execution.request_key == c.generation.answer.request_key,
                 "it executed another answer"),
        Relation(lambda c: c.execution.extraction == extraction_of(c.generation),
                 "it ran another command", EXECUTING),
        Relation(lambda c: (c.execution.not_measured is None)
                 == bool(c.execution.image.shells.get(c.cell.shell)),
                 "whether it could be measured does not follow from its image"),
        Relation(_runs_fit, "its runs are not the study's worlds and conditions", EXECUTING),
        Relation(_worlds_fit, "it ran in other worlds"),
        Relation(_limits_fit, "its limits are not the study's"),
        Relation(lambda c: is_archived_image(c.archived, c.execution.image),
                 "its image is not the one in results/image.json"),
        Relation(lambda c: c.execution.attempts >= bool(c.execution.runs),
                 "it ran without an attempt"),
        Relation(lambda c: all(
            is_result_plausible(run.result, c.execution.timeout_s, c.execution.limits.output_bytes)
            for run in c.execution.runs
        ), "a time, size or ending contradicts itself or the limits"),
    ),
    "scores": (
        Relation(lambda c: c.score.request_key == c.generation.answer.request_key,
                 "it judges another answer"),
    ),
}
# fmt: on
"""Stage -> what must hold of its record."""
