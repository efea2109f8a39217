"""The records: what was asked, what ran, how it was judged; each is a JSON file.

What is unknown is null.
"""

from __future__ import annotations

import base64
import builtins
from operator import not_
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from fluency.common.canonical import canonical_json, canonical_sha256
from fluency.common.files import JsonObject
from fluency.core.schema import Count, Digest, FrozenModel, Record, UtcTime, read_record
from fluency.core.shells import SHELLS, ConditionName, ShellName
from fluency.core.study import Cell, Limits, Price, Wire

Outcome = Literal["ok", "refusal", "truncated", "empty", "no-call"]
"""no-call: a tool call was asked for, and the reply has none, or one of another form."""


class ToolOffer(FrozenModel):
    """A tool as it is offered to a model, which must call it; its one argument is the answer."""

    name: str
    description: str
    input_schema: JsonObject


class Stream(FrozenModel):
    """What a command wrote to one stream, as far as it was kept."""

    data: str
    encoding: Literal["utf-8", "base64"] = "utf-8"
    bytes: Count
    """Written in all."""
    truncated: bool = False

    def raw(self) -> builtins.bytes:
        return base64.b64decode(self.data) if self.encoding == "base64" else self.data.encode()

    @classmethod
    def of(cls, kept: builtins.bytes, total: int | None = None) -> Stream:
        total = len(kept) if total is None else total
        part = {"bytes": total, "truncated": total > len(kept)}
        try:
            return cls(data=kept.decode(), **part)
        except UnicodeDecodeError:
            return cls(data=base64.b64encode(kept).decode(), encoding="base64", **part)


class Shown(FrozenModel):
    """What a model is shown of its command's end: a result in one world, its streams shortened."""

    exit_code: int | None
    signal: int | None
    spawn_error: str | None
    stopped_after_s: float | None
    """Its deadline, if it reached that."""
    stdout: Stream
    stderr: Stream


class Earlier(FrozenModel):
    """What a later turn's request follows: `shown` is known with the turn's answer."""

    key: Digest
    """Of the request of the turn before."""
    world_sha256: Digest
    """Of the world whose result is shown."""
    protocol: int
    """Of what is shown and said."""
    shown: Shown | None = Field(None, exclude_if=not_)


class Request(FrozenModel):
    """What is sent to a model, complete: its canonical JSON is the key of the answer store.

    `trial` and `protocol` are not sent: they separate independent samples of one prompt, and a
    deliberate new start. Nothing here may depend on the machine, the day, or the key. The key of a
    later turn is that of `earlier` without what was shown, which no second run might show again.
    """

    wire: Wire = "messages"
    """The protocol that it is sent by."""
    model_id: str
    prompt: str
    """The first message, which is the user's."""
    follow_up: list[JsonObject] = Field([], exclude_if=not_)
    """The messages after it in the wire's own form: replies as received, what was said to them."""
    earlier: Earlier | None = Field(None, exclude_if=not_)
    """Null: the first turn."""
    max_tokens: int
    temperature: float | None
    """As sent; null: the provider's default."""
    thinking: JsonObject | None = None
    effort: str | None = None
    extra_body: JsonObject = {}
    headers: dict[str, str] = {}
    seed: int | None = None
    """Sampling seed, where a server takes one."""
    tool: ToolOffer | None = None
    """The tool whose call is forced; null: a reply in text."""
    trial: int
    protocol: int

    @property
    def key(self) -> str:
        """By which its answer is stored."""
        return key_of(self.model_dump(mode="json"))

    @property
    def messages(self) -> list[JsonObject]:
        """All messages as they are sent."""
        return [{"role": "user", "content": self.prompt}, *self.follow_up]

    @property
    def text(self) -> str:
        """What the model reads, to measure it and to separate prompts."""
        return self.prompt + "".join(map(canonical_json, self.follow_up))

    @property
    def temperature_text(self) -> str:
        return "provider-default" if self.temperature is None else f"{self.temperature:g}"


def key_of(request: JsonObject) -> str:
    """SHA-256 of a request's canonical JSON; a later turn's is of what it follows."""
    earlier = request.get("earlier") or {}
    known = {name: value for name, value in earlier.items() if name != "shown"}
    return canonical_sha256(known or request)


class Usage(FrozenModel):
    """Tokens as the server counted them."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    thinking_tokens: int | None = None


class Answer(Record):
    """One answer as it arrived: kept in the answer store, and copied into the generation."""

    request_key: Digest
    request: Request
    outcome: Outcome
    text: str
    """All text blocks joined, or the tool call's command; lone surrogates replaced."""
    raw: JsonObject
    """The message as the server sent it."""
    stop_reason: str | None = None
    model_echoed: str | None = None
    request_id: str | None = None
    usage: Usage
    latency_s: float | None
    """Request sent to last byte of the successful attempt; null if not measured."""
    attempts: int = 1
    received_utc: UtcTime
    server: str
    """Host of the endpoint, or `embedded`."""
    client: str
    """The SDK and its version."""


