"""Every world has the decoys of its tasks; the builder refuses what no world may hold."""

import json
from dataclasses import fields, replace

import pytest

from fluency.core.tasks import load_tasks
from fluency.world import Builder, HelperSpec, When, World, WorldError, build_world

PILOT = [task for task in load_tasks("pilot-20") if "processes" not in task.needs]
UNLUCKY = (106, 244)
"""The first draws of these have too many files and equal downloads; of 5 few records, of 6 order."""


@pytest.mark.parametrize("seed", [*range(1, 41), *UNLUCKY])
def test_world_has_no_answer_that_is_right_by_luck(seed):
    world = build_world(seed)
    assert 100 <= len(world.files) <= 200
    assert 100 <= len(world.lines("logs/agent-session.jsonl")) <= 180
    rust = [len(data) for path, data in world.under("crates").items() if path.endswith(".rs")]
    assert sorted(rust, key=str)[-5:] != sorted(rust)[-5:], "another order as text"
    crates = json.loads(world.route("/api/crates").body)["crates"]
    assert len({crate["downloads"] for crate in crates}) == 14
    kept = [crate["downloads"] for crate in crates if not crate["yanked"]]
    assert max(kept) not in (kept[0], kept[-1])
    assert all(not path.rpartition(".")[2].isupper() for path in world.files)
    for task in PILOT:
        answer = list(map(str, task.expected(world)))
        single = task.structure.lines == "exactly-one" or task.content == "jsonset"
        assert len(answer) >= (1 if single else 2) and len(set(answer)) == len(answer), task.id


NOT_PLAIN = ("caf\u00e9.md", "a\nb.md", "../x.md", "a:b")
NOT_THREADS = ("io 1", "sixteen-letters-", "io\x1f1")
NOT_NAMES = ("docs/a\\b", "docs/a\tb", "docs/?/../b")


@pytest.mark.parametrize(
    "add, invariant",
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
        *[(lambda b, name=name: b.process(HelperSpec("x", "vox-x", threads=(name,))), "names of threads")
            for name in NOT_THREADS],
        (lambda b: b.process(HelperSpec("x", "vox-x", parent="missing")), "its parent comes first"),
        (lambda b: b.process(HelperSpec("sched", "vox-x")), "one process a key"),
    ],
)  # fmt: skip
def test_builder_refuses_what_no_world_may_hold(add, invariant):
    with pytest.raises(WorldError, match=invariant):
        add(Builder(build_world(24), "test"))


def test_builder_takes_declared_crlf_and_names():
    builder = Builder(build_world(24), "test")
    name = 'docs/[id]/host:8080/"a" <b> & c|d?*\'.(~)'
    builder.file(name, b"a\r\nb\n", crlf=True, any_name=True)
    builder.file("docs/noise", b"\xff\r\n")
    builder.file("docs/nothing", "")
    builder.file("docs/cut", "no line feed")
    builder.process(HelperSpec("long", "v" * 15, threads=("Pool-1.IO", "")))
    world = builder.finish()
    assert world.files[name] == b"a\r\nb\n"
    assert {"docs/[id]", "docs/[id]/host:8080"} <= set(world.dirs)
    assert (world.files["docs/nothing"], world.files["docs/cut"]) == (b"", b"no line feed")


PLAIN = HelperSpec("a", "vox-a", ("--x", "1"), "b", 3, 4)
FURTHER = {"threads": ("io-1", ""), "ids": "another-digit"}
FURTHER |= dict.fromkeys(("own_session", "subreaper", "ends", "may_end"), True)


def test_helper_fields_are_in_world_hash_and_read_back():
    assert set(FURTHER) == {field.name for field in fields(HelperSpec)} - set(PLAIN.to_json())
    changed = [replace(PLAIN, **{name: value}) for name, value in FURTHER.items()]
    worlds = [World(24, processes=(helper,)) for helper in (PLAIN, *changed)]
    assert len({world.sha256 for world in worlds}) == 7
    for helper in (PLAIN, *changed, replace(PLAIN, **FURTHER)):
        assert HelperSpec.from_json(helper.to_json()) == helper
