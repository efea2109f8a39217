"""Each invariant refuses the world that breaks it and names the seed."""

import json
import re
from dataclasses import fields, replace

import pytest

from fluency.world import (
    Builder,
    HelperSpec,
    When,
    WorldError,
    build_world,
    build_world_and_answers,
)
from fluency.world.build import check_world
from fluency.world.model import world_sha256

WORLD, TALLY = build_world_and_answers(24)
CRATES = WORLD.crates()
ML = "crates/vox-ml-cli"


def edited(path: str, old: str, new: str, count: int = -1):
    return replace(
        WORLD, files={**WORLD.files, path: WORLD.text(path).replace(old, new, count).encode()}
    )


def without(*paths: str):
    return replace(
        WORLD, files={path: data for path, data in WORLD.files.items() if path not in paths}
    )


def everywhere(old: str, new: str, suffix: str):
    files = {
        p: re.sub(old, new, d.decode(), flags=re.M).encode() if p.endswith(suffix) else d
        for p, d in WORLD.files.items()
    }
    return replace(WORLD, files=files)


def resized(size: int, other: int):
    return replace(
        WORLD,
        files={
            p: d + b" " if len(d) == size and p.endswith(".rs") else d
            for p, d in WORLD.files.items()
        },
    )


def served(path: str, change):
    routes = tuple(replace(r, **change(r)) if r.path == path else r for r in WORLD.http)
    return replace(WORLD, http=routes)


def unyanked(route):
    crates = json.loads(route.body)["crates"]
    return {"body": json.dumps({"crates": [c | {"yanked": False} for c in crates]}).encode()}


def sorted_by_downloads(route):
    crates = sorted(json.loads(route.body)["crates"], key=lambda c: (c["yanked"], -c["downloads"]))
    return {"body": json.dumps({"crates": crates}).encode()}


def helpers(change):
    return replace(WORLD, processes=tuple(change(helper) for helper in WORLD.processes))