class CellRecord(Record):
    """What one stage made of one cell."""

    cell: Cell
    provenance: JsonObject


class Generation(CellRecord):
    """`results/generations/{cell}.json`."""

    answer: Answer
    temperature_requested: float | Literal["provider-default"]
    cost_usd: float | None
    price: Price | None
    """As it was when the cell was asked; null: not known."""
    task_sha256: Digest
    ended: str | None = Field(None, exclude_if=not_)
    """Why this turn was not asked; its records then repeat the turn before."""


Reading = Literal["strict", "lenient"]


class ProcessFact(FrozenModel):
    """A helper process as /proc showed it before the command existed."""

    pid: int
    name: str
    ppid: int
    rss_bytes: int
    args: list[str]
    threads: int = 1
    """The main one included."""
    session: int | None = None
    """Its session's id."""


class HttpRequest(FrozenModel):
    """A request the loopback service answered."""

    method: str
    path: str
    status: int


class Used(FrozenModel):
    """What the execution used of its limits; null where the kernel does not report it."""

    cpu_s: float | None = None
    peak_rss_bytes: int | None = None
    """Largest single process of the command (wait4)."""
    container_cpu_s: float | None = Field(default=None, exclude_if=lambda value: value is None)
    """Processor time of the whole container; null: hidden, and a deadline was one of wall time."""
    peak_memory_bytes: int | None = None
    """Of the whole container."""
    peak_processes: int | None = None
    written_bytes: int | None = None
    """In /tmp and HOME when the command ended."""
    oom_killed: bool = False


class Paths(FrozenModel):
    """Paths of the working folder: how many, and the first fifty in order."""

    count: Count
    paths: list[str]


class TreeChanges(FrozenModel):
    """What a command did to the working folder, in short."""

    created: Paths
    changed: Paths
    removed: Paths
    bytes: Count
    """Of the created and changed files, as they stood at the end."""
    complete: bool
    """False: more was there than was looked at, and the counts are the least."""


class PathState(FrozenModel):
    """A path that a command created, changed or removed, as it is at the end."""

    path: str
    """In the working folder. A backslash is doubled, and a byte that is not UTF-8 is `\\xNN`."""
    kind: Literal["file", "folder", "link", "other", "absent"]
    mode: Count | None = None
    """Its permissions."""
    target: str | None = None
    """Of a link, written as `path` is."""
    sha256: Digest | None = None
    """Of a file."""
    content: Stream | None = None
    """Of a file: none of it is kept above 64 KiB, and above 1 MiB of all files."""


class Result(FrozenModel):
    """The sandbox's document about one command in one world."""

    exit_code: int | None
    """Null when a signal ended it."""
    signal: int | None = None
    timed_out: bool = False
    spawn_error: str | None = None
    """Such as: argument too long for execve. The command's failure."""
    stdout: Stream
    stderr: Stream
    wall_s: float
    """Process spawn to exit, the command alone."""
    used: Used = Used()
    processes: list[ProcessFact] = []
    http_requests: list[HttpRequest] = []
    tree_changed: bool = False
    changes: TreeChanges | None = None
    """Null: none."""
    state: list[PathState] | str | None = None
    """Of every path that is different; a text: why that is unknown; null: not observed."""
    leftover: list[str] = []
    """Names of processes the command left running."""
    helpers_ended: list[int] = []
    """Ids of the helper processes that had ended, of those that the command may end."""
    helpers_intact: bool = True
    """Whether the others and the service still ran."""
    lost: str | None = None
    """Why nothing came back after the command had started: its own failure."""


def changed_paths(result: Result) -> list[tuple[str, Paths]]:
    """What was created, changed and removed in the working folder, each with its paths."""
    kinds = result.changes or ()
    return [(kind, found) for kind, found in kinds if isinstance(found, Paths) and found.count]


def side_effects(result: Result) -> list[str]:
    """What a run did besides printing, as clauses."""
    effects = []
    if result.tree_changed:
        counts = ", ".join(f"{found.count} {name}" for name, found in changed_paths(result))
        effects.append("the working folder was changed" + (counts and f": {counts}"))
    if result.leftover:
        effects.append(f"processes were left running: {', '.join(result.leftover)}")
    if not result.helpers_intact:
        effects.append("a process or the service that the task set up was stopped")
    return effects


class Run(FrozenModel):
    """One execution: a reading of the answer, in one world, under one condition."""

    seed: int
    world_sha256: Digest
    condition: ConditionName
    reading: Reading
    result: Result


THINKING = "thinking before the command"
"""A note of an extraction."""


