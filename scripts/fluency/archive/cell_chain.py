"""The chain of a cell, link by link: score <- execution <- generation <- answer <- request <- task, world, config."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from math import inf, isfinite
from typing import NamedTuple, cast
from urllib.parse import urlsplit

from fluency.archive.archived_study import ArchivedStudy
from fluency.archive.findings import VerifyReport
from fluency.archive.untrusted_json import parse_untrusted
from fluency.common.canonical import canonical_json, legacy_canonical_json
from fluency.common.clock import is_time, parse_time
from fluency.core.records import Execution, Generation, ImageInfo, Request, Result, Score
from fluency.core.study import Cell
from fluency.core.table import CellRecords
from fluency.core.tasks import Task
from fluency.execution.execute import extraction_of, planned_runs
from fluency.generation.budget import cost_of
from fluency.generation.failure import Failure
from fluency.generation.policies import resolve, version_headers
from fluency.generation.providers import PROVIDERS, read_reply
from fluency.generation.request import build_prompt, request_for, seed_of
from fluency.generation.store import answer_in

EXECUTING = "control"
"""The stage whose hash is of everything that executes; that of `execute` is of a list (code_hashes.py)."""
CLOCK_SKEW = timedelta(minutes=5)
"""By how much the clocks of the machines that ask and execute may differ."""


class CellFacts(NamedTuple):
    """What the relations of a cell are about; those of a record that is not there are not asked."""

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
    """Every link of one cell, as far as its records go."""
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
    if records.score is not None and records.score.task_sha256 != task.sha256:
        report.add_note(
            f"results/scores/{cell.path}.json", "judged by an earlier version of the task"
        )


def _check_answer(facts: CellFacts, report: VerifyReport) -> None:
    """It is the stored one, and the study, its tasks and the prices ask exactly its request."""
    generation, answer, study = facts.generation, facts.generation.answer, facts.archived.study
    where, key = f"results/generations/{facts.cell.path}.json", answer.request_key
    name = f"answers/{key[:2]}/{key}.json"
    with report.collecting_errors():
        document = parse_untrusted(facts.archived.unpacked.read(name), name)
        try:
            report.check(
                answer_in(document, key) == answer,
                where,
                f"its answer is not the one in {name}",
                "links",
            )
        except (ValueError, KeyError, TypeError):
            report.check(
                False, name, "it is no stored answer, or hash, request and name do not fit", "links"
            )
    prompt = build_prompt(facts.task.prompt, facts.cell.shell)
    report.check(
        answer.request.prompt == prompt,
        where,
        "the model was asked another prompt",
        "links",
        "generate",
    )
    with report.collecting_errors(facts.cell.path):
        forms = forms_of(request_for(study, facts.cell, prompt))
        report.check(
            answer.request in forms, where, "the study asks another request", "links", "generate"
        )
        policy = resolve(study.model(facts.cell.model))
        price = policy.price_of(answer.transport)
        stated = (generation.cost_usd, generation.price, generation.temperature_requested)
        holds = stated == (
            cost_of(policy, answer),
            price and price.model_dump(),
            policy.temperature_requested,
        )
        report.check(
            holds, where, "price, cost or temperature are not the policy's", "links", "generate"
        )
    if generation.task_sha256 != facts.task.sha256:
        report.add_note(where, "asked with an earlier version of the task; the prompt is the same")


def forms_of(request: Request) -> Iterator[Request]:
    """A request as this and earlier versions asked it.

    The embedded model was asked by the Messages wire before there were others, and its seed followed from another text
    in schema 1.
    """
    yield request
    if request.seed is not None:
        headers = version_headers("messages", request.temperature) | request.headers
        older = request.model_copy(update={"wire": "messages", "headers": headers})
        for asked in (request, older):
            for form in (canonical_json, legacy_canonical_json):
                yield asked.model_copy(update={"seed": seed_of(asked, form)})


def _reading_fits(facts: CellFacts) -> bool:
    answer = facts.generation.answer
    try:
        read = read_reply(answer.request, answer.raw)
    except Failure:
        return False
    names = ("outcome", "text", "stop_reason", "model_echoed", "usage")
    return all(getattr(read, name) == getattr(answer, name) for name in names)


def _server_fits(facts: CellFacts) -> bool:
    """A service of its wire's own answers where it is; a user's own server may have moved."""
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
    same = execution.limits.model_copy(update={"timeout_s": limits.timeout_s}) == limits
    return same and execution.timeout_s == limits.timeout_s[facts.cell.shell]


def is_archived_image(archived: ArchivedStudy, image: ImageInfo) -> bool:
    """Whether an image is the one in results/image.json; its record has grown, and what both say is compared."""
    stated = archived.image_file.image if archived.image_file else image
    return all(
        getattr(image, key) == getattr(stated, key)
        for key in image.model_fields_set & stated.model_fields_set
    )


def _is_in_time(facts: CellFacts, time: object, earliest: str = "") -> bool:
    """Whether something was done by the archive's day, and not before another time."""
    if not is_time(time):
        return False
    done, day = parse_time(str(time)), parse_time(facts.archived.unpacked.manifest.utc_date)
    return done < day + timedelta(days=1) and (
        not is_time(earliest) or done + CLOCK_SKEW >= parse_time(earliest)
    )