README_LESS = [name for name in CRATES if f"crates/{name}/README.md" not in WORLD.files]
LAST = CRATES[-1]
BROKEN = {
    "exactly 10240 and 10241": lambda: resized(10_240, 0),
    "between 10000 and 10240 bytes": lambda: without(
        *(p for p, d in WORLD.under(ML).items() if 1e4 < len(d) < 10_240)
    ),
    "a name with blanks": lambda: without(f"{ML}/tests/data/eval gate notes.md"),
    "big and small, recent and old": lambda: replace(WORLD, ages=dict.fromkeys(WORLD.ages, 86400)),
    "a large recent file outside": lambda: replace(
        WORLD, ages={p: a if p.startswith(ML) else 30 * 86_400 for p, a in WORLD.ages.items()}
    ),
    "larger files that are not .rs": lambda: without(
        *(p for p in WORLD.files if p.endswith("snap.bin"))
    ),
    "hidden files": lambda: without("crates/vox-corpus/.index.bin"),
    "the examples have one length": lambda: edited(
        next(p for p in WORLD.files if p[:9] == "examples/"), "fn", "fun"
    ),
    "first section": lambda: edited(
        f"crates/{CRATES[0]}/Cargo.toml", "[package]", "# head\n[package]"
    ),
    r"spelled \^reqwest\\.workspace": lambda: everywhere(
        r"^reqwest\.workspace", "reqwest = true #", "Cargo.toml"
    ),
    "look-alike reqwest-middleware": lambda: everywhere(
        "^reqwest-middleware", "middleware", "Cargo.toml"
    ),
    "look-alike # reqwest": lambda: everywhere("^# reqwest", "# request", "Cargo.toml"),
    'look-alike "dep:reqwest"': lambda: everywhere('"dep:reqwest"', '"dep:request"', "Cargo.toml"),
    "three .dependencies.turso. tables": lambda: everywhere(
        r"^\[dependencies\.turso\]", "[x]", "Cargo.toml"
    ),
    "a folder that is no crate": lambda: replace(
        without("crates/scratch-notes/notes.md", "crates/scratch-notes/draft/Cargo.toml"), dirs=()
    ),
    "lockfile is stale": lambda: replace(
        WORLD, ages={**WORLD.ages, f"crates/{LAST}/Cargo.lock": 1}
    ),
    "7 to 9 crates with a lockfile": lambda: without(
        *(f"crates/{name}/Cargo.lock" for name in CRATES[:-1])
    ),
    "has docs/README.md": lambda: without(
        *(f"crates/{name}/docs/README.md" for name in README_LESS)
    ),
    r"TODOS": lambda: everywhere("TODOS", "Notes", ".rs"),
    r"todo!": lambda: everywhere("todo!", "panic!", ".rs"),
    "TODO_": lambda: everywhere("TODO_LIMIT", "NOTE_LIMIT", ".rs"),
    r"TODO\\b\.\*": lambda: everywhere("TODO batch", "note batch", ".rs"),
    "ERROR in other levels": lambda: everywhere(r"(retry after|state) ERROR", "retry", ".log"),
    "error in other levels": lambda: everywhere("errors?", "fault", ".log"),
    r"holds \"## \[9": lambda: edited("CHANGELOG.md", "[9.9.9]", "9.9.9"),
    "holds ## .Unreleased": lambda: edited("CHANGELOG.md", "## [Unreleased]", ""),
    "records without exit_code": lambda: everywhere(r"^\{", '{"exit_code": 0, ', ".jsonl"),
    "compact and spaced": lambda: everywhere('": ', '":', ".jsonl"),
    "is yanked": lambda: served("/api/crates", unyanked),
    "the best of the crates is served neither": lambda: served("/api/crates", sorted_by_downloads),
    "the largest process starts neither": lambda: replace(
        WORLD, processes=tuple(sorted(WORLD.processes, key=lambda h: -h.rss_mb))
    ),
    "begins with a failure": lambda: edited(
        "logs/agent-session.jsonl", WORLD.lines("logs/agent-session.jsonl")[0] + "\n", ""
    ),
    "a negative exit code": lambda: everywhere("-9", "9", ".jsonl"),
    "readyz is never 200": lambda: served("/readyz", lambda route: {"status": 200}),
    "three times the memory": lambda: helpers(lambda h: replace(h, rss_mb=min(h.rss_mb, 60))),
    "a larger process whose name": lambda: helpers(lambda h: replace(h, rss_mb=min(h.rss_mb, 90))),
    "a process that only maps": lambda: helpers(lambda h: replace(h, virt_mb=0)),
    "not the scheduler's child": lambda: helpers(
        lambda h: replace(h, parent="sched" if h.name == "vox-worker" else h.parent)
    ),
    "a grandchild": lambda: helpers(
        lambda h: replace(h, parent="sched" if h.name == "vox-lspd" else h.parent)
    ),
}


def test_built_world_holds_invariants():
    check_world(WORLD, TALLY)


@pytest.mark.parametrize("invariant", BROKEN)
def test_check_world_refuses_broken_invariant(invariant):
    with pytest.raises(WorldError, match=f"world 24: .*{invariant}"):
        check_world(BROKEN[invariant](), TALLY)


def test_check_world_refuses_short_or_repeated_list():
    with pytest.raises(WorldError, match="crate-versions: at least 2 items"):
        check_world(WORLD, TALLY | {"crate-versions": ["vox-db 1.2.3"]})
    with pytest.raises(WorldError, match="crate-versions: no item twice"):
        check_world(WORLD, TALLY | {"crate-versions": ["vox-db 1.2.3"] * 2})


