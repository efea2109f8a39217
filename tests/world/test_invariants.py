"""Every world has the decoys of its tasks; the builder refuses what no world may hold."""

import json
import re
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


def some(texts, *patterns: str) -> bool:
    """Whether each pattern is found in at least one of the texts."""
    return all(any(re.search(pattern, text, re.M) for text in texts) for pattern in patterns)


@pytest.fixture(params=[11, 24, 57, 58])
def world(request):
    return build_world(request.param)


def test_world_sizes_and_ages_around_each_limit(world):
    own = world.under("crates/vox-ml-cli")
    assert len({(len(data) > 10_240, world.ages[path] < WEEK) for path, data in own.items()}) == 4
    recent = {len(data) for path, data in own.items() if world.ages[path] < WEEK}
    assert {10_240, 10_241} <= recent and any(10_000 < size < 10_240 for size in recent)
    assert any(" " in path for path in own)
    outside = {path: data for path, data in world.under("crates").items() if path not in own}
    assert any(len(data) > 10_240 and world.ages[path] < WEEK for path, data in outside.items())
    rust = [len(data) for path, data in world.under("crates").items() if path.endswith(".rs")]
    assert len(set(rust)) == len(rust) and 10_000 <= sorted(rust)[-5] < max(rust) <= 99_999
    decoys = [data for path, data in outside.items() if path.endswith((".rs.bk", ".bin"))]
    assert sum(len(data) > max(rust) for data in decoys) >= 2
    assert sum("/." in path for path in world.under("crates/vox-corpus")) >= 3
    examples = {len(data) for path, data in world.under("examples").items() if "/ex" in path}
    assert len(examples) == 1


def test_world_manifests_have_look_alikes(world):
    texts = {name: world.text(f"crates/{name}/Cargo.toml") for name in world.crates()}
    assert 21 <= len(texts) <= 26
    assert all(text.startswith("[package]\n") for text in texts.values())
    spellings = (r"^reqwest = \{", r"^reqwest   = ", r"^reqwest\.workspace", r'^reqwest = "')
    assert some(texts.values(), *spellings, "^description = .*version =")
    others = [text for text in texts.values() if not re.search(r"^reqwest *[.=]", text, re.M)]
    assert some(others, "reqwest-middleware", "# reqwest =", '"dep:reqwest"')
    turso = re.compile(r'^\[dependencies\.turso\]\nversion = "0\.\d\.0"', re.M)
    assert sum(turso.search(text) is not None for text in texts.values()) == 3
    folders = world.names_in("crates")
    assert "scratch-notes" in folders and "scratch-notes" not in texts
    last = f"crates/{max(folders)}"
    assert world.ages[f"{last}/Cargo.lock"] > world.ages[f"{last}/Cargo.toml"]
    assert 7 <= sum(f"crates/{name}/Cargo.lock" in world.files for name in texts) <= 9
    bare = [name for name in texts if f"crates/{name}/README.md" not in world.files]
    assert any(f"crates/{name}/docs/README.md" in world.files for name in bare)


def test_world_texts_have_look_alikes(world):
    rust = [world.text(path) for path in world.under("crates") if path.endswith(".rs")]
    todo = (r"\bTODOS\b", r"\bTODOs\b", r"\btodo!", r"\bTODO_", r"\bTODO\b.*\bTODO\b")
    assert some(rust, "autodocs", *todo)
    calm = [line for line in world.lines("logs/orchestrator.log") if " ERROR " not in line[:32]]
    assert some([line[30:] for line in calm], "ERROR", "error")
    headings = (r"^## \[Unreleased\]", r'"## \[9\.9\.9\] - 2031', r"^### \[0\.0\.1\] - 2019")
    assert some([world.text("CHANGELOG.md")], *headings)
    lines = world.lines("logs/agent-session.jsonl")
    codes = [json.loads(line).get("exit_code") for line in lines]
    assert codes[0] and None in codes and any(code and code < 0 for code in codes)
    assert some(lines, '": ', '":"')


def test_world_services_and_processes_look_alike(world):
    crates = json.loads(world.route("/api/crates").body)["crates"]
    assert len({len(str(crate["downloads"])) for crate in crates}) >= 3
    assert max(crates, key=lambda crate: crate["downloads"])["yanked"]
    assert world.route("/readyz").status != 200
    keys = {helper.key: helper for helper in world.processes}
    own = [helper for helper in world.processes if helper.name.startswith("vox-")]
    *_, second, heavy = sorted(own, key=lambda helper: helper.rss_mb)
    assert heavy not in (own[0], own[-1]) and heavy.rss_mb >= 3 * second.rss_mb
    named = [h.rss_mb for h in world.processes if "vox-" in h.name and h not in own]
    assert max(named) >= heavy.rss_mb + 50
    assert any(h.virt_mb >= 3000 and h.rss_mb < 90 for h in world.processes)
    assert any(h.name == "vox-worker" and h.parent is None for h in world.processes)
    assert any(h.parent and keys[h.parent].parent for h in world.processes)


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
