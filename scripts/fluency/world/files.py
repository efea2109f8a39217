"""Logs, changelog, corpus, examples and documents of a world."""

import json
from typing import Any

from fluency.world.builder import Builder
from fluency.world.crates import LOCK_HEAD, Crate
from fluency.world.rng import NAMES


def add_root(b: Builder, crates: list[Crate]) -> None:
    """The root Cargo.toml and README.md."""
    dependencies = "\n".join(f'{name} = "1"' for name in NAMES["third_party"].split())
    b.file(
        "Cargo.toml",
        '[workspace]\nmembers = ["crates/*"]\nexclude = ["crates/scratch-notes"]\n'
        'resolver = "3"\n\n'
        '[workspace.package]\nversion = "0.5.0"\nedition = "2024"\nlicense = "Apache-2.0"\n\n'
        f"[workspace.dependencies]\n{dependencies}\n",
    )
    b.file("README.md", f"# Vox\n\nA workspace of {len(crates)} crates.\n")


def add_lockfile(b: Builder, crates: list[Crate]) -> None:
    """The root Cargo.lock: names with one to three versions, dependency arrays that repeat them."""
    rng = b.rng.split("lockfile")
    known = NAMES["third_party"].split()
    others = [name for name in known if name != "rename-all"]
    repeated = rng.sample(others, rng.pick((9, 11) if b.odd else (8, 10, 12)))
    repeated.append("rename-all")
    counts = {name: rng.between(2, 3) if name in repeated else 1 for name in known}
    counts |= {crate.name: 1 for crate in crates}
    text = LOCK_HEAD
    for name in sorted(counts):
        for number in range(counts[name]):
            version = "0.5.0"
            if not name.startswith(("vox", "work")):
                version = f"{number}.{rng.below(30)}.{rng.below(12)}"
            text += f'\n[[package]]\nname = "{name}"\nversion = "{version}"\ndependencies = [\n'
            for n in sorted(rng.sample(known, rng.between(1, 5))):
                text += f' "{n} {number}.{rng.below(9)}.0",\n' if counts[n] > 1 else f' "{n}",\n'
            text += "]\n"
    b.file("Cargo.lock", text)


def add_changelog(b: Builder) -> None:
    """CHANGELOG.md: front matter, unreleased, 4-7 releases (odd in odd worlds).

    Look-alikes and link references come with them.
    """
    rng = b.rng.split("changelog")
    count = rng.pick((5, 7) if b.odd else (4, 6))
    others = rng.sample([minor for minor in range(3, 16) if minor not in (9, 10)], count - 3)
    minors = [*sorted((9, 10, *others), reverse=True), 1]
    releases, month = [], 2026 * 12 + rng.between(2, 5)
    for place, minor in enumerate(minors):
        version = f"{max(2 - place, 0)}.{minor}.{rng.below(14)}"
        releases.append((version, f"{month // 12}-{month % 12 + 1:02d}-{rng.between(1, 28):02d}"))
        month -= rng.between(1, 2)
    # The digits 0 and 9 at places where a pattern's class may leave out the first or the last.
    releases[1] = (f"1.{minors[1]}.0", f"{releases[1][1][:-2]}10")
    releases[-1] = ("0.1.9", f"2019-09-{rng.pick((9, 19, 29)):02d}")
    text = NAMES["changelog"]
    for number, (version, date) in enumerate(releases):
        change = rng.pick(("Faster", "Smaller", "Safer"))
        text += f"\n## [{version}] - {date}\n\n### Changed\n- {change} queues.\n"
        if number == 0:
            text += '- Headings such as "## [9.9.9] - 2031-01-01" inside a line are text.\n'
    text += "\n### [0.0.1] - 2019-01-01\n\nFirst sketch.\n\n"
    for version, _ in releases:
        text += f"[{version}]: https://example.invalid/vox/releases/v{version}\n"
    b.file("CHANGELOG.md", text)


def add_session(b: Builder) -> None:
    """logs/agent-session.jsonl, of 100 records or more.

    One tool fails in odd worlds, three in even ones; the first record is a failure.
    """
    rng = b.rng.split("session")
    tools = NAMES["tools"].split()
    failing = rng.sample(tools, 1 if b.odd else 3)
    counts = {tool: rng.between(3, 14) for tool in failing}
    if not b.odd:
        counts[failing[-1]] = 1
    results = [
        (tool, code)
        for tool, count in counts.items()
        for code in [-9, 1, 2, *(rng.pick((1, 2, 101, 127)) for _ in range(count - 3))][:count]
    ]
    results += [(rng.pick(tools), 0) for _ in range(rng.between(45, 60))]
    records: list[dict[str, Any]] = [
        {"type": "tool_result", "tool": tool, "exit_code": code} for tool, code in results
    ]
    for _ in range(rng.between(40, 50)):
        kind = rng.pick(("user", "assistant", "tool_call"))
        more = {"tool": rng.pick(tools)} if kind == "tool_call" else {"text": "go on"}
        records.append({"type": kind, **more})
    b.require(len(records) >= 100, f"a session of 100 records, not {len(records)}")
    text = ""
    for number, record in enumerate([records[0], *rng.shuffled(records[1:])], 1):
        separators = (",", ":") if rng.chance(60) else None
        text += json.dumps({"seq": number, **record}, separators=separators) + "\n"
    b.file("logs/agent-session.jsonl", text)


