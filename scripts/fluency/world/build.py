"""From a seed to a finished, checked world; and the world of a task that brings a fixture of its own."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from fluency.common.errors import UserError
from fluency.common.files import sha256_file
from fluency.world.builder import Builder
from fluency.world.invariants import check_world
from fluency.world.manifests import add_crates
from fluency.world.model import World, WorldError
from fluency.world.scenery import add_corpus, add_documents, add_empty_folders, add_examples, even_out_corpus
from fluency.world.services import add_processes, add_service
from fluency.world.sources import add_sources
from fluency.world.texts import add_changelog, add_lockfile, add_log, add_root, add_session

if TYPE_CHECKING:
    from fluency.core.tasks import Task

_ATTEMPTS = 20


@lru_cache(maxsize=64)
def build_world(seed: int) -> World:
    """The base world of a seed; WorldError names the seed and the invariant if it cannot be built."""
    return build_with_tally(seed)[0]


@lru_cache(maxsize=64)
def build_with_tally(seed: int) -> tuple[World, dict]:
    """The world and the generator's own answers, by task id; they are an assertion beside the answers, not a source."""
    refused: WorldError | None = None
    for attempt in range(_ATTEMPTS):
        builder = Builder(seed, attempt)
        try:
            world = _build(builder)
            check_world(world, builder.tally)
        except WorldError as error:
            refused = refused or error
            continue
        return world, builder.tally
    assert refused is not None
    raise refused


def _build(b: Builder) -> World:
    crates = add_crates(b)
    add_sources(b, crates)
    add_root(b, crates)
    add_lockfile(b, crates)
    add_changelog(b)
    add_session(b)
    add_log(b)
    add_corpus(b)
    add_empty_folders(b, crates)
    add_examples(b)
    add_documents(b)
    add_service(b)
    add_processes(b)
    even_out_corpus(b)
    return b.finish()


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
        module.extend(builder, builder.dice)
        return builder.finish()
    except UserError:
        raise
    except Exception as error:
        raise UserError(
            f"the task's fixture raised {type(error).__name__}: {error}",
            where=f"{fixture} (world {seed})",
            hint="define `extend(builder, dice)`; see docs/adding-a-task.md",
        ) from error
