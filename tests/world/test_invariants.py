"""Every world has the decoys of its tasks; the builder refuses what no world may hold."""

import json
from dataclasses import fields, replace

import pytest

from fluency.world import (
    DAY,
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
WEEK = 7 * DAY


def served(path: str, change):
    routes = tuple(replace(r, **change(r)) if r.path == path else r for r in WORLD.http)
    return replace(WORLD, http=routes)


def sorted_by_downloads(route):
    crates = sorted(json.loads(route.body)["crates"], key=lambda c: (c["yanked"], -c["downloads"]))
    return {"body": json.dumps({"crates": crates}).encode()}


def one_crate(route):
    return {"body": json.dumps({"crates": json.loads(route.body)["crates"][:1]}).encode()}


def with_log(text: str):
    return replace(WORLD, files={**WORLD.files, "logs/agent-session.jsonl": text.encode()})


BROKEN = {
    "the best of the crates is served neither": lambda: served("/api/crates", sorted_by_downloads),
    "14 crates with distinct downloads": lambda: served("/api/crates", one_crate),
    "100 to 180 records, not 1": lambda: with_log("{}\n"),
    "100 to 200 files, not 0": lambda: replace(WORLD, files={}),
    "another order as text": lambda: replace(
        WORLD, files={p: d if p[-3:] != ".rs" else b"" for p, d in WORLD.files.items()}
    ),
}


@pytest.mark.parametrize("invariant", BROKEN)
def test_check_world_refuses_an_unlucky_draw(invariant):
    with pytest.raises(WorldError, match=f"world 24: .*{invariant}"):
        check_world(BROKEN[invariant](), TALLY)


def test_check_world_refuses_short_or_repeated_list():
    with pytest.raises(WorldError, match="crate-versions: at least 2 items"):
        check_world(WORLD, TALLY | {"crate-versions": ["vox-db 1.2.3"]})
    with pytest.raises(WorldError, match="crate-versions: no item twice"):
        check_world(WORLD, TALLY | {"crate-versions": ["vox-db 1.2.3"] * 2})


NOT_PLAIN = ("caf\u00e9.md", "a\nb.md", "../x.md", "a:b")
NOT_NAMES = ("docs/a\\b", "docs/a\tb", "docs/?/../b")


@pytest.mark.parametrize(
    ("add", "invariant"),
    [
        *[(lambda b, name=name: b.file(f"docs/{name}", "x"), "plain ASCII names only") for name in NOT_PLAIN],
        (lambda b: b.file("Cargo.toml", "x"), "one entry a path"),
        (lambda b: b.file("crates", "x"), "one entry a path"),
        (lambda b: b.file("docs/crlf.md", "a\r\n"), "LF only"),
        (lambda b: b.file("docs/crlf.sh", b"a\r\nb\n"), "LF only"),
        (lambda b: b.file("docs/lf.md", "a\n", crlf=True), "or `crlf` and CRLF"),
        *[(lambda b, name=name: b.file(name, "x", any_name=True), "printable ASCII names only") for name in NOT_NAMES],
        (lambda b: b.folder("docs/[id]"), "plain ASCII names only"),
        (lambda b: b.file("docs/new.md", "a", age_days=6.5), "no age near seven days"),
        (lambda b: b.route("/readyz", 200, {}), "one route a path"),
        (lambda b: [b.route("/x", 200, {}, when=When(query={"q": "a"})) for _ in range(2)], "one route a path"),
        (lambda b: b.route("/readyz", 200, {}, when=When(query={"q": "a"})), "one route a path"),
        (lambda b: [b.route("/x", 200, {}, when=When(query={"q": "a"})), b.finish()], "every request comes last"),
        (lambda b: b.process(HelperSpec("x", "")), "process names of at most 15 characters"),
        (lambda b: b.process(HelperSpec("x", "v" * 16)), "process names of at most 15 characters"),
        (lambda b: b.process(HelperSpec("x", "vox-x", threads=("io 1",))), "threads have plain names"),
        (lambda b: b.process(HelperSpec("x", "vox-x", threads=("sixteen-letters-",))), "threads have plain names"),
        (lambda b: b.process(HelperSpec("x", "vox-x", threads=("io\x1f1",))), "threads have plain names"),
        (lambda b: b.process(HelperSpec("x", "vox-x", parent="nobody")), "its parent comes first"),
        (lambda b: b.process(HelperSpec("sched", "vox-x")), "one process a key"),
    ],
)  # fmt: skip
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
    assert world.files[name] == b"a\r\nb\n"
    assert {"docs/[id]", "docs/[id]/host:8080"} <= set(world.dirs)
    assert (world.files["docs/nothing"], world.files["docs/cut"]) == (b"", b"no line feed")


def test_world_has_no_upper_case_suffix():
    assert all(not path.rpartition(".")[2].isupper() for path in WORLD.files)


PLAIN = HelperSpec("a", "vox-a", ("--x", "1"), "b", 3, 4)
FURTHER = {"threads": ("io-1", ""), "ids": "another-digit"}
FURTHER |= dict.fromkeys(("own_session", "subreaper", "ends"), True)


def sha(helper: HelperSpec) -> str:
    return world_sha256(b"", {}, (), (helper,))


def test_helper_fields_are_in_world_hash_and_read_back():
    assert set(FURTHER) == {field.name for field in fields(HelperSpec)} - set(PLAIN.to_json())
    changed = [replace(PLAIN, **{name: value}) for name, value in FURTHER.items()]
    assert len({sha(helper) for helper in (PLAIN, *changed)}) == 6
    for helper in (PLAIN, *changed, replace(PLAIN, **FURTHER)):
        assert HelperSpec.from_json(helper.to_json()) == helper