def add_log(b: Builder) -> None:
    """logs/orchestrator.log: about 260 lines over six or seven hours with errors, one without."""
    rng = b.rng.split("log")
    first, hours = rng.between(3, 14), 7 if b.odd else 6
    quiet = first + rng.between(1, hours - 1)
    text = ""
    for hour in range(first, first + hours + 1):
        errors = 0 if hour == quiet else rng.between(2, 12)
        levels = ["ERROR"] * errors
        levels += [rng.pick(("INFO", "WARN", "DEBUG")) for _ in range(260 // (hours + 1) - errors)]
        levels[-2:] = ["INFO", "WARN"]
        seconds = sorted(rng.sample(range(3600), len(levels)))
        for second, level in zip(seconds, rng.shuffled(levels), strict=True):
            time = f"{hour:02d}:{second // 60:02d}:{second % 60:02d}.{rng.below(1000):03d}"
            said = rng.pick(NAMES["errors" if level == "ERROR" else "calm"].splitlines())
            text += f"2026-05-14T{time}Z {level} {said}\n"
    b.file("logs/orchestrator.log", text)


def add_corpus(b: Builder) -> None:
    """Files of crates/vox-corpus besides sources: hidden ones, a folder that only looks empty."""
    rng = b.rng.split("corpus")
    b.file("crates/vox-corpus/cache/.gitkeep", b"")
    state = {"shards": rng.between(2, 64), "next": rng.below(100_000)}
    b.file("crates/vox-corpus/.meta/state.json", json.dumps(state) + "\n")
    shards = "".join(f'{{"shard": {n}}}\n' for n in range(rng.between(20, 90)))
    b.file("crates/vox-corpus/data/shards.jsonl", shards)
    pairs = "INSERT INTO pairs VALUES (1, 2);\n" * rng.between(5, 40)
    b.file("crates/vox-corpus/data/2026/pairs.sql", pairs)
    b.file("crates/vox-corpus/.index.bin", rng.bytes(rng.between(2000, 6000)))


def fix_corpus_parity(b: Builder) -> None:
    """Make the size of vox-corpus odd in odd worlds and even in even ones; call it last."""
    inside = (data for path, data in b.files.items() if path.startswith("crates/vox-corpus/"))
    if sum(map(len, inside)) % 2 != b.odd:
        b.files["crates/vox-corpus/.index.bin"] += b"\0"


def add_empty_folders(b: Builder, crates: list[Crate]) -> None:
    """2-4 folders without entries under crates/ (three in odd worlds), one elsewhere."""
    rng = b.rng.split("empty")
    for crate in rng.sample(crates, 3 if b.odd else rng.pick((2, 4))):
        b.folder(f"crates/{crate.name}/{rng.pick(('tests/golden', 'benches', 'assets/tmp'))}")
    b.folder("docs/drafts")


def add_examples(b: Builder) -> None:
    """Files of one length under examples/: singles, one pair or two, a triple.

    Two further ones share the size alone.
    """
    rng = b.rng.split("examples")
    groups = [1] * rng.between(6, 9) + [2] * (1 if b.odd else 2) + [3]
    names = iter(rng.shuffled([f"ex{number:02d}.vox" for number in range(sum(groups))]))
    length = rng.between(600, 900)
    for number, copies in enumerate(groups):
        head = f"// example {number:02d}\nfn main() {{\n    print({rng.between(1000, 9999)});\n}}\n"
        text = head + "//" + "." * (length - len(head) - 3) + "\n"
        for _ in range(copies):
            b.file(f"examples/{rng.pick(('golden', 'mesh', 'ui'))}/{next(names)}", text)
    twin = "// twin\n" + "=" * 400
    b.file("examples/golden/pair-a.vox", f"{twin}\n// a\n")
    b.file("examples/ui/pair-b.vox", f"{twin}\n// b\n")


def add_documents(b: Builder) -> None:
    """Documents and contracts that no task asks for."""
    rng = b.rng.split("documents")
    for name in NAMES["documents"].split():
        notes = "Notes on the workspace.\n" * rng.between(10, 80)
        b.file(f"docs/src/{name}.md", f"# {name.title()}\n\n{notes}")
    for name in NAMES["contracts"].split():
        schema = {"title": name, "type": "object", "version": rng.between(1, 9)}
        b.file(f"contracts/{name}.schema.json", json.dumps(schema, indent=2) + "\n")
    table = "CREATE TABLE runs (id INTEGER PRIMARY KEY);\n"
    b.file("crates/vox-db/migrations/0001_init.sql", table)
