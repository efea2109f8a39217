"""From a seed to a checked world."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from fluency.world import files
from fluency.world.builder import Builder
from fluency.world.crates import add_crates
from fluency.world.model import World, WorldError
from fluency.world.services import add_processes, add_service
from fluency.world.sources import add_sources


def check_world(world: World, generated_answers: dict[str, Any]) -> None:
    """WorldError if a draw has made an answer too short, not distinct, or right by luck.

    The decoys of tasks are in every world; tests/world looks for them.
    """

    def require(holds: bool, invariant: str) -> None:
        if not holds:
            raise WorldError(world.seed, invariant)

    for task, answer in generated_answers.items():
        least = 1 if task in ("tree-size-bytes", "session-tool-failures") else 2
        require(len(answer) >= least, f"{task}: at least {least} items in the answer")
        require(len(set(map(str, answer))) == len(answer), f"{task}: no item twice")
    require(100 <= len(world.files) <= 200, f"100 to 200 files, not {len(world.files)}")
    rust = [len(data) for path, data in world.under("crates").items() if path.endswith(".rs")]
    by_text, by_size = sorted(rust, key=str)[-5:], sorted(rust)[-5:]
    require(by_text != by_size, "the .rs sizes have another order as text")
    records = len(world.lines("logs/agent-session.jsonl"))
    require(100 <= records <= 180, f"a session of 100 to 180 records, not {records}")
    crates = json.loads(world.route("/api/crates").body)["crates"]
    downloads = {crate["downloads"] for crate in crates}
    require(len(downloads) == 14, "14 crates with distinct downloads")
    kept = [crate["downloads"] for crate in crates if not crate["yanked"]]
    unsorted = max(kept) not in (kept[0], kept[-1])
    require(unsorted, "the best of the crates is served neither first nor last")


_ATTEMPTS = 20


def build_world(seed: int) -> World:
    """The base world of a seed; WorldError names the seed and the invariant if it cannot be built."""
    return build_world_and_answers(seed)[0]


@lru_cache(maxsize=64)
def build_world_and_answers(seed: int) -> tuple[World, dict[str, Any]]:
    """The world, and the generator's own answers by task id, which tests compare with the tasks' answers."""
    refused: WorldError | None = None
    for attempt in range(_ATTEMPTS):
        builder = Builder(seed, attempt)
        try:
            world = _build(builder)
            check_world(world, builder.generated_answers)
        except WorldError as error:
            refused = refused or error
            continue
        return world, builder.generated_answers
    assert refused is not None
    raise refused


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
    return b.finish()
