"""Where a study's numbers come from: one record, written beside the table; report, compare and archive read it."""

from __future__ import annotations

import json
from collections.abc import Sized
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from fluency.common.canonical import canonical_json
from fluency.common.clock import moment
from fluency.common.errors import MADE_ANEW, UserError
from fluency.core.conditions import ConditionName
from fluency.core.model_config import Price
from fluency.core.part import Part, first_problem
from fluency.core.records import SCHEMA_VERSION, ImageInfo, SchemaVersion
from fluency.core.records.forms import Commit, Digest, UtcTime
from fluency.core.study import Limits


class Registered(Part):
    """The registration file a study follows."""

    path: str = Field(description="Relative to the project.")
    sha256: Digest | None = Field(None, description="Of the file.")
    utc: str | None = Field(None, description="When it was made, by that machine's clock; null: it does not say.")
    commit: Commit | None = Field(None, description="Of the checkout it was made in; null where git could not tell.")
    dirty: bool | None = Field(None, description="Whether that checkout's tracked files differed from the commit.")

    def in_advance(self, first_answer_utc: UtcTime | None) -> bool | None:
        """Whether it was made before the first answer came; None where either time is not known."""
        if self.utc is None:
            return None
        try:
            return first_answer_utc is None or moment(self.utc) < moment(first_answer_utc)
        except ValueError:
            return None


def _empty(value: Sized) -> bool:
    return not value


class Sampling(Part):
    """What one model was sent and what came back, over all its answers; each list holds the distinct values."""

    id: list[str] = Field([], description="The provider's name of the model, as sent.")
    echoed: list[str] = Field([], description="The name that came back.")
    temperature_requested: list[str] = Field([], description="A number, or provider-default.")
    temperature_sent: list[str] = Field([], description="A number, or provider-default: none was sent.")
    max_tokens: list[int] = Field([], description="As sent.")
    thinking: list[dict[str, Any] | None] = Field([], description="As sent; null: none was.")
    effort: list[str] = Field([], description="As sent; empty: none was.")
    extra_body: list[dict[str, Any]] = Field([], description="Further body fields, as sent; since schema 2.")
    headers: list[dict[str, str]] = Field([], description="Further headers, as sent; since schema 2.")
    transport: list[str] = Field([], description="messages or batch.")
    server: list[str] = Field([], description="Hosts of the endpoint, or embedded.")
    client: list[str] = Field([], description="SDKs and their versions.")
    wire: list[str] = Field([], exclude_if=_empty, description="Other than messages.")
    tool: list[str] = Field([], exclude_if=_empty, description="Names of the tools whose call was forced.")
    refusals: dict[str, int] = Field(
        {}, exclude_if=_empty, description="Category of a refusal as the service says it -> answers."
    )
    inference_geo: dict[str, int] = Field(
        {}, exclude_if=_empty, description="Where the service says that it computed -> answers."
    )
    answers: int = Field(0, description="Number of answers.")
    input_tokens: int = Field(0, description="Of all answers; what was not counted is 0.")
    output_tokens: int = Field(0, description="Of all answers; what was not counted is 0.")
    cost_usd: float | None = Field(None, description="Of the answers with a price; null: none has one.")
    price: list[Price] = Field([], description="What the answers were priced by.")


class Provenance(Part):
    """`results/<study>/provenance.json`. What was measured is read from the records; null and empty are unknown."""

    schema_version: SchemaVersion = SCHEMA_VERSION
    commit: Commit | None = Field(None, description="Of the checkout that gathered it; null where git cannot tell.")
    dirty: bool | None = Field(None, description="Whether its tracked files differed from the commit.")
    version: str | None = Field(None, description="Of this project.")
    versions: dict[str, str] = Field({}, description="Python and libraries -> their versions when it was gathered.")
    lock_sha256: Digest | None = Field(None, description="Of the file that pins the libraries.")
    config_files: dict[str, Digest] = Field({}, description="Configuration file -> SHA-256.")
    decision: str | None = Field(None, description="The decision the study is for; null: none, exploratory.")
    registration: Registered | None = Field(None, description="Null: the study follows none.")
    deviations: list[str] = Field([], description="Departures from the registration, one sentence each.")
    task_sha256: dict[str, Digest] = Field({}, description="Task -> SHA-256 of its files.")
    worlds: dict[str, list[Digest]] = Field({}, description="Seed -> SHA-256 of its worlds; tasks may extend a world.")
    conditions: list[ConditionName] = Field([], description="What commands ran under; since schema 2.")
    limits: list[Limits] = Field([], description="What an execution was allowed; since schema 2.")
    images: list[ImageInfo] = Field([], description="The images commands ran in.")
    engines: list[dict[str, Any]] = Field([], description="The container engines and their machines.")
    start_up_s: dict[str, float | None] = Field({}, description="Shell -> seconds of an empty command in the image.")
    sampling: dict[str, Sampling] = Field({}, description="Model -> what it was sent and what came back.")
    spent_usd: float | None = Field(None, description="Of all answers with a price; null: none has one.")
    first_answer_utc: UtcTime | None = Field(None, description="Of the earliest answer; null: none has come, or older.")
    started_utc: UtcTime | None = Field(None, description="The earliest answer or execution.")
    ended_utc: UtcTime | None = Field(None, description="The latest answer or execution.")

    def in_schema_1(self) -> Provenance:
        """The record less what schema 1 does not hold, to be compared with one that was read from there."""
        news: dict[str, Any] = {"extra_body": [], "headers": []}
        sampling = {alias: sent.model_copy(update=news) for alias, sent in self.sampling.items()}
        return self.model_copy(update={"schema_version": 1, "conditions": [], "limits": [], "sampling": sampling})


def parse_provenance(data: bytes) -> Provenance:
    """A provenance from a file's bytes, of schema 1 too, which states no schema; ValueError if it is none."""
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
            f"this is no provenance: {error}",
            where=str(path),
            hint=MADE_ANEW,
        ) from None


def _from_schema_1(old: dict[str, Any]) -> dict[str, Any]:
    """The older document in today's keys. It held one image or engine plain, and documents of a list as JSON texts."""
    new = {"schema_version": 1} | {key: value for key, value in old.items() if key not in ("image", "engine")}
    new["images"] = _plain_or_all(old.get("image") or {})
    new["engines"] = _plain_or_all(old.get("engine") or {})
    new["worlds"] = {seed: hashes.split(", ") for seed, hashes in (old.get("worlds") or {}).items()}
    new["sampling"] = {
        alias: sent | {key: sorted(map(json.loads, sent[key]), key=canonical_json) for key in ("thinking", "price")}
        for alias, sent in (old.get("sampling") or {}).items()
    }
    return {key: value for key, value in new.items() if value is not None}


def _plain_or_all(value: dict[str, Any]) -> list[Any]:
    several = value and all(isinstance(item, dict) for item in value.values())
    return sorted(value.values(), key=canonical_json) if several else [value] if value else []