def _are_plausible(*numbers: float | None) -> bool:
    return all(number is None or (isfinite(number) and number >= 0) for number in numbers)


def _is_result_plausible(result: Result) -> bool:
    used = result.used
    sizes = (used.peak_rss_bytes, used.peak_memory_bytes, used.peak_processes, used.written_bytes)
    return _are_plausible(result.wall_s, used.cpu_s, *sizes) and (
        result.exit_code is None or result.signal is None
    )


def _is_size_right(result: Result) -> bool:
    """Whether each stream holds as many bytes as it says, or fewer where it was cut."""
    try:
        sizes = [(stream, len(stream.raw())) for stream in (result.stdout, result.stderr)]
    except ValueError:  # no base64
        return False
    return all(
        stream.bytes > kept if stream.truncated else stream.bytes == kept for stream, kept in sizes
    )


# fmt: off
RELATIONS: dict[str, tuple[Relation, ...]] = {
    "generations": (
        Relation(lambda c: _is_in_time(c, c.generation.answer.received_utc),
                 "it came after the archive's day, or at no time"),
        Relation(lambda c: c.generation.answer.request.trial == c.cell.trial, "its request is of another trial"),
        Relation(lambda c: _are_plausible(
            c.generation.answer.latency_s, c.generation.cost_usd, c.generation.answer.attempts - 1,
            *dict(c.generation.answer.usage).values(),
        ), "a time, count or cost is negative or infinite"),
        Relation(_server_fits, "another server than the model's answered"),
        Relation(_reading_fits, "text, outcome or usage are not those of the raw message", "generate"),
    ),
    "executions": (
        Relation(lambda c: _is_in_time(c, c.execution.provenance.get("utc"), c.generation.answer.received_utc),
                 "it ran before its answer came, after the archive's day, or at no time"),
        Relation(lambda c: c.execution.request_key == c.generation.answer.request_key, "it executed another answer"),
        Relation(lambda c: c.execution.extraction == extraction_of(c.generation), "it ran another command", EXECUTING),
        Relation(lambda c: (c.execution.not_measured is None) == bool(c.execution.image.shells.get(c.cell.shell)),
                 "whether it could be measured does not follow from its image"),
        Relation(_runs_fit, "its runs are not the study's worlds and conditions", EXECUTING),
        Relation(_worlds_fit, "it ran in other worlds"),
        Relation(_limits_fit, "its limits are not the study's"),
        Relation(lambda c: is_archived_image(c.archived, c.execution.image),
                 "its image is not the one in results/image.json"),
        Relation(lambda c: c.execution.attempts >= bool(c.execution.runs), "it ran without an attempt"),
        Relation(lambda c: all(_is_result_plausible(run.result) for run in c.execution.runs),
                 "a time or size is negative or infinite, or it ended twice"),
        Relation(lambda c: all(_is_size_right(run.result) for run in c.execution.runs),
                 "the size of an output is not that of its data"),
        Relation(lambda c: min((r.result.wall_s for r in c.execution.runs if r.result.timed_out), default=inf)
                 >= c.execution.timeout_s - 0.001,
                 "it was stopped before its deadline"),
    ),
    "scores": (
        Relation(lambda c: c.score.request_key == c.generation.answer.request_key, "it judges another answer"),
    ),
}
# fmt: on
"""Stage -> what must hold of its record."""
