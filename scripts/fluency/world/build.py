"""From a seed to a world."""

from functools import lru_cache

from fluency.world import files
from fluency.world.builder import Builder
from fluency.world.crates import add_crates
from fluency.world.model import World, WorldError
from fluency.world.services import add_processes, add_service
from fluency.world.sources import add_sources

_ATTEMPTS = 20
"""Sets of draws for a seed; one in four is unlucky."""


@lru_cache(maxsize=64)
def build_world(seed: int) -> World:
    """The base world of a seed.

    Raises:
        WorldError: if it cannot be built; names the seed and the invariant.
    """
    refused = []
    for attempt in range(_ATTEMPTS):
        try:
            return _build(Builder(World(seed), str(attempt)))
        except WorldError as error:
            refused.append(error)
    raise refused[0]


def _build(b: Builder) -> World:
    crates = add_crates(b)
    add_sources(b, crates)
    files.add_root(b, crates)
    files.add_lockfile(b, crates)
    files.add_changelog(b)
    files.add_session(b)
    files.add_log(b)
    files.add_corpus(b)
    files.add_empty_folders(b, crates)
    files.add_examples(b)
    files.add_documents(b)
    add_service(b)
    add_processes(b)
    files.fix_corpus_parity(b)
    b.require(len(b.files) <= 200, f"at most 200 files, not {len(b.files)}")
    return b.finish()
