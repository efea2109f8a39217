"""What is left behind against what a task asks for, and the verdict on both."""

import json

import pytest

from fluency.common.files import sha256
from fluency.core.records import Extraction, PathState, Stream
from fluency.core.shells import SHELLS
from fluency.scoring.failure_class import HeadlineRun, classify
from fluency.scoring.judgement import differences_in, judge, unasked_changes
from fluency.scoring.state import Left, differences, tree_left
from fluency.world import Builder, Commit, World, blob_name
from tests.scoring.recordings import result, task_with

WORLD = World(
    1, {"a/app.toml": b"x = 1\n", "a/b.json": b'{"n": 1.0}\n', "t.csv": b"k,v\n1,2\n"}, ("a",)
)
EDITS = {
    "jq": b'{\n  "n": 2\n}\n',
    "PowerShell": b'\xef\xbb\xbf{\r\n  "n": 2.0\r\n}\r\n',
    "Python": b'{"n": 2}',
    "Nushell": b'{\n  "n": 2.0\n}',
    "sed": b'{"n": 2.0}\n',
}
"""One right edit of a file by five programs: five hashes."""


ONE, TWO = (blob_name(b"%d\n" % number) for number in (1, 2))


def bytes_(data):
    return {"sha256": sha256(data)}


def file(data, mode=0o644) -> Left:
    return Left("file", mode, None, None, data)


@pytest.mark.parametrize(
    "expected, changed, said",
    [
        ({"a/app.toml": bytes_(b"x = 2\n")}, {"a/app.toml": file(b"x = 2\n")}, []),
        ({"a/app.toml": bytes_(b"x = 2\n")}, {}, ["'a/app.toml' is unchanged"]),
        ({"a/app.toml": bytes_(b"x = 2\n")}, {"a/app.toml": file(b"x = 2")}, ["'a/app.toml' has other bytes than asked for"]),
        ({"a/app.toml": bytes_(b"x = 1\n")}, {}, []),
        ({"new": bytes_(b"1")}, {}, ["'new' is missing"]),
        ({"new": {}}, {"new": Left("folder", 0o700)}, []),
        ({"t.csv": None}, {"t.csv": Left()}, []),
        ({"t.csv": None}, {}, ["'t.csv' is unchanged"]),
        ({"new": None}, {"new": file(b"")}, ["'new' is still there"]),
        *[({"a/b.json": {"json": {"n": 2}}}, {"a/b.json": file(data)}, []) for data in EDITS.values()],
        ({"a/b.json": {"json": {"n": 2}}}, {"a/b.json": file(b'{"n": "2"}')},
            ["'a/b.json' has other content: the JSON value is not '{\"n\": 2}'"]),
        ({"t.csv": {"rows": [["k", "v"], ["1", "3"]]}}, {"t.csv": file(b'"k","v"\r\n"1","3"\r\n')}, []),
        ({"t.csv": {"rows": [["k", "v"], ["1", "3"]]}}, {"t.csv": file(b"k,v\n1,4\n")},
            ["'t.csv' has another rows: '[['k', 'v'], ['1', '4']]', not '[['k', 'v'], ['1', '3']]'"]),
        ({"t.csv": {"lines": ["a", "b"]}}, {"t.csv": file(b"a\r\nb")}, []),
        ({"t.csv": {"lines": ["a", "b"]}}, {"t.csv": file(b"a\nb\nc\n")},
            ["'t.csv' has another lines: '['a', 'b', 'c']', not '['a', 'b']'"]),
        ({"a/app.toml": {"mode": 0o600}}, {"a/app.toml": file(b"x = 1\n", 0o600)}, []),
        ({"a/app.toml": {"mode": 0o600}}, {"a/app.toml": file(b"", 0o755)}, ["'a/app.toml' has another mode: '755', not '600'"]),
        ({"l": {"link": "a/b"}}, {"l": Left("link", 0o777, "a/b")}, []),
        ({"l": {"link": "a/b"}}, {"l": Left("link", 0o777, "/work/a/b")}, ["'l' has another link: '/work/a/b', not 'a/b'"]),
        ({"l": {"link": "a/b"}}, {"l": file(b"")}, ["'l' is a file whose link is not known"]),
        ({"a": {"files": ["app.toml", "b.json"]}}, {}, []),
        ({"a": {"files": ["app.toml", "c/d"]}}, {"a/c": Left("folder"), "a/c/d": file(b""), "a/b.json": Left()}, []),
        ({"a": {"files": ["app.toml", "z"]}}, {"a/.b": file(b"")}, ["'a' has other files: path 'z' is missing (1 of 2 paths), and path 'b.json' is unexpected (2 such)"]),
        ({"t.csv": {"lines": []}}, {"t.csv": Left("file", 0o644, None, "0" * 64)},
            ["'t.csv' is a file whose lines is not known"]),
    ],
)  # fmt: skip
def test_differences_are_named(expected, changed, said):
    expected = json.loads(json.dumps(expected))  # as Harbor's verifier reads it
    assert differences(expected, tree_left(WORLD.files, WORLD.dirs, changed), changed) == said


