"""Where a study's numbers come from: one document, collected from its records."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from operator import not_
from pathlib import Path
from typing import Any

from pydantic import Field

from fluency import __version__
from fluency.common.clock import is_time, parse_time
from fluency.common.errors import UserError
from fluency.common.files import JsonObject, read_json, sha256_file
from fluency.common.git import git_state
from fluency.common.paths import ROOT
from fluency.common.source_hash import library_versions
from fluency.common.words import plural
from fluency.core.records import Answer, Execution, Generation, ImageInfo
from fluency.core.schema import Commit, Digest, FrozenModel, Record, UtcTime, read_record
from fluency.core.shells import ConditionName
from fluency.core.study import Limits, Price, Study, total_usd
from fluency.core.table import CellRecords, image_path
from fluency.core.tasks import Task


class Registered(FrozenModel):
    """The registration file a study follows."""

    path: str
    """Relative to the project."""
    sha256: Digest | None = None
    """Of the file."""
    utc: str | None = None
    """When it was made, by that machine's clock; null: it does not say."""
    commit: Commit | None = None
    """Of the checkout it was made in; null where git knew none."""
    dirty: bool | None = None
    """Whether that checkout's tracked files differed from the commit."""
    siblings: dict[str, Digest] = Field({}, exclude_if=not_)
    """The others in its folder with a model and half of the tasks of it -> SHA-256."""
    others_before: int = Field(0, exclude_if=not_)
    """Further ones whose hashes it holds, as made before it."""
    refuted: list[str] = Field([], exclude_if=not_)
    """What it says of its time and commit, and git knows better."""
    unproven: list[str] = Field([], exclude_if=not_)
    """What git here cannot tell."""

    @property
    def among(self) -> str:
        """How many others there are; empty without others."""
        same = f"one of {len(self.siblings) + 1} registrations that name the same models and tasks"
        earlier = plural(self.others_before, "earlier registration")
        others = f"{earlier} of other models or tasks, or no longer there"
        said = {same: self.siblings, others: self.others_before}
        return "; ".join(text for text, number in said.items() if number)

    def precedes(self, first_answer_utc: UtcTime | None) -> bool | None:
        """Whether it was made before the first answer came; None if either time is not known."""
        if self.utc is None:
            return None
        try:
            return first_answer_utc is None or parse_time(self.utc) < parse_time(first_answer_utc)
        except ValueError:
            return None


class Sampling(FrozenModel):
    """What one model was sent and what came back; a list has the distinct values."""

    id: list[str] = []
    """The provider's name of the model, as sent."""
    echoed: list[str] = []
    """The name that came back."""
    temperature_requested: list[str] = []
    """A number, or provider-default."""
    temperature_sent: list[str] = []
    """A number, or provider-default: none was sent."""
    max_tokens: list[int] = []
    """As sent."""
    thinking: list[JsonObject | None] = []
    """As sent; null: none was."""
    effort: list[str] = []
    """As sent; empty: none was."""
    extra_body: list[JsonObject] = []
    """Further body fields, as sent."""
    headers: list[dict[str, str]] = []
    """Further headers, as sent."""
    server: list[str] = []
    """Hosts of the endpoint, or embedded."""
    client: list[str] = []
    """SDKs and their versions."""
    wire: list[str] = []
    """The protocols that carried the requests."""
    tool: list[str] = Field([], exclude_if=not_)
    """Names of the tools whose call was forced."""
    answers: int = 0
    """Number of answers."""
    input_tokens: int = 0
    """Of all answers; what was not counted is 0."""
    output_tokens: int = 0
    """Of all answers; what was not counted is 0."""
    cost_usd: float | None = None
    """Of the answers with a price; null: none has one."""
    price: list[Price] = []
    """What the answers were priced by."""


class Provenance(Record):
    """`results/<study>/provenance.json`, from the records; null and empty are unknown."""

    commit: Commit | None = None
    """Of the checkout that gathered it; null where git knows none."""
    dirty: bool | None = None
    """Whether its tracked files differed from the commit."""
    version: str | None = None
    """Of this project."""
    versions: dict[str, str] = {}
    """Python and libraries -> their versions when it was gathered."""
    lock_sha256: Digest | None = None
    """Of the file that pins the libraries."""
    config_files: dict[str, Digest] = {}
    """Configuration file -> SHA-256."""
    decision: str | None = None
    """The decision the study is for; null: none, exploratory."""
    registration: Registered | None = None
    """Null: the study follows none."""
    deviations: list[str] = []
    """Departures from the registration, one sentence each."""
    task_sha256: dict[str, Digest] = {}
    """Task -> SHA-256 of its files."""
    worlds: dict[str, list[Digest]] = {}
    """Seed -> SHA-256 of its worlds; tasks may extend a world."""
    conditions: list[ConditionName] = []
    """What commands ran under."""
    limits: list[Limits] = []
    """What an execution was allowed."""
    images: list[ImageInfo] = []
    """The images commands ran in."""
    engines: list[JsonObject] = []
    """The container engines and their machines."""
    start_up_s: dict[str, float | None] = {}
    """Shell -> seconds of an empty command in the image."""
    sampling: dict[str, Sampling] = {}
    """Model -> what it was sent and what came back."""
    messages: int = Field(0, exclude_if=not_)
    """Number of later turns' messages, which show what a command did."""
    messages_earlier: int = Field(0, exclude_if=not_)
    """Of them those that show an earlier execution than the record that there is."""
    spent_usd: float | None = None
    """Of all answers with a price; null: none has one."""
    first_answer_utc: UtcTime | None = None
    """Of the earliest answer; null: no answer yet."""
    started_utc: UtcTime | None = None
    """The earliest answer or execution."""
    ended_utc: UtcTime | None = None
    """The latest answer or execution."""


