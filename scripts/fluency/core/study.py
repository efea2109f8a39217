"""The study: config.yaml and its overrides, validated, as frozen objects; and its cells.

Each override file replaces lists and merges mappings, as Snakemake does with `--configfile`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import reduce
from itertools import product, starmap
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.dataclasses import dataclass
from pydantic_core import ArgsKwargs

from fluency.common.canonical import EXACT, canonical_json, canonical_sha256
from fluency.common.errors import UserError
from fluency.common.files import JsonObject
from fluency.common.paths import CONFIG
from fluency.core.config_files import config_error, merge, read_yaml
from fluency.core.schema import Entries, StrictModel
from fluency.core.shells import AS_DESIGNED, CONDITIONS, DESIGN_SHELLS, ConditionName, ShellName

PILOT = "pilot-20"
Wire = Literal["messages", "chat", "bedrock", "vertex"]
KEY_OF: Mapping[str, str] = {
    "messages": "ANTHROPIC_API_KEY",
    "chat": "OPENAI_API_KEY",
    "bedrock": "AWS_BEARER_TOKEN_BEDROCK",
    "vertex": "VERTEX_ACCESS_TOKEN",
}
"""Wire -> the environment variable of its key, unless a model's entry names another."""
PLACE_OF: Mapping[str, tuple[str, ...]] = {"bedrock": ("region",), "vertex": ("region", "project")}
"""Wire -> the parts of its address."""
HeaderName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]+$")]
HeaderText = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]*$")]
MIN_DEADLINE_S = 30.0
TIMES_THE_SLOWEST = 10.0


MOST_TURNS, TURN = 3, 1 << 31
"""Of a study; what lies between the priorities of two turns."""


def is_one(number: int) -> bool:
    """Whether a field is left out of a document, whose default is 1."""
    return number == 1


def min_deadline_s(slowest_s: float) -> float:
    """The shortest deadline, in seconds, for a shell whose slowest reference takes `slowest_s`."""
    return max(MIN_DEADLINE_S, TIMES_THE_SLOWEST * slowest_s)


@dataclass(frozen=True, order=True, config=ConfigDict(extra="forbid"))
class Cell:
    """A point of the design; `model` is the short alias from config, `trial` counts from 1.

    A trial as text may name its turn, as in `1.2`.
    """

    model: str
    shell: ShellName
    task: str
    trial: int
    turn: int = Field(default=1, ge=1, le=MOST_TURNS, exclude_if=is_one)

    @model_validator(mode="before")
    @classmethod
    def _with_turn(cls, values: Any) -> Any:
        match values:
            case ArgsKwargs(args=(*first, str(trial))) if len(first) == 3:
                return ArgsKwargs((*first, *trial.split(".")))
        return values

    @property
    def path(self) -> str:
        """The cell in names of files and on the command line."""
        turn = f".{self.turn}" if self.turn > 1 else ""
        return f"{self.model}/{self.shell}/{self.task}/{self.trial}{turn}"

    @property
    def before(self) -> Cell:
        """The turn before a later one."""
        return replace(self, turn=self.turn - 1)

    @classmethod
    def parse(cls, path: str) -> Cell:
        """UserError if the path is not `model/shell/task/trial`, or `…/trial.turn`."""
        parts: Any = path.strip("/").split("/")
        try:
            return cls(*parts)
        except ValueError:  # pydantic's ValidationError is one
            hint = "write model/shell/task/trial, for example CELL=qwen-0.5b/bash/biggest-file/1"
            raise UserError("this is not a cell", where=path, hint=hint) from None


