"""The rest of the tree: vox-corpus with its hidden files, empty folders, examples with duplicates, documents."""

from __future__ import annotations

import json

from fluency.world.builder import Builder
from fluency.world.manifests import Crate


def add_corpus(b: Builder) -> None:
    """crates/vox-corpus beside its sources: hidden files, a folder that only looks empty."""
    rng = b.rng.split("corpus")
    b.file("crates/vox-corpus/cache/.gitkeep", b"")
    state = {"shards": rng.between(2, 64), "next": rng.below(100_000)}
    b.file("crates/vox-corpus/.meta/state.json", json.dumps(state) + "\n")
    b.file("crates/vox-corpus/data/shards.jsonl", "".join(f'{{"shard": {n}}}\n' for n in range(rng.between(20, 90))))
    b.file("crates/vox-corpus/data/2026/pairs.sql", "INSERT INTO pairs VALUES (1, 2);\n" * rng.between(5, 40))
    b.file("crates/vox-corpus/.index.bin", rng.bytes(rng.between(2000, 6000)))


def even_out_corpus(b: Builder) -> None:
    """Make the size of vox-corpus odd in odd worlds and even in even ones; to be called when all is there."""
    total = sum(len(data) for path, data in b.files.items() if path.startswith("crates/vox-corpus/"))
    if total % 2 != b.odd:
        b.files["crates/vox-corpus/.index.bin"] += b"\0"
        total += 1
    b.tally["tree-size-bytes"] = [str(total)]


def add_empty_folders(b: Builder, crates: list[Crate]) -> None:
    """2-4 folders without entries under crates/ (three in odd worlds), one elsewhere."""
    rng = b.rng.split("empty")
    owners = rng.sample([crate.name for crate in crates], 3 if b.odd else rng.pick((2, 4)))
    empty = [f"crates/{name}/{rng.pick(('tests/golden', 'benches', 'assets/tmp'))}" for name in owners]
    for path in empty:
        b.folder(path)
    b.folder("docs/drafts")
    b.tally["empty-directories"] = empty


def add_examples(b: Builder) -> None:
    """Files of one length under examples/: singles, one pair or two, a triple, and two that only share the size."""
    rng = b.rng.split("examples")
    groups = [1] * rng.between(6, 9) + [2] * (1 if b.odd else 2) + [3]
    names = iter(rng.shuffled([f"ex{number:02d}.vox" for number in range(sum(groups))]))
    length = rng.between(600, 900)
    duplicates = []
    for number, copies in enumerate(groups):
        head = f"// example {number:02d}\nfn main() {{\n    print({rng.between(1000, 9999)});\n}}\n"
        text = head + "//" + "." * (length - len(head) - 3) + "\n"
        for _ in range(copies):
            path = f"examples/{rng.pick(('golden', 'mesh', 'ui'))}/{next(names)}"
            b.file(path, text)
            duplicates += [path] if copies > 1 else []
    twin = "// twin\n" + "=" * 400
    b.file("examples/golden/pair-a.vox", f"{twin}\n// a\n")
    b.file("examples/ui/pair-b.vox", f"{twin}\n// b\n")
    b.tally["duplicate-examples"] = duplicates


def add_documents(b: Builder) -> None:
    """Documents and contracts that no task asks for."""
    rng = b.rng.split("documents")
    for name in ("architecture", "glossary", "mesh", "queues", "release", "roadmap"):
        b.file(f"docs/src/{name}.md", f"# {name.title()}\n\n" + "Notes on the workspace.\n" * rng.between(10, 80))
    for name in ("corpus", "events", "mesh", "session"):
        schema = {"title": name, "type": "object", "version": rng.between(1, 9)}
        b.file(f"contracts/{name}.schema.json", json.dumps(schema, indent=2) + "\n")
    b.file("crates/vox-db/migrations/0001_init.sql", "CREATE TABLE runs (id INTEGER PRIMARY KEY);\n")