def read_provenance(path: Path) -> Provenance:
    """A study's provenance from its file; UserError if it cannot be read."""
    return read_record(Provenance, path)


LIBRARIES = [
    "snakemake",
    "anthropic",
    "openai",
    "docker",
    "xllamacpp",
    "pandas",
    "numpy",
    "scipy",
    "jinja2",
]
MAX_DISTINCT = 1000
"""Distinct values of one field: a study has fewer, and each is compared with every cell's."""


def _merge(found: JsonObject, more: Mapping[str, Any]) -> None:
    """Add what a record says: lists hold distinct values, numbers add up, floats as dollars.

    Raises:
        UserError: A field has too many distinct values.
    """
    for field, value in more.items():
        if isinstance(value, dict):
            _merge(found.setdefault(field, {}), value)
        elif isinstance(value, list):
            kept = found.setdefault(field, [])
            kept += [one for one in value if one not in kept]
            if len(kept) > MAX_DISTINCT:
                what = f"it has more than {MAX_DISTINCT:,} distinct values"
                raise UserError(what, where=field, hint="check the records")
        elif isinstance(value, float):
            found[field] = total_usd([found.get(field), value])
        elif value is not None:
            found[field] = found.get(field, 0) + value


def _in_order(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _in_order(part) for name, part in value.items()}
    if isinstance(value, list):
        return sorted(value, key=lambda one: (str([*getattr(one, "shells", ())]), str(one)))
    return round(value, 6)


def is_later(execution: Execution, answer: Answer) -> bool:
    """Whether an execution began after an answer came, which was shown an earlier one."""
    utc = execution.provenance.get("utc")
    return is_time(utc) and parse_time(str(utc)) > parse_time(answer.received_utc)


class ProvenanceCollector:
    """Collects a study's provenance from the records of its cells."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._found: JsonObject = {"sampling": {model.alias: {} for model in study.models}}
        self._answered, self._executed = list[str](), list[str]()
        self._before: Execution | None = None

    def add(self, records: CellRecords) -> None:
        """Take in what the records of one cell say; its turns come in order."""
        generation = records.generation
        if generation and not generation.ended:
            self._answered.append(generation.answer.received_utc)
            sent = {generation.cell.model: _sampling(generation)}
            _merge(self._found, {"sampling": sent, "spent_usd": generation.cost_usd})
            if generation.answer.request.earlier and self._before:
                earlier = is_later(self._before, generation.answer)
                _merge(self._found, {"messages": 1, "messages_earlier": int(earlier)})
        if execution := records.execution:
            if isinstance(utc := execution.provenance.get("utc"), str):
                self._executed.append(utc)
            ran = {"images": [execution.image], "engines": [execution.engine]}
            _merge(self._found, {"limits": [execution.limits], **ran})
            for run in execution.runs:
                worlds = {str(run.seed): [run.world_sha256]}
                _merge(self._found, {"conditions": [run.condition], "worlds": worlds})
        self._before = records.execution

    def provenance(
        self, tasks: Sequence[Task], start_up_s: Mapping[str, float | None], **checkout: Any
    ) -> Provenance:
        """The provenance of what was added, as far as the study is measured.

        Args:
            start_up_s: shell -> seconds of an empty command.
            checkout: what `of_checkout` says of the one that gathers.
        """
        times = self._answered + self._executed
        return Provenance(
            **checkout,
            decision=self.study.decision or None,
            task_sha256={task.id: task.sha256 for task in tasks},
            start_up_s=dict(start_up_s),
            first_answer_utc=min(self._answered, default=None),
            started_utc=min(times, default=None),
            ended_utc=max(times, default=None),
            **_in_order(self._found),
        )


def of_checkout(files: Iterable[Path]) -> JsonObject:
    """What a provenance says of the checkout that gathers it, and of its configuration's files."""
    commit, dirty = git_state()
    return {
        "commit": commit,
        "dirty": dirty,
        "version": __version__,
        "versions": {"python": sys.version.split()[0]} | library_versions(LIBRARIES),
        "lock_sha256": sha256_file(ROOT / "envs" / "requirements.lock"),
        "config_files": {_relative(file): sha256_file(file) for file in files},
    }


_AS_SENT = ("max_tokens", "thinking", "extra_body", "headers", "wire")


def _sampling(generation: Generation) -> JsonObject:
    """The fields of a `Sampling` of one answer."""
    answer, request, usage = generation.answer, generation.answer.request, generation.answer.usage
    known = {
        "echoed": answer.model_echoed,
        "effort": request.effort,
        "tool": request.tool and request.tool.name,
        "price": generation.price,
    }
    return {
        "id": [request.model_id],
        "temperature_requested": [str(generation.temperature_requested)],
        "temperature_sent": [request.temperature_text],
        **{field: [getattr(request, field)] for field in _AS_SENT},
        "server": [answer.server],
        "client": [answer.client],
        "answers": 1,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": generation.cost_usd,
        **{field: [value] for field, value in known.items() if value},
    }


def read_startup_times(results: Path, shells: Iterable[str]) -> dict[str, float | None]:
    """Shell -> seconds of an empty command, from the records of the images that there are."""
    paths = [path for path in (image_path(results, shell) for shell in shells) if path.exists()]
    return {shell: s for path in paths for shell, s in read_json(path)["start_up_s"].items()}


def _relative(path: Path) -> str:
    """Only the name where it is outside of the project."""
    path = path.absolute()
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
