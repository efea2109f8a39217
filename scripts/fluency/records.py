"""The records: what was asked, what ran, how it was judged. Everything else is computed from them.

Every record is one canonical JSON file. Absent knowledge is null, never a zero or an empty text.
"""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fluency.cells import Cell, Shell
from fluency.errors import UserError
from fluency.files import pretty_json, write_atomic
from fluency.study import Condition, Limits

SCHEMA_VERSION = 1

Outcome = Literal["ok", "refusal", "truncated", "empty"]
Reading = Literal["strict", "lenient"]
FailureClass = Literal[
    "refusal",
    "empty",
    "truncated",
    "format",
    "other-dialect",
    "does-not-parse",
    "command-not-found",
    "timeout",
    "resource-limit",
    "non-zero-exit",
    "wrong-structure",
    "table-noise",
    "silent-wrong",
    "one-world-only",
    "side-effects",
]
MadeOf = Literal["cmdlets-only", "mixed", "unix-only", "delegation", "does-not-parse", "no-commands"]


class Part(BaseModel):
    """A piece of a record: closed set of keys, immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class CellName(Part):
    """A cell as a record holds it."""

    model: str
    shell: Shell
    task: str
    trial: int

    @classmethod
    def of(cls, cell: Cell) -> CellName:
        """The record's form of a cell."""
        return cls(model=cell.model, shell=cell.shell, task=cell.task, trial=cell.trial)

    @property
    def cell(self) -> Cell:
        """The cell itself."""
        return Cell(self.model, self.shell, self.task, self.trial)


# ---------------------------------------------------------------- generation


class Request(Part):
    """What is sent to a model, complete: its canonical JSON is the key of the answer store.

    `trial` and `protocol` are not sent; they tell apart five independent samples of one prompt, and a
    deliberate new start. Nothing here may depend on the machine, the day, or the key.
    """

    model_id: str
    prompt: str
    max_tokens: int
    temperature: float | None = Field(description="As sent; null: the provider's default.")
    thinking: dict[str, Any] | None = None
    effort: str | None = None
    extra_body: dict[str, Any] = {}
    headers: dict[str, str] = {}
    seed: int | None = Field(None, description="Sampling seed, where a server takes one.")
    protocol: int
    trial: int


class Usage(Part):
    """Tokens as the server counted them."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    thinking_tokens: int | None = None


class Answer(Part):
    """One answer as it arrived; what the answer store keeps and `generate` copies into its record."""

    schema_version: int = SCHEMA_VERSION
    request_key: str
    request: Request
    outcome: Outcome
    text: str = Field(description="All text blocks joined; lone surrogates replaced.")
    raw: dict[str, Any] = Field(description="The message as the server sent it.")
    stop_reason: str | None = None
    model_echoed: str | None = None
    request_id: str | None = None
    usage: Usage
    latency_s: float | None = Field(description="Request sent to last byte of the successful attempt; null in a batch.")
    attempts: int = 1
    received_utc: str
    transport: Literal["messages", "batch"] = "messages"
    server: str = Field(description="Host of the endpoint, or `embedded`.")
    client: str = Field(description="The SDK and its version.")


class Generation(Part):
    """`results/generations/{cell}.json`."""

    schema_version: int = SCHEMA_VERSION
    cell: CellName
    answer: Answer
    temperature_requested: float | Literal["provider-default"]
    cost_usd: float | None
    price: dict[str, Any] | None
    task_sha256: str
    provenance: dict[str, Any]


# ---------------------------------------------------------------- execution


class Stream(Part):
    """What a command wrote to one stream, as far as it was kept."""

    data: str
    encoding: Literal["utf-8", "base64"] = "utf-8"
    bytes: int = Field(description="Written in all.")
    truncated: bool = False

    def raw(self) -> bytes:
        """The kept bytes."""
        return base64.b64decode(self.data) if self.encoding == "base64" else self.data.encode()

    @classmethod
    def of(cls, kept: bytes, total: int | None = None) -> Stream:
        """A stream from its kept bytes and its full length."""
        total = len(kept) if total is None else total
        try:
            return cls(data=kept.decode(), bytes=total, truncated=total > len(kept))
        except UnicodeDecodeError:
            data = base64.b64encode(kept).decode()
            return cls(data=data, encoding="base64", bytes=total, truncated=total > len(kept))


class ProcessFact(Part):
    """A helper process as /proc showed it before the command existed."""

    pid: int
    name: str
    ppid: int
    rss_bytes: int
    args: list[str]


class HttpRequest(Part):
    """A request the loopback service answered."""

    method: str
    path: str
    status: int


class Used(Part):
    """What the execution used of its limits; null where the kernel does not tell."""

    cpu_s: float | None = None
    peak_rss_bytes: int | None = Field(None, description="Largest single process of the command (wait4).")
    peak_memory_bytes: int | None = Field(None, description="Of the whole container.")
    peak_processes: int | None = None
    written_bytes: int | None = Field(None, description="In /tmp and HOME when the command ended.")
    oom_killed: bool = False


class Result(Part):
    """The sandbox's document about one command in one world."""

    exit_code: int | None = Field(description="Null when a signal ended it.")
    signal: int | None = None
    timed_out: bool = False
    spawn_error: str | None = Field(None, description="Such as: argument too long for execve. The command's failure.")
    stdout: Stream
    stderr: Stream
    wall_s: float = Field(description="Process spawn to exit, the command alone.")
    used: Used = Used()
    processes: list[ProcessFact] = []
    http_requests: list[HttpRequest] = []
    tree_changed: bool = False
    leftover: list[str] = Field([], description="Names of processes the command left running.")
    helpers_intact: bool = True


