"""How an execution was judged, and the closed set of ways to fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from fluency.core.conditions import ConditionName
from fluency.core.part import Part
from fluency.core.records.execution import Reading
from fluency.core.records.forms import Digest
from fluency.core.records.record import SCHEMA_VERSION, CellName, SchemaVersion

FailureClass = Literal[
    "refusal",
    "empty",
    "truncated",
    "no-tool-call",
    "format",
    "other-dialect",
    "does-not-parse",
    "missing-program",
    "invented-command",
    "command-not-found",
    "timeout",
    "resource-limit",
    "non-zero-exit",
    "no-output",
    "wrong-structure",
    "table-noise",
    "silent-wrong",
    "one-world-only",
    "side-effects",
]
WAS: Mapping[str, str] = {
    "missing-program": "command-not-found",
    "invented-command": "command-not-found",
    "no-output": "wrong-structure",
}
"""Class -> the wider one that it was part of before; `command-not-found` stands in no record that is written today."""
MadeOf = Literal["cmdlets-only", "mixed", "unix-only", "delegation", "does-not-parse", "no-commands"]


class WorldScore(Part):
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
    wall_s: float


class Composition(Part):
    """What an answer is made of."""

    made_of: MadeOf
    commands: list[str] = Field(description="Command names in order of appearance, aliases as written.")


class Score(Part):
    """`results/scores/{cell}.json`. `passed` is null when the cell is not measured."""

    schema_version: SchemaVersion = SCHEMA_VERSION
    cell: CellName
    request_key: Digest
    passed: bool | None
    structural_pass: bool | None = Field(description="Exit 0 and structure: the design document's own check.")
    exit_ok: bool | None
    content_ok: bool | None = Field(description="Structure and content, whatever the exit code.")
    lenient_passed: bool | None
    no_unix_tools_passed: bool | None = Field(description="Under that condition; null where it was not run.")
    windows_aliases_passed: bool | None = Field(
        None, description="Under that condition; as designed where it does not apply; null where it was not run."
    )
    failure_class: FailureClass | None
    why: str
    worlds: list[WorldScore]
    make_up: Composition | None
    not_measured: str | None
    side_effects: list[str]
    task_sha256: Digest
    provenance: dict[str, Any]
