"""Where a study's numbers come from: one document, collected from its records."""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import not_
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from fluency import __version__
from fluency.common.canonical import canonical_json
from fluency.common.clock import parse_time
from fluency.common.errors import REBUILD_HINT, UserError
from fluency.common.files import read_json, sha256_file
from fluency.common.git import git_state
from fluency.common.paths import ROOT
from fluency.common.source_hash import library_versions
from fluency.common.words import plural
from fluency.core.held_out import HeldOutTask
from fluency.core.records import Answer, Generation, ImageInfo
from fluency.core.schema import (
    SCHEMA_VERSION,
    Commit,
    Digest,
    FrozenModel,
    SchemaVersion,
    UtcTime,
    first_problem,
)
from fluency.core.shells import ConditionName
from fluency.core.study import Cell, Limits, Price, Study
from fluency.core.table import CellRecords
from fluency.core.tasks import Task


class Registered(FrozenModel):
    """The registration file a study follows."""

    path: str = Field(description="Relative to the project.")
    sha256: Digest | None = Field(None, description="Of the file.")
    utc: str | None = Field(
        None, description="When it was made, by that machine's clock; null: it does not say."
    )
    commit: Commit | None = Field(
        None, description="Of the checkout it was made in; null where git knew none."
    )
    dirty: bool | None = Field(
        None, description="Whether that checkout's tracked files differed from the commit."
    )
    siblings: dict[str, Digest] = Field(
        {},
        exclude_if=not_,
        description="The others in its folder with a model and half of the tasks of it -> SHA-256.",
    )
    others_before: int = Field(
        0, exclude_if=not_, description="Further ones whose hashes it holds, as made before it."
    )

    @property
    def among(self) -> str:
        """How many others there are; empty where there is none."""
        same = f"one of {len(self.siblings) + 1} registrations that name the same models and tasks"
        others = f"{plural(self.others_before, 'earlier registration')} of other models or tasks, or no longer there"
        return "; ".join([*[same] * bool(self.siblings), *[others] * bool(self.others_before)])

    def precedes(self, first_answer_utc: UtcTime | None) -> bool | None:
        """Whether it was made before the first answer came; None where either time is not known."""
        if self.utc is None:
            return None
        try:
            return first_answer_utc is None or parse_time(self.utc) < parse_time(first_answer_utc)
        except ValueError:
            return None


class Sampling(FrozenModel):
    """What one model was sent and what came back, over all its answers; each list holds the distinct values."""

    id: list[str] = Field([], description="The provider's name of the model, as sent.")
    echoed: list[str] = Field([], description="The name that came back.")
    temperature_requested: list[str] = Field([], description="A number, or provider-default.")
    temperature_sent: list[str] = Field(
        [], description="A number, or provider-default: none was sent."
    )
    max_tokens: list[int] = Field([], description="As sent.")
    thinking: list[dict[str, Any] | None] = Field([], description="As sent; null: none was.")
    effort: list[str] = Field([], description="As sent; empty: none was.")
    extra_body: list[dict[str, Any]] = Field(
        [], description="Further body fields, as sent; since schema 2."
    )
    headers: list[dict[str, str]] = Field(
        [], description="Further headers, as sent; since schema 2."
    )
    transport: list[str] = Field([], description="messages or batch.")
    server: list[str] = Field([], description="Hosts of the endpoint, or embedded.")
    client: list[str] = Field([], description="SDKs and their versions.")
    wire: list[str] = Field([], exclude_if=not_, description="Other than messages.")
    tool: list[str] = Field(
        [], exclude_if=not_, description="Names of the tools whose call was forced."
    )
    refusals: dict[str, int] = Field(
        {}, exclude_if=not_, description="Category of a refusal as the service says it -> answers."
    )
    inference_geo: dict[str, int] = Field(
        {}, exclude_if=not_, description="Where the service says that it computed -> answers."
    )
    answers: int = Field(0, description="Number of answers.")
    input_tokens: int = Field(0, description="Of all answers; what was not counted is 0.")
    output_tokens: int = Field(0, description="Of all answers; what was not counted is 0.")
    cost_usd: float | None = Field(
        None, description="Of the answers with a price; null: none has one."
    )
    price: list[Price] = Field([], description="What the answers were priced by.")


