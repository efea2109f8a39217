"""The world a task runs in: the base world of a seed, extended by the task's own fixture if it has one."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path

from fluency.common.errors import UserError
from fluency.common.files import sha256_file
from fluency.core.tasks import Task
from fluency.world import Builder, World, build_world


def world_for(task: Task, seed: int) -> World:
    """The world a task runs in: the base world, extended by the task's `fixture.py` if it has one."""
    fixture = task.folder / "fixture.py"
    if not fixture.is_file():
        return build_world(seed)
    return _extended(task.id, fixture, sha256_file(fixture), seed)


@lru_cache(maxsize=64)
def _extended(task_id: str, fixture: Path, _content: str, seed: int) -> World:
    spec = importlib.util.spec_from_file_location(f"fluency_fixture_{task_id.replace('-', '_')}", fixture)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    builder = Builder.on(build_world(seed), task_id)
    try:
        spec.loader.exec_module(module)  # type: ignore[union-attr]
        module.extend(builder, builder.rng)
        return builder.finish()
    except UserError:
        raise
    except Exception as error:
        raise UserError(
            f"the task's fixture raised {type(error).__name__}: {error}",
            where=f"{fixture} (world {seed})",
            hint="define `extend(builder, rng)`; see docs/adding-a-task.md",
        ) from error
