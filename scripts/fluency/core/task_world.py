"""The world a task runs in: the base world of a seed, extended by the task's own fixture if it has one."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from fluency.common.errors import UserError
from fluency.common.files import sha256_file
from fluency.common.source_file import run_source
from fluency.core.tasks import Task
from fluency.world import Builder, World, build_world


def world_for(task: Task, seed: int) -> World:
    """The world a task runs in: the base world, extended by the task's `fixture.py` if it has one."""
    fixture = task.folder / "fixture.py"
    if not fixture.is_file():
        return build_world(seed)
    return _extended(task.id, fixture, sha256_file(fixture), seed)


@lru_cache(maxsize=256)
def _extended(task_id: str, fixture: Path, _content: str, seed: int) -> World:
    builder = Builder.on(build_world(seed), task_id)
    try:
        run_source(fixture).extend(builder, builder.rng)
        return builder.finish()
    except UserError:
        raise
    except Exception as error:
        raise UserError(
            f"the task's fixture raised {type(error).__name__}: {error}",
            where=f"{fixture} (world {seed})",
            hint="define `extend(builder, rng)`; see docs/adding-a-task.md",
        ) from error