class Provenance(FrozenModel):
    """`results/<study>/provenance.json`. What was measured is read from the records; null and empty are unknown."""

    schema_version: SchemaVersion = SCHEMA_VERSION
    commit: Commit | None = Field(
        None, description="Of the checkout that gathered it; null where git knows none."
    )
    dirty: bool | None = Field(
        None, description="Whether its tracked files differed from the commit."
    )
    version: str | None = Field(None, description="Of this project.")
    versions: dict[str, str] = Field(
        {}, description="Python and libraries -> their versions when it was gathered."
    )
    lock_sha256: Digest | None = Field(None, description="Of the file that pins the libraries.")
    config_files: dict[str, Digest] = Field({}, description="Configuration file -> SHA-256.")
    decision: str | None = Field(
        None, description="The decision the study is for; null: none, exploratory."
    )
    registration: Registered | None = Field(None, description="Null: the study follows none.")
    deviations: list[str] = Field(
        [], description="Departures from the registration, one sentence each."
    )
    task_sha256: dict[str, Digest] = Field({}, description="Task -> SHA-256 of its files.")
    worlds: dict[str, list[Digest]] = Field(
        {}, description="Seed -> SHA-256 of its worlds; tasks may extend a world."
    )
    conditions: list[ConditionName] = Field(
        [], description="What commands ran under; since schema 2."
    )
    limits: list[Limits] = Field([], description="What an execution was allowed; since schema 2.")
    images: list[ImageInfo] = Field([], description="The images commands ran in.")
    engines: list[dict[str, Any]] = Field(
        [], description="The container engines and their machines."
    )
    start_up_s: dict[str, float | None] = Field(
        {}, description="Shell -> seconds of an empty command in the image."
    )
    sampling: dict[str, Sampling] = Field(
        {}, description="Model -> what it was sent and what came back."
    )
    spent_usd: float | None = Field(
        None, description="Of all answers with a price; null: none has one."
    )
    first_answer_utc: UtcTime | None = Field(
        None, description="Of the earliest answer; null: none has come, or older."
    )
    started_utc: UtcTime | None = Field(None, description="The earliest answer or execution.")
    ended_utc: UtcTime | None = Field(None, description="The latest answer or execution.")

    def in_schema_1(self) -> Provenance:
        """The record without the fields that schema 1 lacks, to be compared with one of that schema."""
        news: dict[str, Any] = {"extra_body": [], "headers": []}
        sampling = {alias: sent.model_copy(update=news) for alias, sent in self.sampling.items()}
        return self.model_copy(
            update={"schema_version": 1, "conditions": [], "limits": [], "sampling": sampling}
        )


