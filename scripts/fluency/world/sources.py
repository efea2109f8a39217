"""Rust sources of exact size."""

from __future__ import annotations

from collections.abc import Callable

from fluency.world.builder import Builder
from fluency.world.crates import Crate
from fluency.world.rng import COMMANDS, NAMES, Rng

_CODE, _WHOLE, _LOOK_ALIKES = (
    NAMES[kind].splitlines() for kind in ("code", "todo_lines", "todo_look_alikes")
)


def rust_text(rng: Rng, size: int, planned: list[str]) -> bytes:
    """Source text of exactly `size` bytes that holds each planned line once; no line is ever cut."""
    room = size - sum(len(line) + 1 for line in planned)
    lines: list[str] = []
    while room > 80:
        line = rng.pick(_CODE)
        lines.append(line)
        room -= len(line) + 1
    for line in planned:
        lines.insert(rng.below(len(lines) + 1), line)
    if room >= 3:
        lines.append("//" + "-" * (room - 3))
        room = 0
    text = "\n".join(lines) + "\n" + "\n" * room
    assert len(text) == size, "the planned lines are longer than the file"
    return text.encode("ascii")


def add_sources(b: Builder, crates: list[Crate]) -> None:
    """Add every crate's .rs files, the decoys that are nearly .rs files, and vox-ml-cli's sizes and ages."""
    rng = b.rng.split("sources")
    sizes = _plan_sizes(b, rng.split("sizes"), crates)
    plan = _plan_lines(b, rng.split("lines"), crates, sorted(sizes))
    for path in sorted(sizes):
        b.file(path, rust_text(rng, sizes[path], plan[path]), age_days=b.ages.pop(path, None))
    host = rng.pick(
        [crate.name for crate in crates if crate.name not in ("vox-ml-cli", "vox-corpus")]
    )
    b.file(f"crates/{host}/tests/snap.bin", rng.split("snap").bytes(200_000))
    b.file(f"crates/{host}/src/old.rs.bk", rust_text(rng, 150_000, [*_WHOLE, *_LOOK_ALIKES]))
    b.file("scripts/codegen.rs", rust_text(rng, 120_001, [*_WHOLE, *_LOOK_ALIKES]))


def _plan_sizes(b: Builder, rng: Rng, crates: list[Crate]) -> dict[str, int]:
    """The size of every .rs file under crates/, all different; the largest is odd in odd worlds."""
    used: set[int] = {10_240, 10_241}

    def size(low: int, high: int) -> int:
        drawn = rng.between(low, high)
        while drawn in used:
            drawn += 1
        used.add(drawn)
        return drawn

    sizes: dict[str, int] = {}
    for crate in crates:
        folder = f"crates/{crate.name}/src"
        if crate.name == "vox-ml-cli":
            continue
        sizes[f"{folder}/lib.rs"] = size(1500, 8900)
        for name in rng.sample(
            ("main.rs", "util.rs", "error.rs", "config.rs", "state.rs"), rng.between(1, 3)
        ):
            sizes[f"{folder}/{name}"] = size(1200, 8900)
    sizes["crates/vox-db/src/lib.rs"] = size(9100, 9900)
    tables = rng.sample(
        [crate.name for crate in crates if crate.name != "vox-ml-cli"], rng.between(3, 5)
    )
    for name in tables:
        sizes[f"crates/{name}/src/gen/tables.rs"] = size(11_000, 79_000)
    largest = f"crates/{tables[0]}/src/gen/tables.rs"
    sizes[largest] = 80_000 + 2 * rng.between(10, 4900) + b.odd
    b.ages[largest] = b.recent_age()
    sizes.update(_ml_cli(b, rng.split("ml-cli"), size))
    b.generated_answers["largest-rust-files"] = [
        f"{count} {path}"
        for count, path in sorted(((c, p) for p, c in sizes.items()), reverse=True)[:5]
    ]
    return sizes


def _ml_cli(b: Builder, rng: Rng, size: Callable[[int, int], int]) -> dict[str, int]:
    """Big and small, recent and old files in three folders; sizes at and around the limit; a name with blanks."""
    folder = "crates/vox-ml-cli/src/commands"
    parts = ("ai", "corpus", "mens")
    paths = [
        f"{folder}/{parts[number % 3]}/{name}.rs"
        for number, name in enumerate(rng.shuffled(COMMANDS))
    ]
    names = rng.shuffled(paths)
    recent_big = rng.pick((2, 4) if b.odd else (3, 5))
    kinds = (
        ["big recent"] * recent_big
        + ["big old"] * rng.between(2, 3)
        + ["small recent"] * 2
        + ["small old"] * 3
    )
    sizes: dict[str, int] = {"crates/vox-ml-cli/src/main.rs": size(1200, 4000)}
    big: list[str] = []
    for path, kind in zip(names, kinds, strict=False):
        sizes[path] = size(11_000, 36_000) if kind.startswith("big") else size(1200, 9800)
        b.ages[path] = b.recent_age() if kind.endswith("recent") else b.old_age()
        big += [path] if kind == "big recent" else []
    for path, exact in zip(
        names[len(kinds) :], (10_240, 10_241, size(10_001, 10_200)), strict=False
    ):
        sizes[path], b.ages[path] = exact, b.recent_age()
        big += [path] if exact > 10_240 else []
    notes = "crates/vox-ml-cli/tests/data/eval gate notes.md"
    text = (
        "# Eval gate\n\n"
        + "The gate compares two checkpoints on the held-out set.\n" * rng.between(200, 400)
    )
    b.file(notes, text, age_days=b.recent_age())
    b.generated_answers["recent-large-files"] = [*big, notes]
    return sizes


def _plan_lines(
    b: Builder, rng: Rng, crates: list[Crate], paths: list[str]
) -> dict[str, list[str]]:
    """The TODO lines and their look-alikes of each file; some crates have none, the total is odd in odd worlds."""
    plan: dict[str, list[str]] = {path: [] for path in paths}
    names = rng.shuffled([crate.name for crate in crates])
    counts = {name: rng.between(1, 9) for name in names[: len(names) * 3 // 4]}
    first = next(iter(counts))
    counts[first] += (sum(counts.values()) - b.odd) % 2
    for name in names:
        own = [path for path in paths if path.startswith(f"crates/{name}/")]
        whole = [rng.pick(_WHOLE) for _ in range(counts.get(name, 0))]
        whole[:1] = [_WHOLE[1]] if whole else []
        for line in (*whole, *rng.sample(_LOOK_ALIKES, 4)):
            plan[rng.pick(own)].append(line)
    b.generated_answers["todo-lines-per-crate"] = [
        f"{name} {count}" for name, count in counts.items()
    ]
    return plan
