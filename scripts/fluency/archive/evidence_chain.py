"""The chain of a cell, link by link: score <- execution <- generation <- answer <- request <- task, world, config."""

from __future__ import annotations

from pydantic import ValidationError

from fluency.archive.archived_study import ArchivedStudy
from fluency.archive.findings import Findings
from fluency.archive.untrusted_json import strict_json
from fluency.common.canonical import canonical_json, hashes_to, legacy_canonical_json
from fluency.common.clock import is_time
from fluency.common.errors import ArchiveError
from fluency.core.records import Answer, Execution, Generation, ImageInfo, Request, Score
from fluency.core.schema import SCHEMA_VERSION
from fluency.core.study import Cell, ModelConfig
from fluency.core.table import CellRecords
from fluency.core.tasks import Task
from fluency.execution.execute import extraction_of, planned_runs
from fluency.generation.budget import cost_of
from fluency.generation.failure import Failure
from fluency.generation.policies import resolve, version_headers
from fluency.generation.providers import read_reply
from fluency.generation.request import PREAMBLES, build_prompt, request_for, seed_of

EXECUTING = "control"
"""The stage whose hash is of everything that executes; that of `execute` is of a list (code_hashes.py)."""


class EvidenceChain:
    """Checks the links of every cell of an archive and notes what does not hold."""

    def __init__(self, archived: ArchivedStudy, findings: Findings, image: ImageInfo | None) -> None:
        self._archived = archived
        self._image = image
        self._study = archived.study
        self._findings = findings

    def check(self, cell: Cell, task: Task, records: CellRecords) -> None:
        """Every link of one cell, as far as its records go."""
        generation, execution, score = records
        if generation is not None:
            self._answer(cell, generation)
            self._request(cell, task, generation)
            self._reading(cell, generation)
        if execution is not None and generation is not None:
            self._execution(cell, task, generation, execution)
        if score is not None and generation is not None:
            self._score(cell, task, generation, score)

    def _link(self, holds: bool, stage: str, cell: Cell, what: str, layer: str | None = None) -> bool:
        where = f"results/{stage}/{cell.path}.json"
        return self._findings.check(holds, where, what, kind="links", layer=layer)

    def _answer(self, cell: Cell, generation: Generation) -> None:
        """The record holds the stored answer, whose file carries its own hash."""
        key = generation.answer.request_key
        self._link(is_time(generation.answer.received_utc), "generations", cell, "it was received at no time there is")
        self._link(generation.cell == cell, "generations", cell, "it is the record of another cell")
        where = f"answers/{key[:2]}/{key}.json"
        if not (self._archived.root / where).is_file():
            self._link(False, "generations", cell, f"the archive does not hold its answer {key[:16]}…")
            return
        with self._findings.noting_errors():
            stored = stored_answer((self._archived.root / where).read_bytes(), key, where)
            self._link(stored == generation.answer, "generations", cell, f"its answer is not the one in {where}")

    def _request(self, cell: Cell, task: Task, generation: Generation) -> None:
        """The study, its tasks and the prices ask exactly this request."""
        answer = generation.answer
        prompt = self._prompt(cell, task, answer.request.prompt)
        self._link(
            answer.request.prompt == prompt, "generations", cell, "the model was asked another prompt", "request"
        )
        self._link(answer.request.trial == cell.trial, "generations", cell, "its request is of another trial")
        with self._findings.noting_errors(cell.path):
            model = self._study.model(cell.model)
            forms = forms_of(request_for(self._study, cell, prompt), model)
            self._link(answer.request in forms, "generations", cell, "the study asks another request", "generate")
            policy = resolve(model)
            price = policy.price_of(answer.transport)
            holds = (
                generation.cost_usd == cost_of(policy, answer)
                and generation.price == (None if price is None else price.model_dump())
                and generation.temperature_requested == policy.temperature_requested
            )
            self._link(holds, "generations", cell, "price, cost or temperature are not the policy's", "generate")
        if generation.task_sha256 != task.sha256:
            self._earlier(cell, "generations", "asked with an earlier version of the task; the prompt is the same")

    def _prompt(self, cell: Cell, task: Task, asked: str) -> str:
        """What the cell is asked: the present prompt, or in an archive of other code the earlier one that it sent."""
        if "generate" not in self._findings.layers and asked in (
            build_prompt(task.prompt, cell.shell, preamble) for preamble in PREAMBLES[:-1]
        ):
            self._findings.remark("results/generations", "asked with an earlier version of the prompt")
            return asked
        return build_prompt(task.prompt, cell.shell)

    def _reading(self, cell: Cell, generation: Generation) -> None:
        """What the answer says of itself follows from the message as the server sent it."""
        answer = generation.answer
        try:
            read = read_reply(answer.request, answer.raw)
            holds = (read.outcome, read.text, read.stop_reason, read.model_echoed, read.usage) == (
                answer.outcome,
                answer.text,
                answer.stop_reason,
                answer.model_echoed,
                answer.usage,
            )
        except Failure:
            holds = False
        self._link(holds, "generations", cell, "text, outcome or usage are not those of the raw message", "generate")

    def _execution(self, cell: Cell, task: Task, generation: Generation, execution: Execution) -> None:
        """What ran is this answer's command, in the study's worlds, under its limits, in the archived image."""
        study = self._study
        self._link(execution.cell == cell, "executions", cell, "it is the record of another cell")
        self._link(is_time(execution.provenance.get("utc")), "executions", cell, "it ran at no time there is")
        same = execution.request_key == generation.answer.request_key
        self._link(same, "executions", cell, "it executed another answer")
        extraction = extraction_of(generation)
        self._link(execution.extraction == extraction, "executions", cell, "it ran another command", EXECUTING)
        held = bool(execution.image.shells.get(cell.shell))
        same = (execution.not_measured is None) == held
        self._link(same, "executions", cell, "whether it could be measured does not follow from its image")
        unrun = execution.not_measured or execution.unmeasured
        plan = [] if unrun else list(planned_runs(study, cell.shell, execution.extraction))
        wanted = {(seed, condition, reading) for reading, _, condition in plan for seed in study.seeds}
        ran = [(run.seed, run.condition, run.reading) for run in execution.runs]
        complete = len(ran) == len(set(ran)) and set(ran) == wanted
        self._link(complete, "executions", cell, "its runs are not the study's worlds and conditions", EXECUTING)
        for run in execution.runs:
            if run.seed in study.seeds:
                world = self._archived.world(task, run.seed)
                self._link(run.world_sha256 == world.sha256, "executions", cell, f"world {run.seed} was another one")
        limits = study.sandbox.limits
        held = (
            execution.timeout_s == limits.timeout_s[cell.shell]
            and execution.limits.model_copy(update={"timeout_s": limits.timeout_s}) == limits
        )
        self._link(held, "executions", cell, "its limits are not the study's")
        if self._image is not None:
            # An image's record has grown: what both say of it is held against each other.
            both = execution.image.model_fields_set & self._image.model_fields_set
            same = all(getattr(execution.image, key) == getattr(self._image, key) for key in both)
            self._link(same, "executions", cell, "its image is not the one in results/image.json")

    def _score(self, cell: Cell, task: Task, generation: Generation, score: Score) -> None:
        """The score names this cell, this answer and this task; `rebuild` makes the score itself anew."""
        self._link(score.cell == cell, "scores", cell, "it is the record of another cell")
        same = score.request_key == generation.answer.request_key
        self._link(same, "scores", cell, "it judges another answer")
        if score.task_sha256 != task.sha256:
            self._earlier(cell, "scores", "judged by an earlier version of the task")

    def _earlier(self, cell: Cell, stage: str, what: str) -> None:
        self._findings.remark(f"results/{stage}/{cell.path}.json", what)