def parse_provenance(data: bytes) -> Provenance:
    """A provenance from a file's bytes, also of schema 1, which has no version; ValueError if it is none."""
    try:
        values = json.loads(data)
        if isinstance(values, dict) and "schema_version" not in values:
            values = _from_schema_1(values)
        return Provenance.model_validate(values)
    except ValidationError as error:
        raise ValueError(first_problem(error)) from None
    except (AttributeError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{type(error).__name__} {error}") from None


def read_provenance(path: Path) -> Provenance:
    """A study's provenance from its file; UserError if it cannot be read."""
    try:
        return parse_provenance(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise UserError(
            f"this is no provenance: {error}", where=str(path), hint=REBUILD_HINT
        ) from None


def _from_schema_1(old: dict[str, Any]) -> dict[str, Any]:
    """The older document in today's keys. It had one image or engine plain, and documents of a list as JSON texts."""
    new = {"schema_version": 1} | {
        key: value for key, value in old.items() if key not in ("image", "engine")
    }
    new["images"] = _plain_or_all(old.get("image") or {})
    new["engines"] = _plain_or_all(old.get("engine") or {})
    new["worlds"] = {seed: hashes.split(", ") for seed, hashes in (old.get("worlds") or {}).items()}
    new["sampling"] = {
        alias: sent
        | {
            key: sorted(map(json.loads, sent[key]), key=canonical_json)
            for key in ("thinking", "price")
        }
        for alias, sent in (old.get("sampling") or {}).items()
    }
    return {key: value for key, value in new.items() if value is not None}


def _plain_or_all(value: dict[str, Any]) -> list[Any]:
    several = value and all(isinstance(item, dict) for item in value.values())
    return sorted(value.values(), key=canonical_json) if several else [value] if value else []


LIBRARIES = (
    *("snakemake", "anthropic", "openai", "docker", "xllamacpp"),
    *("pandas", "numpy", "scipy", "matplotlib", "jinja2"),
)


MAX_DISTINCT = 4 << 20
"""Characters of all distinct values of a model's settings, or of the executions': they are kept in memory."""


class _Distinct(defaultdict[str, dict[Any, Any]]):
    """Field -> its distinct values."""

    def __init__(self) -> None:
        super().__init__(dict)
        self._last: dict[str, Any] = {}
        self._size = 0

    def add(self, field: str, value: Any) -> None:
        """Texts and numbers are compared as they are, documents by their canonical JSON."""
        mark = value if isinstance(value, FrozenModel) else repr(value)
        if self._last.get(field) == mark:
            return
        self._last[field] = mark
        plain = value.model_dump(mode="json") if isinstance(value, FrozenModel) else value
        key = plain if isinstance(plain, str | int) else canonical_json(plain)
        self._size += 0 if key in self[field] else len(str(key))
        if self._size > MAX_DISTINCT:
            what, hint = (
                f"the records' settings hold more than {MAX_DISTINCT:,} characters",
                "check the records",
            )
            raise UserError(what, where=field, hint=hint)
        self[field][key] = value

    def lists(self) -> dict[str, list[Any]]:
        """The values of each field in order."""
        return {field: [values[key] for key in sorted(values)] for field, values in self.items()}


class _Answers:
    """The answers of one model."""

    def __init__(self) -> None:
        self.distinct, self.costs = _Distinct(), list[float]()
        self.totals, self.refusals, self.places = Counter[str](), Counter[str](), Counter[str]()

    def add(self, generation: Generation) -> None:
        answer, request = generation.answer, generation.answer.request
        sent = request.temperature
        values = {
            "id": request.model_id,
            "echoed": answer.model_echoed or None,
            "temperature_requested": str(generation.temperature_requested),
            "temperature_sent": "provider-default" if sent is None else f"{sent:g}",
            "max_tokens": request.max_tokens,
            "thinking": request.thinking,
            "effort": request.effort or None,
            "extra_body": request.extra_body,
            "headers": request.headers,
            "transport": answer.transport,
            "server": answer.server,
            "client": answer.client,
            "wire": None if request.wire == "messages" else request.wire,
            "tool": request.tool and request.tool.name,
            "price": generation.price,
        }
        for field, value in values.items():
            if value is not None or field == "thinking":
                self.distinct.add(field, value)
        used = answer.usage
        self.totals.update(
            answers=1, input_tokens=used.input_tokens or 0, output_tokens=used.output_tokens or 0
        )
        self.costs += [] if generation.cost_usd is None else [generation.cost_usd]
        if answer.outcome == "refusal":
            self.refusals[_text_in(answer, "stop_details", "category") or "none stated"] += 1
        if place := _text_in(answer, "usage", "inference_geo"):
            self.places[place] += 1

    def sampling(self) -> Sampling:
        counts = {"refusals": self.refusals, "inference_geo": self.places}
        sorted_counts = {name: dict(sorted(count.items())) for name, count in counts.items()}
        return Sampling(
            **self.distinct.lists(), **sorted_counts, **self.totals, cost_usd=_total(self.costs)
        )


def _text_in(answer: Answer, part: str, key: str) -> str | None:
    """A text in a part of the message as the service sent it; None if it is not there."""
    found = answer.raw.get(part)
    value = found.get(key) if isinstance(found, dict) else None
    return value if isinstance(value, str) else None


def _total(costs: Sequence[float]) -> float | None:
    return round(sum(costs), 6) if costs else None


def collect_provenance(
    study: Study,
    tasks: Sequence[Task | HeldOutTask],
    cells: Iterable[Cell],
    files: Iterable[Path],
    load: Callable[[Cell], CellRecords],
    *,
    start_up_s: Mapping[str, float | None],
) -> Provenance:
    """The provenance of a study as far as it is measured.

    files: the configuration. load: the records of a cell. start_up_s: shell -> seconds of an empty command.
    """
    sent = {model.alias: _Answers() for model in study.models}
    ran, worlds = _Distinct(), _Distinct()
    answered, executed = [], []
    for cell in cells:
        generation, execution, _ = load(cell)
        if generation:
            answered.append(generation.answer.received_utc)
            if generation.cell.model in sent:
                sent[generation.cell.model].add(generation)
        if execution:
            if isinstance(utc := execution.provenance.get("utc"), str):
                executed.append(utc)
            ran.add("limits", execution.limits)
            ran.add("images", execution.image)
            ran.add("engines", execution.engine)
            for run in execution.runs:
                ran.add("conditions", run.condition)
                worlds.add(str(run.seed), run.world_sha256)
    sampling = {alias: answers.sampling() for alias, answers in sent.items()}
    times = answered + executed
    commit, dirty = git_state()
    return Provenance(
        commit=commit,
        dirty=dirty,
        version=__version__,
        versions={"python": sys.version.split()[0]} | library_versions(LIBRARIES),
        lock_sha256=sha256_file(ROOT / "envs" / "requirements.lock"),
        config_files={_relative(file): sha256_file(file) for file in files},
        decision=study.decision or None,
        task_sha256={task.id: task.sha256 for task in tasks},
        worlds=dict(sorted(worlds.lists().items())),
        **ran.lists(),
        start_up_s=dict(start_up_s),
        sampling=sampling,
        spent_usd=_total(
            [model.cost_usd for model in sampling.values() if model.cost_usd is not None]
        ),
        first_answer_utc=min(answered, default=None),
        started_utc=min(times, default=None),
        ended_utc=max(times, default=None),
    )


def read_startup_times(results: Path) -> dict[str, float | None]:
    """Shell -> seconds of an empty command, from `image.json`; empty where there is none."""
    path = Path(results) / "image.json"
    return read_json(path).get("start_up_s", {}) if path.exists() else {}


def _relative(path: Path) -> str:
    path = Path(path).absolute()
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