@pytest.mark.parametrize("form", ["json", "rows", "lines"])
@pytest.mark.parametrize(
    "data", [b"", b"{", b"[" * 60_000, b"\xff\xfe\0", b'a,"b\r\0\nc', b"1e99999", b"x" * 65_536]
)
def test_differences_of_hostile_contents(form, data):
    changed = {"f": file(data)}
    assert len(differences({"f": {form: [["right"]]}}, tree_left({}, (), changed), changed)) == 1


def state(data) -> PathState:
    return PathState(
        path="a/b.json", kind="file", mode=0o644, sha256=sha256(data), content=Stream.of(data)
    )


def test_judge_needs_the_state():
    wanted = {"a/b.json": {"json": {"n": 2}}}
    for found, said in (
        ([state(EDITS["jq"])], []),
        ([], ["'a/b.json' is unchanged"]),
        ("more than it", ["what it left behind is unknown: more than it"]),
        (None, ["what it left behind is unknown: it was not observed"]),
    ):
        assert differences_in(WORLD, result("x", state=found), wanted) == said


def gone(path) -> PathState:
    return PathState(path=path, kind="absent")


@pytest.mark.parametrize(
    ("found", "asked", "count"),
    [
        ([], {}, 0),
        (None, {}, 0),
        ("larger", {}, None),
        ([state(b"new")], {}, 1),
        ([state(WORLD.files["a/b.json"])], {}, 0),  # written again as it was
        ([state(WORLD.files["a/b.json"]).model_copy(update={"mode": 0o600})], {}, 1),
        ([gone("a/app.toml"), gone("t.csv"), gone("made")], {}, 2),
        ([gone("a"), gone("a/app.toml"), gone("a/b.json"), gone("t.csv")], {"a": None}, 1),
        ([gone("a/app.toml"), gone("t.csv")], {"a": {"files": ["b.json"]}}, 1),
        ([gone("a/app.toml")], {"a": {"files": ["app.toml", "b.json"]}}, 1),
        ([state(b"new")], {"a/b.json": bytes_(b"other")}, 0),
        ([state(b"new")], {"a/b.json": bytes_(WORLD.files["a/b.json"])}, 1),
    ],
)  # fmt: skip
def test_unasked_changes_of_a_world(found, asked, count):
    assert unasked_changes(WORLD, result("x", state=found), asked) == count


def test_unasked_changes_of_a_lost_result():
    for known in ({"lost": "killed"}, {"tree_changed": True}):
        assert unasked_changes(WORLD, result("x", **known), {}) is None


def test_judge_state_with_and_without_output():
    asked, silent = task_with("set"), task_with("set").model_copy(update={"structure": None})
    silent = silent.model_copy(update={"content": None})
    table = result("Mode  Name\n----  ----\n")  # as New-Item prints it
    right, wrong = (
        judge(silent, table, None),
        judge(silent, table, None, ["'a' is missing", "b", "c"]),
    )
    assert right.passed and right.structural and not right.empty
    assert not wrong.passed and wrong.structural and wrong.why == "'a' is missing, and 2 more."
    assert not judge(silent, result("", 1), None).structural
    both = judge(asked, result("x"), ["x"], ["'a' is unchanged"])
    assert (both.passed, both.content, both.why) == (False, True, "'a' is unchanged.")
    extraction = Extraction(strict="true", lenient="true")
    for one in (wrong, both):
        run = HeadlineRun(11, result(""), one)
        assert classify("ok", extraction, SHELLS["bash"], [run]).failure_class == "silent-wrong"


def repository(**options) -> World:
    builder = Builder(World(1), "x")
    builder.file("a.txt", "1\n")
    files = {"a.txt": b"1\n", "b/c.txt": b"2\n"}
    commits = [
        Commit("First", {"a.txt": b"0\n"}, 1_700_000_000),
        Commit("Second", files, 1_700_000_060, (0,)),
    ]
    builder.repository(commits, {"refs/heads/main": 1, "refs/tags/v1": 0}, **options)
    return builder.finish()


@pytest.mark.parametrize(
    "wanted, said",
    [
        ({"HEAD": "refs/heads/main", "index": {"a.txt": ONE, "b/c.txt": TWO}}, ""),
        ({"refs/heads/main": {"message": "Second", "files": {"a.txt": ONE, "b/c.txt": TWO}}}, ""),
        ({"refs/heads/main": {"message": "Third"}}, "{'message': 'Second'}}', not"),
        ({"refs/heads/new": {}}, "'{'refs/heads/new': None}', not"),
        ({"refs/tags/v1": None}, "{'refs/tags/v1': {'id': "),
        ({"index": {"a.txt": TWO}}, "has another git: '{'index': "),
    ],
)  # fmt: skip
def test_differences_of_a_repository(wanted, said):
    world = repository()
    found = differences({".git": {"git": wanted}}, tree_left(world.files, world.dirs, {}), {})
    assert len(found) == bool(said) and said in "".join(found)
