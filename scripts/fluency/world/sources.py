"""Rust sources of exact size."""

from collections.abc import Callable
from itertools import islice

from fluency.world.builder import Builder
from fluency.world.crates import Crate
from fluency.world.rng import NAMES, Rng

_CODE, _WHOLE, _LOOK_ALIKES = (
    NAMES[kind].splitlines() for kind in ("code", "todo_lines", "todo_look_alikes")
)


def rust_text(rng: Rng, size: int, planned: list[str]) -> bytes:
    """Source text of exactly `size` bytes, with each planned line once; no line is ever cut."""
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
    """Add every crate's .rs files, and decoys that are nearly .rs files."""
    rng = b.rng.split("sources")
    sizes = _plan_sizes(b, rng.split("sizes"), crates)
    plan = _plan_lines(b, rng.split("lines"), crates, sorted(sizes))
    for path in sorted(sizes):
        b.file(path, rust_text(rng, sizes[path], plan[path]), age_days=b.ages.pop(path, None))
    names = [crate.name for crate in crates]
    host = rng.pick([name for name in names if name not in ("vox-ml-cli", "vox-corpus")])
    b.file(f"crates/{host}/tests/snap.bin", rng.split("snap").bytes(200_000))
    b.file(f"crates/{host}/src/old.rs.bk", rust_text(rng, 150_000, [*_WHOLE, *_LOOK_ALIKES]))
    b.file("scripts/codegen.rs", rust_text(rng, 120_001, [*_WHOLE, *_LOOK_ALIKES]))


def _plan_sizes(b: Builder, rng: Rng, crates: list[Crate]) -> dict[str, int]:
    """The size of every .rs file under crates/, all different; the largest is odd in odd worlds."""
    used = {10_240, 10_241}

    def size(low: int, high: int) -> int:
        drawn = rng.between(low, high)
        while drawn in used:
            drawn += 1
        used.add(drawn)
        return drawn

    sizes: dict[str, int] = {}
    names = [crate.name for crate in crates if crate.name != "vox-ml-cli"]
    for crate in names:
        sizes[f"crates/{crate}/src/lib.rs"] = size(1500, 8900)
        for name in rng.sample(NAMES["sources"].split(), rng.between(1, 3)):
            sizes[f"crates/{crate}/src/{name}.rs"] = size(1200, 8900)
    sizes["crates/vox-db/src/lib.rs"] = size(9100, 9900)
    tables = rng.sample(names, rng.between(3, 5))
    for name in tables:
        sizes[f"crates/{name}/src/gen/tables.rs"] = size(11_000, 79_000)
    largest = f"crates/{tables[0]}/src/gen/tables.rs"
    sizes[largest] = 80_000 + 2 * rng.between(10, 4900) + b.odd
    b.ages[largest] = b.recent_age()
    sizes.update(_ml_cli(b, rng.split("ml-cli"), size))
    return sizes


def _ml_cli(b: Builder, rng: Rng, size: Callable[[int, int], int]) -> dict[str, int]:
    """Big and small, recent and old files in three folders.

    Sizes are at and around the limit, too. One name has blanks.
    """
    paths = [
        f"crates/vox-ml-cli/src/commands/{('ai', 'corpus', 'mens')[number % 3]}/{name}.rs"
        for number, name in enumerate(rng.shuffled(NAMES["commands"].split()))
    ]
    left = iter(rng.shuffled(paths))
    recent_big = rng.pick((2, 4) if b.odd else (3, 5))
    counts = {(True, True): recent_big, (True, False): rng.between(2, 3)}
    counts |= {(False, True): 2, (False, False): 3}
    sizes = {"crates/vox-ml-cli/src/main.rs": size(1200, 4000)}
    for (big, recent), count in counts.items():
        for path in islice(left, count):
            sizes[path] = size(11_000, 36_000) if big else size(1200, 9800)
            b.ages[path] = b.recent_age() if recent else b.old_age()
    for exact in (10_240, 10_241, size(10_001, 10_200)):
        path = next(left)
        sizes[path], b.ages[path] = exact, b.recent_age()
    notes = "The gate compares two checkpoints on the held-out set.\n" * rng.between(200, 400)
    path = "crates/vox-ml-cli/tests/data/eval gate notes.md"
    b.file(path, f"# Eval gate\n\n{notes}", age_days=b.recent_age())
    return sizes


def _plan_lines(
    b: Builder, rng: Rng, crates: list[Crate], paths: list[str]
) -> dict[str, list[str]]:
    """The TODO lines and their look-alikes of each file.

    Some crates have no TODO lines, the total is odd in odd worlds.
    """
    plan: dict[str, list[str]] = {path: [] for path in paths}
    names = rng.shuffled([crate.name for crate in crates])
    counts = {name: rng.between(1, 9) for name in names[: len(names) * 3 // 4]}
    counts[names[0]] += (sum(counts.values()) - b.odd) % 2
    for name in names:
        own = [path for path in paths if path.startswith(f"crates/{name}/")]
        whole = [rng.pick(_WHOLE) for _ in range(counts.get(name, 0))]
        whole[:1] = [_WHOLE[1]] if whole else []
        for line in (*whole, *rng.sample(_LOOK_ALIKES, 4)):
            plan[rng.pick(own)].append(line)
    return plan