@pytest.mark.parametrize(
    ("add", "invariant"),
    [
        *[
            (lambda b, name=name: b.file(f"docs/{name}", "x"), "plain ASCII names only")
            for name in ("caf\u00e9.md", "a\nb.md", "../x.md", "a:b")
        ],
        (lambda b: b.file("Cargo.toml", "x"), "one entry a path"),
        (lambda b: b.file("crates", "x"), "one entry a path"),
        (lambda b: b.file("docs/crlf.md", "a\r\n"), "LF only"),
        (lambda b: b.file("docs/crlf.sh", b"a\r\nb\n"), "LF only"),
        (lambda b: b.file("docs/lf.md", "a\n", crlf=True), "or `crlf` and CRLF"),
        *[
            (
                lambda b, name=name: b.file(f"docs/{name}", "x", any_name=True),
                "printable ASCII names only",
            )
            for name in ("a\\b", "a\tb", "?/../b")
        ],
        (lambda b: b.folder("docs/[id]"), "plain ASCII names only"),
        (lambda b: b.file("docs/new.md", "a", age_days=6.5), "no age near seven days"),
        (lambda b: b.route("/readyz", 200, {}), "one route a path"),
        (
            lambda b: [b.route("/x", 200, {}, when=When(query={"q": "a"})) for _ in range(2)],
            "one route a path",
        ),
        (lambda b: b.route("/readyz", 200, {}, when=When(query={"q": "a"})), "one route a path"),
        (
            lambda b: [b.route("/x", 200, {}, when=When(query={"q": "a"})), b.finish()],
            "every request comes last",
        ),
        *[
            (
                lambda b, name=name: b.process(HelperSpec("x", name)),
                "process names of at most 15 characters",
            )
            for name in ("", "v" * 16)
        ],
        *[
            (
                lambda b, name=name: b.process(HelperSpec("x", "vox-x", threads=(name,))),
                "threads have plain names",
            )
            for name in ("io 1", "sixteen-letters-", "io\x1f1")
        ],
        (lambda b: b.process(HelperSpec("x", "vox-x", parent="nobody")), "its parent comes first"),
        (lambda b: b.process(HelperSpec("sched", "vox-x")), "one process a key"),
    ],
)
def test_builder_refuses_what_no_world_may_hold(add, invariant):
    with pytest.raises(WorldError, match=invariant):
        add(Builder.extending(build_world(24), "test"))


def test_builder_takes_declared_crlf_and_names():
    builder = Builder.extending(build_world(24), "test")
    name = 'docs/[id]/host:8080/"a" <b> & c|d?*\'.(~)'
    builder.file(name, b"a\r\nb\n", crlf=True, any_name=True)
    builder.file("docs/noise", b"\xff\r\n")
    builder.file("docs/nothing", "")
    builder.file("docs/cut", "no line feed")
    builder.process(HelperSpec("long", "v" * 15))
    world = builder.finish()
    assert world.files[name] == b"a\r\nb\n" and {"docs/[id]", "docs/[id]/host:8080"} <= set(
        world.dirs
    )
    assert (world.files["docs/nothing"], world.files["docs/cut"]) == (b"", b"no line feed")


def test_world_has_no_upper_case_suffix():
    assert all(not path.rpartition(".")[2].isupper() for path in WORLD.files)


PLAIN = HelperSpec("a", "vox-a", ("--x", "1"), "b", 3, 4)
FURTHER = {
    "threads": ("io-1", ""),
    "own_session": True,
    "subreaper": True,
    "ends": True,
    "ids": "another-digit",
}


def sha(helper: HelperSpec) -> str:
    return world_sha256(b"", {}, (), (helper,))


def test_helper_fields_are_in_world_hash_and_read_back():
    assert set(FURTHER) == {field.name for field in fields(HelperSpec)} - set(PLAIN.to_json())
    changed = [replace(PLAIN, **{name: value}) for name, value in FURTHER.items()]
    assert len({sha(helper) for helper in (PLAIN, *changed)}) == 6
    for helper in (PLAIN, *changed, replace(PLAIN, **FURTHER)):
        assert HelperSpec.from_json(helper.to_json()) == helper