class Run(Part):
    """One execution: a reading of the answer, in one world, under one condition."""

    seed: int
    world_sha256: str
    condition: Condition
    reading: Reading
    result: Result


class Extraction(Part):
    """The command in a reply, read strictly (the headline) and leniently (sensitivity)."""

    strict: str | None = Field(description="The reply less outer blanks and one whole-reply fence; null: nothing left.")
    lenient: str | None = Field(description="Also the only or first fenced block in prose; null: nothing found.")
    fenced: bool = False
    notes: list[str] = []


class ImageInfo(Part):
    """The image the command ran in."""

    image_id: str
    content_sha256: str = Field(description="Of everything the image is built from.")
    base: str
    architecture: str
    shells: dict[str, str | None] = Field(description="Version of each shell; null: not in the image.")
    packages_sha256: str


class Execution(Part):
    """`results/executions/{cell}.json`."""

    schema_version: int = SCHEMA_VERSION
    cell: CellName
    request_key: str
    extraction: Extraction
    runs: list[Run] = Field(description="Empty when there was no command to run, or the arm is not measured.")
    not_measured: str | None = Field(None, description="Why this arm cannot be measured at all; else null.")
    image: ImageInfo
    limits: Limits
    timeout_s: float
    engine: dict[str, Any]
    provenance: dict[str, Any]


# ---------------------------------------------------------------- score


class WorldScore(Part):
    """The judgement of one run."""

    seed: int
    condition: Condition
    reading: Reading
    exit_ok: bool
    structural: bool
    content: bool
    passed: bool
    why: str
    expected: Any = None
    wall_s: float


class MakeUp(Part):
    """What an answer is made of."""

    made_of: MadeOf
    commands: list[str] = Field(description="Command names in order of appearance, aliases as written.")


class Score(Part):
    """`results/scores/{cell}.json`. `passed` is null when the cell is not measured."""

    schema_version: int = SCHEMA_VERSION
    cell: CellName
    request_key: str
    passed: bool | None
    structural_pass: bool | None = Field(description="Exit 0 and structure: the design document's own check.")
    exit_ok: bool | None
    content_ok: bool | None = Field(description="Structure and content, whatever the exit code.")
    lenient_passed: bool | None
    no_unix_tools_passed: bool | None = Field(description="The second condition; null where it was not run.")
    failure_class: FailureClass | None
    why: str
    worlds: list[WorldScore]
    make_up: MakeUp | None
    not_measured: str | None
    side_effects: list[str]
    task_sha256: str
    provenance: dict[str, Any]


RecordType = TypeVar("RecordType", bound=Part)


def read_record(kind: type[RecordType], path: Path) -> RecordType:
    """A record from its file; UserError names the file when it is damaged or from a newer version."""
    try:
        return kind.model_validate_json(Path(path).read_bytes())
    except FileNotFoundError:
        raise UserError("there is no such record", where=str(path), hint="`make plan` lists what is missing") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UserError(
            f"this is not a {kind.__name__.lower()} record of schema {SCHEMA_VERSION}: {place}: {first['msg']}",
            where=str(path),
            hint="delete the file and run again; no answer is asked for twice",
        ) from None


def write_record(path: Path, record: Part) -> None:
    """Write a record atomically."""
    write_atomic(Path(os.fspath(path)), pretty_json(record.model_dump(mode="json")))
