"""Private tasks in an archive: what stands for them in it, and which of its files go into a part of their own.

Both parts have the same manifest, which names every file of both. `held_out.json`, in the public part, says of each
private task its hashes, and of each of its cells the row of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from pydantic import ValidationError

from fluency.archive.untrusted_json import untrusted_json
from fluency.common.errors import ArchiveError
from fluency.common.files import pretty_json
from fluency.core.held_out import HeldOutTask
from fluency.core.schema import Digest, FrozenModel, first_problem
from fluency.core.study import Study
from fluency.core.table import RECORD_TYPES, Row
from fluency.core.tasks import Task

HELD_OUT = "held_out.json"
SHARED = ("answers/", "worlds/", "logs/")
"""Folders whose names do not tell the task. Logs are held out whole: nobody knows what an error quoted."""


class Hashed(Protocol):
    """A world, or what is known of one."""

    @property
    def sha256(self) -> str:
        """Of everything in it."""


class StatedWorld(FrozenModel):
    """A world of which nothing but the hash is known."""

    sha256: Digest


class HeldOut(FrozenModel):
    """`held_out.json`. `worlds`: task -> seed -> what is stated of its world. `rows`: those of the tasks' cells."""

    tasks: list[HeldOutTask]
    worlds: dict[str, dict[str, StatedWorld]]
    rows: list[Row]


def held_out_tasks(tasks: Sequence[Task | HeldOutTask], study: Study) -> list[Task | HeldOutTask]:
    """The tasks whose files do not go into the public part."""
    return [] if study.show_private else [task for task in tasks if task.private]


def held_out_document(
    tasks: Sequence[Task | HeldOutTask], study: Study, rows: Sequence[Row], world_for: Callable[[Any, int], Hashed]
) -> bytes:
    """The bytes of `held_out.json` for these private tasks; `rows` are the table's."""
    ids = {task.id for task in tasks}
    worlds = {
        task.id: {str(seed): StatedWorld(sha256=world_for(task, seed).sha256) for seed in study.seeds} for task in tasks
    }
    document = HeldOut(
        tasks=[HeldOutTask.of(task) for task in tasks], worlds=worlds, rows=[row for row in rows if row.task in ids]
    )
    return pretty_json(document.model_dump(mode="json")).encode()


def read_held_out(root: Path) -> HeldOut:
    """The document of an unpacked archive; ArchiveError where it is none."""
    try:
        return HeldOut.model_validate(untrusted_json((root / HELD_OUT).read_bytes(), HELD_OUT))
    except FileNotFoundError:
        raise ArchiveError("the archive does not hold it", where=HELD_OUT) from None
    except ValidationError as error:
        raise ArchiveError(f"it does not describe private tasks: {first_problem(error)}", where=HELD_OUT) from None


def held_out_names(everything: Collection[str], public: Collection[str]) -> list[str]:
    """The names that are held out: those of the private tasks' entries alone, and every log."""
    return sorted({*set(everything).difference(public), *(name for name in everything if name.startswith("logs/"))})


def of_private_task(name: str, ids: Collection[str]) -> bool:
    """Whether a file of this name may be held out where these tasks are private."""
    folder, *rest = name.split("/")
    if folder == "tasks":
        return rest[0] in ids
    if folder == "results" and rest[0] in RECORD_TYPES:
        return len(rest) == 5 and rest[3] in ids
    return name.startswith(SHARED)


def stated_folders(held: HeldOut) -> Mapping[str, Mapping[str, str]]:
    """Task -> seed -> the folder that a world of the stated hash stands in."""
    return {
        task: {seed: f"worlds/{seed}-{world.sha256[:16]}" for seed, world in worlds.items()}
        for task, worlds in held.worlds.items()
    }