def forms_of(request: Request, model: ModelConfig) -> list[Request]:
    """A request as this and earlier versions asked it.

    A run could decide to send no temperature. The embedded model was asked by the Messages wire before there were
    others, and its seed followed from another text in schema 1.
    """
    if request.seed is None:
        without = {"temperature": None, "headers": request.headers | version_headers(model.wire, None)}
        is_either = model.on_refused_temperature == "provider-default"
        return [request, request.model_copy(update=without)] if is_either else [request]
    headers = version_headers("messages", request.temperature) | request.headers
    older = request.model_copy(update={"wire": "messages", "headers": headers})
    return [
        asked.model_copy(update={"seed": seed_of(asked, form)})
        for asked in (request, older)
        for form in (canonical_json, legacy_canonical_json)
    ]


def stored_answer(data: bytes, key: str, where: str) -> Answer:
    """An answer from its file, held against its name and its own hash; ArchiveError says what does not fit."""
    try:
        value = strict_json(data, where)
        body = value["answer"]
        unaltered = hashes_to(body, value["sha256"])
        asked = hashes_to(body["request"], key) and key == body["request_key"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ArchiveError("this is no stored answer", where=where) from None
    if not unaltered:
        raise ArchiveError("the answer's hash does not fit its content", where=where)
    if not asked:
        raise ArchiveError("it answers another request than its name says", where=where)
    version = body.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise ArchiveError(f"it is of schema {version}, this version reads up to {SCHEMA_VERSION}", where=where)
    try:
        return Answer.model_validate(body)
    except ValidationError as error:
        raise ArchiveError(f"it does not fit the schema: {error.errors()[0]['msg']}", where=where) from None
