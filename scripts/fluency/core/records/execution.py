"""What happened when a command ran: readings of the answer, worlds, conditions, streams, what was used."""

from __future__ import annotations

import base64
import builtins
from typing import Any, Literal

from pydantic import Field

from fluency.core.conditions import ConditionName
from fluency.core.part import Part
from fluency.core.records.forms import Count, Digest
from fluency.core.records.record import SCHEMA_VERSION, CellName, SchemaVersion
from fluency.core.study import Limits

Reading = Literal["strict", "lenient"]


class Stream(Part):
    """What a command wrote to one stream, as far as it was kept."""

    data: str
    encoding: Literal["utf-8", "base64"] = "utf-8"
    bytes: Count = Field(description="Written in all.")
    truncated: bool = False

    def raw(self) -> builtins.bytes:
        """The kept bytes."""
        return base64.b64decode(self.data) if self.encoding == "base64" else self.data.encode()

    @classmethod
    def of(cls, kept: builtins.bytes, total: int | None = None) -> Stream:
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
    threads: int = Field(1, description="The main one included; 1 too in a record from before they were told.")
    session: int | None = Field(None, description="Its session's id. Null: a record from before it was told.")


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


class Paths(Part):
    """Paths of the working folder: how many, and the first fifty in order."""

    count: Count
    paths: list[str]


class TreeChanges(Part):
    """What a command did to the working folder. Shown as a side effect, never judged."""

    created: Paths
    changed: Paths
    removed: Paths
    bytes: Count = Field(description="Of the created and changed files, as they stood at the end.")
    complete: bool = Field(description="False: more was there than was looked at, and the counts are the least.")


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
    processes: list[ProcessFact] = Field(default_factory=list)
    http_requests: list[HttpRequest] = Field(default_factory=list)
    tree_changed: bool = False
    changes: TreeChanges | None = Field(None, description="Null: none, or a record from before they were told.")
    leftover: list[str] = Field([], description="Names of processes the command left running.")
    helpers_intact: bool = True
    lost: str | None = Field(None, description="Why nothing came back after the command had started: its own failure.")


def changed_paths(result: Result) -> list[tuple[str, Paths]]:
    """What was done to the working folder (created, changed, removed) with the paths, where there are any."""
    if result.changes is None:
        return []
    kinds = {kind: getattr(result.changes, kind) for kind in ("created", "changed", "removed")}
    return [(kind, found) for kind, found in kinds.items() if found.count]


class Run(Part):
    """One execution: a reading of the answer, in one world, under one condition."""

    seed: int
    world_sha256: Digest
    condition: ConditionName
    reading: Reading
    result: Result


class Extraction(Part):
    """The command in a reply, read strictly (the headline) and leniently (sensitivity)."""

    strict: str | None = Field(description="The reply less outer blanks and one whole-reply fence; null: nothing left.")
    lenient: str | None = Field(description="Also the only or first fenced block in prose; null: nothing found.")
    fenced: bool = False
    notes: list[str] = Field(default_factory=list)


class ImageInfo(Part):
    """The image the command ran in."""

    image_id: str
    content_sha256: Digest = Field(description="Of everything the image is built from.")
    base: str
    architecture: str
    shells: dict[str, str | None] = Field(description="Version of each shell; null: not in the image.")
    packages_sha256: Digest
    archives: dict[str, Digest] = Field(
        default_factory=dict, description="Shell -> SHA-256 of the archive it was taken from, where it was from one."
    )
    identity: dict[str, Digest] = Field(
        default_factory=dict,
        description="Part (runner, interpreter, helper, each shell) -> SHA-256 of its files, as the build read them.",
    )
    unofficial: list[str] = Field(
        default_factory=list, description="Shells whose archive is not that of the official release that is pinned."
    )


class Execution(Part):
    """`results/executions/{cell}.json`."""

    schema_version: SchemaVersion = SCHEMA_VERSION
    cell: CellName
    request_key: Digest
    extraction: Extraction
    runs: list[Run] = Field(description="Empty when there was no command to run, or the arm is not measured.")
    not_measured: str | None = Field(None, description="Why this arm cannot be measured at all; else null.")
    attempts: int = Field(1, description="Times that its commands were started, until all were measured or given up.")
    unmeasured: str | None = Field(None, description="Why no attempt could measure this cell; it is not tried again.")
    image: ImageInfo
    limits: Limits
    timeout_s: float
    engine: dict[str, Any]
    provenance: dict[str, Any]
