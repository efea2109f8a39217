"""From a seed to a checked world."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from fluency.world import files
from fluency.world.builder import Builder
from fluency.world.crates import add_crates
from fluency.world.model import DAY, World, WorldError
from fluency.world.services import add_processes, add_service
from fluency.world.sources import add_sources

Require = Callable[[bool, str], None]


def check_world(world: World, generated_answers: dict[str, Any]) -> None:
    """WorldError if a kind of decoy is missing, an answer is too short, or a key is not distinct."""

    def require(holds: bool, invariant: str) -> None:
        if not holds:
            raise WorldError(world.seed, invariant)

    for task, answer in generated_answers.items():
        least = 1 if task in ("tree-size-bytes", "session-tool-failures") else 2
        require(len(answer) >= least, f"{task}: at least {least} items in the answer")
        require(len({json.dumps(item) for item in answer}) == len(answer), f"{task}: no item twice")
    _sizes(world, require)
    _manifests(world, require)
    _texts(world, require)
    _services(world, require)


def _sizes(world: World, require: Require) -> None:
    own = world.under("crates/vox-ml-cli")
    classes = {(len(data) > 10_240, world.ages[path] < 7 * DAY) for path, data in own.items()}
    require(len(classes) == 4, "vox-ml-cli: big and small, recent and old files")
    recent = [len(data) for path, data in own.items() if world.ages[path] < 7 * DAY]
    require(
        {10_240, 10_241} <= set(recent), "vox-ml-cli: recent files of exactly 10240 and 10241 bytes"
    )
    require(
        any(10_000 < size < 10_240 for size in recent),
        "vox-ml-cli: a recent file between 10000 and 10240 bytes",
    )
    require(any(" " in path for path in own), "vox-ml-cli: a name with blanks")
    outside = {path for path in world.under("crates") if path not in own}
    large = any(len(world.files[path]) > 10_240 and world.ages[path] < 7 * DAY for path in outside)
    require(large, "a large recent file outside vox-ml-cli")
    rust = [len(data) for path, data in world.under("crates").items() if path.endswith(".rs")]
    require(len(set(rust)) == len(rust), "all .rs sizes differ")
    top = sorted(rust, reverse=True)[:5]
    require(
        all(10_000 <= size <= 99_999 for size in top), "the five largest .rs files have five digits"
    )
    require(sorted(rust, key=str, reverse=True)[:5] != top, "the .rs sizes sort otherwise as text")
    decoys = [
        data for path, data in world.under("crates").items() if path.endswith((".rs.bk", ".bin"))
    ]
    require(sum(len(data) > top[0] for data in decoys) >= 2, "larger files that are not .rs files")
    hidden = [path for path in world.under("crates/vox-corpus") if "/." in path]
    require(len(hidden) >= 3, "vox-corpus: hidden files")
    lengths = {len(data) for path, data in world.under("examples").items() if "/ex" in path}
    require(len(lengths) == 1, "the examples have one length")
    require(100 <= len(world.files) <= 200, f"100 to 200 files, not {len(world.files)}")


def _manifests(world: World, require: Require) -> None:
    texts = {name: world.text(f"crates/{name}/Cargo.toml") for name in world.crates()}
    require(21 <= len(texts) <= 26, f"21 to 26 crates, not {len(texts)}")
    require(
        all(text.startswith("[package]\n") for text in texts.values()),
        "[package] is the first section",
    )
    everything = "\n".join(texts.values())
    for spelling in (r"^reqwest = \{", r"^reqwest   = ", r"^reqwest\.workspace", r'^reqwest = "'):
        require(re.search(spelling, everything, re.M) is not None, f"reqwest is spelled {spelling}")
    users = {name for name, text in texts.items() if re.search(r"^reqwest *[.=]", text, re.M)}
    for decoy in ("reqwest-middleware", "# reqwest =", '"dep:reqwest"'):
        require(
            any(decoy in text for name, text in texts.items() if name not in users),
            f"the look-alike {decoy}",
        )
    turso = [
        name
        for name, text in texts.items()
        if re.search(r'^\[dependencies\.turso\]\nversion = "0\.\d\.0"', text, re.M)
    ]
    require(len(turso) == 3, "three [dependencies.turso] tables")
    require(
        "version =" in "".join(re.findall(r"^description = .*", everything, re.M)),
        "`version =` in a description",
    )
    require(
        "scratch-notes" in world.names_in("crates") and "scratch-notes" not in texts,
        "a folder that is no crate",
    )
    last = sorted(world.names_in("crates"))[-1]
    ages = [world.ages[f"crates/{last}/{name}"] for name in ("Cargo.lock", "Cargo.toml")]
    require(ages[0] > ages[1], "the last crate's lockfile is stale")
    locks = [name for name in texts if f"crates/{name}/Cargo.lock" in world.files]
    require(7 <= len(locks) <= 9, "7 to 9 crates with a lockfile")
    bare = [name for name in texts if "README.md" not in world.names_in(f"crates/{name}")]
    nested = any(f"crates/{name}/docs/README.md" in world.files for name in bare)
    require(nested, "a crate without README.md that has docs/README.md")


def _texts(world: World, require: Require) -> None:
    rust = {path: world.text(path) for path in world.under("crates") if path.endswith(".rs")}
    for decoy in (
        r"\bTODOS\b",
        r"\bTODOs\b",
        r"\btodo!",
        "autodocs",
        r"\bTODO_",
        r"\bTODO\b.*\bTODO\b",
    ):
        require(
            any(re.search(decoy, text) for text in rust.values()), f"a source line like {decoy}"
        )
    log = world.lines("logs/orchestrator.log")
    for word in ("ERROR", "error"):
        require(
            any(word in line[30:] and " ERROR " not in line[:32] for line in log),
            f"{word} in other levels' messages",
        )
    changelog = world.text("CHANGELOG.md")
    for decoy in ("## [Unreleased]", '"## [9.9.9] - 2031-01-01"', "\n### [0.0.1] - 2019-01-01"):
        require(decoy in changelog, f"the changelog holds {decoy}")
    records = [json.loads(line) for line in world.lines("logs/agent-session.jsonl")]
    require(100 <= len(records) <= 180, f"a session of 100 to 180 records, not {len(records)}")
    require(records[0].get("exit_code", 0) != 0, "the session begins with a failure")
    require(any(record.get("exit_code", 0) < 0 for record in records), "a negative exit code")
    require(any("exit_code" not in record for record in records), "records without exit_code")
    lines = world.lines("logs/agent-session.jsonl")
    require(
        any('": ' in line for line in lines) and any('":"' in line for line in lines),
        "compact and spaced JSON",
    )


def _services(world: World, require: Require) -> None:
    crates = json.loads(world.route("/api/crates").body)["crates"]
    downloads = [crate["downloads"] for crate in crates]
    require(len(set(downloads)) == len(downloads) == 14, "14 crates with distinct downloads")
    require(
        len({len(str(count)) for count in downloads}) >= 3, "downloads of different digit counts"
    )
    require(
        max(crates, key=lambda crate: crate["downloads"])["yanked"],
        "the most downloaded crate is yanked",
    )
    kept = [crate["downloads"] for crate in crates if not crate["yanked"]]
    require(
        max(kept) not in (kept[0], kept[-1]),
        "the best of the crates is served neither first nor last",
    )
    require(world.route("/readyz").status != 200, "readyz is never 200")
    keys = {helper.key: helper for helper in world.processes}
    own = [helper for helper in world.processes if helper.name.startswith("vox-")]
    most = max(own, key=lambda helper: helper.rss_mb)
    require(most not in (own[0], own[-1]), "the largest process starts neither first nor last")
    heavy = sorted((helper.rss_mb for helper in own), reverse=True)
    require(heavy[0] >= 3 * heavy[1], "one process with three times the memory of the next")
    larger = any(
        h.rss_mb >= heavy[0] + 50 and "vox-" in h.name for h in world.processes if h not in own
    )
    require(larger, "a larger process whose name holds vox- and does not begin with it")
    require(
        any(h.virt_mb >= 3000 and h.rss_mb < 90 for h in world.processes),
        "a process that only maps",
    )
    workers = [helper for helper in world.processes if helper.name == "vox-worker"]
    require(
        any(helper.parent is None for helper in workers),
        "a worker that is not the scheduler's child",
    )
    require(
        any(h.parent and keys[h.parent].parent for h in world.processes),
        "a grandchild of the scheduler",
    )


_ATTEMPTS = 20


def build_world(seed: int) -> World:
    """The base world of a seed; WorldError names the seed and the invariant if it cannot be built."""
    return build_world_and_answers(seed)[0]


@lru_cache(maxsize=64)
def build_world_and_answers(seed: int) -> tuple[World, dict[str, Any]]:
    """The world, and the generator's own answers by task id, with which tests compare those of the tasks."""
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