class Extraction(FrozenModel):
    """The command in a reply, read strictly (the headline) and leniently (sensitivity)."""

    strict: str | None
    """The reply less outer blanks and one whole-reply fence; null: nothing left."""
    lenient: str | None
    """Also the only or first fenced block in prose; null: nothing found."""
    fenced: bool = False
    notes: list[str] = []


class ImageInfo(FrozenModel):
    """The image the command ran in."""

    image_id: str
    content_sha256: Digest
    """Of everything the image is built from."""
    base: str
    architecture: str
    shells: dict[ShellName, str | None]
    """Version of each shell; null: not in the image."""
    packages_sha256: Digest
    archives: dict[str, Digest] = {}
    """Shell -> SHA-256 of the archive it was taken from, where it was from one."""
    unofficial: list[str] = []
    """Shells whose archive is not the pinned official release."""


EngineFact = Annotated[
    str,
    Field(
        pattern="^(name|version|os|architecture|kernel|storage|cgroup|seccomp|seccomp_profile"
        "|runtime|rootless|cpus|memory_bytes)$"
    ),
]
Engine = dict[EngineFact, str | int | bool | None]
"""The container engine and its machine."""


class Execution(CellRecord):
    """`results/executions/{cell}.json`."""

    request_key: Digest
    extraction: Extraction
    runs: list[Run]
    """Empty when there was no command to run, or the shell is not measured."""
    not_measured: str | None = None
    """Why this shell cannot be measured at all; else null."""
    attempts: int = 1
    """Starts of its commands, until all were measured or no attempt was left."""
    unmeasured: str | None = None
    """Why no attempt could measure this cell; it is not tried again."""
    repeats: bool = Field(False, exclude_if=not_)
    """Whether the runs repeat the turn before, whose command is the same."""
    image: ImageInfo
    limits: Limits
    timeout_s: float
    engine: Engine


# fmt: off
FailureClass = Literal[
    "refusal", "empty", "truncated", "no-tool-call", "thinking-in-answer", "format",
    "other-dialect", "does-not-parse", "missing-program", "invented-command",
    "timeout", "resource-limit", "non-zero-exit",
    "no-output", "wrong-structure", "table-noise", "silent-wrong", "one-world-only", "side-effects",
]
# fmt: on
MadeOf = Literal[
    "cmdlets-only", "mixed", "unix-only", "delegation", "does-not-parse", "no-commands"
]


class WorldScore(FrozenModel):
    """The judgement of one run."""

    seed: int
    condition: ConditionName
    reading: Reading
    exit_ok: bool
    structural: bool
    content: bool
    passed: bool
    why: str
    expected: Any = None
    left: list[str] = []
    """What is left behind and not as the task asks, a clause for each path."""
    unasked: Count | None = None
    """Paths of the world that are gone or different unasked; null: unknown."""
    wall_s: float


class Composition(FrozenModel):
    """The kinds of commands in an answer."""

    made_of: MadeOf
    commands: list[str]
    """Command names in order of appearance, aliases as written."""


class Score(CellRecord):
    """`results/scores/{cell}.json`. `passed` is null when the cell is not measured."""

    request_key: Digest
    passed: bool | None
    structural_pass: bool | None
    """Exit 0 and structure: the design document's own check."""
    exit_ok: bool | None
    content_ok: bool | None
    """Output and what is left behind, with any exit code."""
    lenient_passed: bool | None
    passed_under: dict[ConditionName, bool | None]
    """Condition -> as designed where it does not apply; null where it was not run."""
    failure_class: FailureClass | None
    why: str
    worlds: list[WorldScore]
    make_up: Composition | None
    not_measured: str | None
    task_sha256: Digest


CONTROL_FILE = "control.json"


class ControlRun(FrozenModel):
    """One command of a task, run in every world of the study."""

    task: str
    shell: ShellName
    kind: Literal["reference", "wrong"]
    command: str
    results: dict[str, Result] = {}
    """Seed of the world -> what the command did in it."""
    passed: bool
    """In every world."""
    why: str
    """The first world's finding that decided it."""

    @property
    def as_it_must(self) -> bool:
        return self.passed == (self.kind == "reference")


class Control(Record):
    """`results/<study>/control.json`.

    It holds every task's first reference and first wrong command in each shell there is.
    """

    runs: list[ControlRun]
    not_measured: dict[str, str]
    """Shell -> why none of its commands could run."""

    def shells(self) -> list[str]:
        """Those that were asked for, in the order of reports, whether they could run or not."""
        return [name for name in SHELLS if self.of(name, "reference") or name in self.not_measured]

    def of(self, shell: str, kind: str) -> list[ControlRun]:
        return [run for run in self.runs if (run.shell, run.kind) == (shell, kind)]


def read_control(folder: Path) -> Control | None:
    """The control among a study's results; None if it has none, UserError if it cannot be read."""
    path = folder / CONTROL_FILE
    return read_record(Control, path) if path.is_file() else None
