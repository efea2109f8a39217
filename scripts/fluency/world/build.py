"""From a seed to a finished, checked world."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from fluency.world.builder import Builder
from fluency.world.invariants import check_world
from fluency.world.manifests import add_crates
from fluency.world.model import World, WorldError
from fluency.world.other_files import add_corpus, add_documents, add_empty_folders, add_examples, even_out_corpus
from fluency.world.services import add_processes, add_service
from fluency.world.sources import add_sources
from fluency.world.texts import add_changelog, add_lockfile, add_log, add_root, add_session

_ATTEMPTS = 20


@lru_cache(maxsize=64)
def build_world(seed: int) -> World:
    """The base world of a seed; WorldError names the seed and the invariant if it cannot be built."""
    return build_with_tally(seed)[0]


@lru_cache(maxsize=64)
def build_with_tally(seed: int) -> tuple[World, dict[str, Any]]:
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