def _yaml_1_1(value: object) -> object:
    """The text of a date or a `yes`, which Snakemake's YAML reads as something else."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value.isoformat() if isinstance(value, date) else value


def total_usd(amounts: Iterable[float | None]) -> float:
    """The sum of dollars as decimal numbers, which no order and no Python changes; None is 0."""
    return float(sum(Decimal(repr(amount or 0)) for amount in amounts))


class Price(StrictModel):
    """US dollars for a million tokens, and the day the price was read."""

    input_usd_per_mtok: NonNegativeFloat
    """Input tokens."""
    output_usd_per_mtok: NonNegativeFloat
    """Output tokens, thinking included."""
    dated: Annotated[str, BeforeValidator(_yaml_1_1)] = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")
    """The day the price was read, YYYY-MM-DD."""

    @property
    def is_free(self) -> bool:
        return self.input_usd_per_mtok == self.output_usd_per_mtok == 0


class ModelConfig(StrictModel):
    """One model under test. What is left out comes from the policy table for the model's id."""

    alias: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,40}$")
    """Short name, used in paths and reports."""
    id: str = Field(min_length=1)
    """The provider's name for the model."""
    served_by: Literal["embedded", "endpoint"] = "endpoint"
    """embedded: llama.cpp inside the run; endpoint: any server that speaks the wire."""
    wire: Wire = "messages"
    """The protocol. messages: POST /v1/messages; chat: Chat Completions (vLLM, Ollama, llama.cpp,
    gateways); bedrock, vertex: Claude in these clouds."""
    interface: Literal["reply", "tool"] = "reply"
    """How the command is returned. reply: as the text of the reply; tool: in a forced tool call."""
    base_url: str | None = None
    """The endpoint's address, for chat with /v1, for messages without. Empty: the wire's own."""
    region: str | None = None
    """The cloud's region; needed for bedrock and vertex."""
    project: str | None = None
    """The cloud's project; needed for vertex."""
    api_key_env: str = "ANTHROPIC_API_KEY"
    """NAME of the environment variable with the key, as in MY_KEY. Wires have own defaults."""
    key_required: bool = True
    """false for a server of your own that needs no key."""
    temperature: Annotated[float, Field(ge=0, le=2)] | Literal["provider-default"] | None = None
    """A number is sent as it is; provider-default sends none. Empty: the policy table's."""
    max_tokens: int | None = Field(None, ge=1, le=128_000)
    """Empty: the policy table's."""
    thinking: JsonObject | None = None
    """Sent as it is. Empty: the policy table's."""
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    """Sent as it is, with chat as reasoning_effort. Empty: the policy table's."""
    extra_body: JsonObject = {}
    """Additional fields of the request body; a key as `$NAME` of its environment variable."""
    extra_headers: dict[HeaderName, HeaderText] = {}
    """Additional headers; a key as `$NAME`, the model's own as `$KEY`."""
    price: Price | None = None
    """Empty: the policy table's."""
    requests_per_minute: PositiveInt = 45
    """Requests started in a minute, over all cells of the model."""
    in_flight: int = Field(4, ge=1, le=64)
    """Requests in flight at a time."""

    def __hash__(self) -> int:
        return hash(self.alias)

    @property
    def is_embedded(self) -> bool:
        """Whether the run itself serves it."""
        return self.served_by == "embedded"

    @property
    def needs_key(self) -> bool:
        """Whether it can only be asked with a key."""
        return self.key_required and not self.is_embedded

    @property
    def starts_per_minute(self) -> int | None:
        """How many calls may start in a minute; None: any number, as the run serves it."""
        is_limited = "requests_per_minute" in self.model_fields_set or not self.is_embedded
        return self.requests_per_minute if is_limited else None

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_the_wire(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        if values.get("served_by") == "embedded":
            values = values | {"wire": "chat"}  # llama.cpp's
        wire = str(values.get("wire", "messages"))
        return {"api_key_env": KEY_OF.get(wire, "")} | values

    @model_validator(mode="after")
    def _has_its_place(self) -> ModelConfig:
        for key in PLACE_OF.get(self.wire, ()):
            if not getattr(self, key):
                raise ValueError(f"the wire {self.wire} needs a {key}: add `{key}: …`")
        return self

    @field_validator("api_key_env", mode="before")
    @classmethod
    def _is_a_name(cls, value: Any) -> Any:
        # A key of capitals and digits has no underscore; what passes here may be printed.
        if not (isinstance(value, str) and re.fullmatch(r"(?=.*_)[A-Z_][A-Z0-9_]{0,63}", value)):
            raise ValueError(
                "this wants the NAME of an environment variable, in capitals and with an "
                "underscore, as in MY_KEY, and never a key"
            )
        return value

    @field_validator("thinking", "extra_body", "extra_headers")
    @classmethod
    def _is_portable_json(cls, value: Any) -> Any:
        with suppress(ValueError):
            if json.loads(canonical_json(value)) == value:
                return value
        raise ValueError("not portable JSON: dates, .nan and integers above 2^53 are not allowed")


Seed = Annotated[int, Field(ge=0, le=EXACT)]
STUDY_NAME = r"^[a-z0-9][a-z0-9-]{0,40}$"


class Limits(StrictModel):
    """What one execution may use; the same for every shell."""

    timeout_s: dict[ShellName, Annotated[float, Field(ge=1, le=600)]] = Field(
        dict.fromkeys(DESIGN_SHELLS, MIN_DEADLINE_S)
    )
    """Deadline of a command in seconds, 30 unless set; at least max(30, 10 x slowest reference),
    see docs/method.md."""
    memory_mb: int = Field(1024, ge=256)
    """Memory of the whole container, helpers included; no swap."""
    pids: int = Field(256, ge=64)
    """Processes and threads in the container."""
    output_bytes: int = Field(1_048_576, ge=1024)
    """Bytes kept of each stream; the rest is only counted."""
    file_mb: int = Field(64, ge=64)
    """Largest file a command may write; PowerShell needs 64."""
    tmpfs_mb: int = Field(64, ge=16)
    """Size of /tmp, and of HOME."""
    open_files: int = Field(1024, ge=256)
    """Open files of each process."""

    @field_validator("timeout_s")
    @classmethod
    def _of_the_design(cls, value: dict[str, float]) -> dict[str, float]:
        return dict.fromkeys(DESIGN_SHELLS, MIN_DEADLINE_S) | value

    def deadline_s(self, shell: str) -> float:
        """The deadline of a command of any shell, whether it is named or not."""
        return self.timeout_s.get(shell, MIN_DEADLINE_S)


class SandboxConfig(StrictModel):
    """The container engine and its limits."""

    parallel: int | None = Field(None, ge=1, le=64)
    """Containers at a time. Empty: one for each processor."""
    runtime: str = ""
    """The engine's runtime for containers, such as `runsc` (gVisor). Empty: the engine's own."""
    limits: Limits = Limits()
    """What one execution may use."""

    @property
    def containers(self) -> int:
        return self.parallel or os.cpu_count() or 1


class BudgetConfig(StrictModel):
    """Dollars. Above `confirm_usd` a run asks; at `stop_usd` it stops and keeps every answer."""

    confirm_usd: NonNegativeFloat = 1.0
    """A run that may cost more asks for confirmation."""
    stop_usd: PositiveFloat = 10.0
    """Where a run stops, by the usage that the services report."""


class Study(StrictModel):
    """A validated configuration: what is asked of whom, how often, and where it runs."""

    study: str = Field(pattern=STUDY_NAME)
    """Name of the study and of its folder."""
    decision: str = ""
    """The decision that the study is for. Empty: the study is exploratory."""
    tasks: Entries[str] | str = PILOT
    """A set of `tasks/sets.yaml` (such as `pilot-20` or `demanding`), a list of task ids, or
    `all`."""
    shells: Entries[ShellName] = list(DESIGN_SHELLS)
    """The shells to ask for."""
    trials: int = Field(5, ge=1, le=100)
    """Independent answers for each model, shell and task."""
    turns: int = Field(1, ge=1, le=MOST_TURNS, exclude_if=is_one)
    """Answers of one conversation: above 1, the model is shown what its command did and asked
    again. The headline is of the first."""
    seeds: Entries[Seed] = [11, 24]
    """Seeds of the worlds in which each answer runs; at least one odd and one even."""
    conditions: Entries[ConditionName] = list(CONDITIONS)
    """as_designed is the headline. PowerShell answers run again: under no_unix_tools all of them,
    without Unix programs on PATH; under windows_aliases those that call `ls`, `sort`, `cat` …,
    with the aliases that they have on Windows."""
    assume: float = Field(0.9, gt=0, lt=1)
    """The share of runs expected to pass in either shell: `make plan` and `make preregister` say
    how often the tasks then are too easy or too hard to tell. No result depends on it."""
    control: bool = False
    """Also run each task's first reference and first wrong command; the report lists them
    separately."""
    order_seed: Seed = 20260430
    """Seed of the order in which cells are asked."""
    models: Entries[ModelConfig]
    """The models; results are never pooled over models."""
    sandbox: SandboxConfig = SandboxConfig()
    """Where commands run."""
    budget: BudgetConfig = BudgetConfig()
    """What it may cost."""
    confirm: Annotated[Literal["ask", "yes"], BeforeValidator(_yaml_1_1)] = "ask"
    """yes: run above confirm_usd without asking for confirmation."""
    preregistration: str | None = None
    """Path of the study's registration."""

    @model_validator(mode="after")
    def _consistent(self) -> Study:
        if len({seed % 2 for seed in self.seeds}) < 2:
            raise ValueError("seeds: take at least one odd and one even seed, they differ in kind")
        if AS_DESIGNED.name not in self.conditions:
            raise ValueError("conditions: as_designed is the headline and cannot be left out")
        return self

    def model(self, alias: str) -> ModelConfig:
        """The model of an alias, which a cell of the study has."""
        return next(model for model in self.models if model.alias == alias)

    def cells(self, task_ids: Sequence[str]) -> Iterator[Cell]:
        """Every cell of the design, model by model."""
        aliases, turns = [model.alias for model in self.models], range(1, self.turns + 1)
        design = product(aliases, self.shells, task_ids, range(1, self.trials + 1), turns)
        return starmap(Cell, design)

    def priority(self, cell: Cell) -> int:
        """Decides when a cell is asked: the largest first.

        It is drawn by `order_seed`, which mixes the shells in time: 0 … 2^31 - 1. Every later turn
        comes after all of the turn before.
        """
        drawn = self.order_seed, cell.model, cell.shell, cell.task, cell.trial
        return (int(canonical_sha256(drawn)[:8], 16) >> 1) - (cell.turn - 1) * TURN


def read_study(*overrides: str | Path, merged: JsonObject | None = None) -> Study:
    """The study of `config.yaml` and the override files; UserError names the file and the key.

    merged: the values as Snakemake merged them from these files and its command line; the files are
    then only parsed.
    """
    files = [CONFIG, *map(Path, overrides)]
    given = [*map(read_yaml, files)]
    try:
        return Study.model_validate(reduce(merge, given) if merged is None else merged)
    except ValidationError as error:
        raise config_error(error, files, Study) from None
