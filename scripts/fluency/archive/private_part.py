"""Private tasks in an archive: what replaces them in the public part, and which files go into the private part.

Both parts have the same manifest, which names every file of both. `held_out.json`, in the public part, holds the hashes
of each private task and the table's row of each of its cells.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from fluency.archive.world_files import world_folder
from fluency.common.files import pretty_json
from fluency.core.held_out import HeldOutTask
from fluency.core.schema import Digest, FrozenModel
from fluency.core.study import Study
from fluency.core.table import RECORD_TYPES, Row
from fluency.core.tasks import Task
from fluency.world import World

HELD_OUT = "held_out.json"
SHARED = ("answers/", "worlds/", "logs/")
"""Folders whose names do not show the task. All logs are private: what an error quoted is unknown."""


class WorldHash(FrozenModel):
    """A world of which only the hash is known."""

    sha256: Digest


class HiddenTasks(FrozenModel):
    """`held_out.json`. `worlds`: task -> seed -> the hash of its world. `rows`: those of the tasks' cells."""

    tasks: list[HeldOutTask]
    worlds: dict[str, dict[str, WorldHash]]
    rows: list[Row]


def hidden_tasks(tasks: Sequence[Task | HeldOutTask], study: Study) -> list[Task | HeldOutTask]:
    """The tasks whose files do not go into the public part."""
    return [] if study.show_private else [task for task in tasks if task.private]


def hidden_tasks_json(
    tasks: Sequence[Task | HeldOutTask],
    study: Study,
    rows: Sequence[Row],
    world_for: Callable[[Any, int], World | WorldHash],
) -> bytes:
    """The bytes of `held_out.json` for these private tasks; `rows` are the table's."""
    ids = {task.id for task in tasks}
    worlds = {
        task.id: {str(seed): WorldHash(sha256=world_for(task, seed).sha256) for seed in study.seeds}
        for task in tasks
    }
    document = HiddenTasks(
        tasks=[HeldOutTask.of(task) for task in tasks],
        worlds=worlds,
        rows=[row for row in rows if row.task in ids],
    )
    return pretty_json(document.model_dump(mode="json")).encode()


def hidden_file_names(everything: Collection[str], public: Collection[str]) -> list[str]:
    """The names of the private part: those of the private tasks' entries alone, and every log."""
    return sorted(
        {
            *set(everything).difference(public),
            *(name for name in everything if name.startswith("logs/")),
        }
    )


def belongs_to_private_task(name: str, ids: Collection[str]) -> bool:
    """Whether a file of this name may be in the private part where these tasks are private."""
    folder, *rest = name.split("/")
    if folder == "tasks":
        return rest[0] in ids
    if folder == "results" and rest[0] in RECORD_TYPES:
        return len(rest) == 5 and rest[3] in ids
    return name.startswith(SHARED)


def world_folders(hidden: HiddenTasks) -> Mapping[str, Mapping[str, str]]:
    """Task -> seed -> the folder of a world with the stated hash."""
    return {
        task: {seed: world_folder(seed, world.sha256) for seed, world in worlds.items()}
        for task, worlds in hidden.worlds.items()
    }
