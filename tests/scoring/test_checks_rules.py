"""Each rule takes what is right and nothing else, on made-up outputs and on every recorded execution; what it forgives."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluency.common.errors import UserError
from fluency.core.records import Result, Stream
from fluency.core.tasks import Structure
from fluency.scoring import checks
from fluency.scoring.checks import JSON_RULES
from fluency.scoring.verdict import judge
from tests.scoring.recordings import HANGING_S, recorded, recorded_more, result, task_with

WORDS = st.lists(
    st.text(alphabet="abcXYZ019-_.", min_size=1, max_size=8), min_size=1, max_size=3
).map(" ".join)
LINES = st.lists(WORDS, min_size=1, max_size=8)
PATHS = st.lists(
    st.from_regex(r"[a-z][a-z0-9]{0,4}(/[a-z0-9 ]?[a-z0-9]{1,4}){0,3}", fullmatch=True), min_size=1
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


def differs(rule, expected, stdout):
    text = checks.clean(stdout.encode())
    return checks.content_problem(rule, expected, text, checks.output_lines(text))


def written(lines):
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("rule", ["set", "ordered"])
@given(lines=LINES)
def test_lines_equal_themselves(rule, lines):
    assert differs(rule, lines, written(lines)) is None


@given(LINES, st.randoms())
def test_a_set_has_no_order_and_a_list_has(lines, rng):
    mixed = rng.sample(lines, len(lines))
    assert differs("set", lines, written(mixed)) is None
    assert (differs("ordered", lines, written(mixed)) is None) == (mixed == lines)


@pytest.mark.parametrize("rule", ["set", "ordered", "paths", "keyed"])
@given(lines=PATHS, data=st.data())
def test_a_line_less_more_or_twice_is_wrong(rule, lines, data):
    place = data.draw(st.integers(0, len(lines) - 1))
    lines = checks.output_lines(written(lines))
    assert differs(rule, lines, written(lines[:place] + lines[place + 1 :])) is not None
    assert differs(rule, lines, written([*lines, lines[place]])) is not None
    assert differs(rule, lines, written([*lines, "another"])) is not None
    assert (
        differs(rule, lines, written([*lines[:place], lines[place] + "x", *lines[place + 1 :]]))
        is not None
    )


@given(PATHS, st.data())
def test_each_path_may_be_written_in_its_own_way(paths, data):
    paths = checks.output_lines(written(paths))
    ways = [data.draw(st.sampled_from(["", "./", "/work/", "/work/./"])) + path for path in paths]
    assert differs("paths", paths, written(ways)) is None


KEYED = [
    "../api/http.md docs/src/first run.md",
    "gone.md docs/src/README.md",
    "gone.md docs/src/a.md",
]


def test_keyed_lines_take_the_path_in_both_ways_and_the_key_as_it_is_written():
    written_so = "gone.md /work/docs/src/a.md\n../api/http.md ./docs/src/first run.md\ngone.md docs//src/README.md\n"
    assert differs("keyed", KEYED, written_so) is None
    run = "docs/src/first run.md"
    firsts = [
        f"./../api/http.md {run}",
        f"/work/../api/http.md {run}",
        f"../api//http.md {run}",
        f"{run} ../api/http.md",
    ]
    firsts += [f"../api/http.md /{run}", "../api/http.md docs/src/first", "../api/http.md"]
    others = [[first, *KEYED[1:]] for first in firsts]
    for wrong in (KEYED[1:], [*KEYED, KEYED[0]], [*KEYED, "gone.md /work/docs/src/a.md"], *others):
        assert differs("keyed", KEYED, written(wrong)) is not None


SIZED = ["900 crates/a/b.rs", "87 crates/a b/c.rs"]


def test_a_list_of_sizes_and_paths_takes_paths_in_both_ways():
    assert differs("ordered", SIZED, "900 /work/crates/a/b.rs\n87 ./crates/a b/c.rs\n") is None
    for wrong in (
        "900 /work/crates/a/c.rs\n87 ./crates/a b/c.rs\n",
        "901 /work/crates/a/b.rs\n87 ./crates/a b/c.rs\n",
        "87 ./crates/a b/c.rs\n900 /work/crates/a/b.rs\n",
        "/work/900 crates/a/b.rs\n87 ./crates/a b/c.rs\n",
        "900 /crates/a/b.rs\n87 ./crates/a b/c.rs\n",
    ):
        assert differs("ordered", SIZED, wrong) is not None


@pytest.mark.parametrize(
    ("expected", "stdout"),
    [
        (["cd x/y"], "cd ./x/y"),
        (["vox-git"], "./vox-git"),
        (["3 vox-git"], "3 ./vox-git"),
        (["3 a/b", "total"], "3 ./a/b\ntotal"),
        (["3 ./a/b"], "3 a/b"),
    ],
)
def test_no_other_list_has_its_paths_touched(expected, stdout):
    assert differs("ordered", expected, stdout) is not None


@given(st.text(alphabet="0123456789abcdefABCDEF", min_size=8, max_size=64))
def test_hexadecimal_digits_have_no_case(digits):
    assert (
        differs("hex", digits, digits.upper()) is None
        and differs("hex", [digits], digits.lower()) is None
    )
    assert differs("hex", digits, digits[1:]) is not None
    assert differs("hex", digits, f"{digits}\n{digits}") is not None
    assert differs("hex", digits, f"{digits} -") is not None


@given(JSON)
def test_json_equals_itself_in_any_form(value):
    for form in (
        {"indent": 2},
        {"separators": (",", ":")},
        {"sort_keys": True},
        {"ensure_ascii": False},
    ):
        assert differs("json", value, json.dumps(value, **form)) is None


@given(st.lists(JSON, max_size=4), st.randoms())
def test_a_jsonset_has_no_order(values, rng):
    assert differs("jsonset", values, json.dumps(rng.sample(values, len(values)))) is None
    assert differs("jsonset", values, json.dumps([*values, {"one": "more"}])) is not None
    if values:
        assert differs("jsonset", values, json.dumps(values[1:])) is not None


@pytest.mark.parametrize(
    ("expected", "stdout", "equal"),
    [
        (3, "3.0", True), (3, "3e0", True), (0.1, "0.10", True), (0.1, "0.1000000000000000055511151231257827", False),
        (3, '"3"', False), (1, "true", False), (0, "false", False), (0, "null", False), (True, "1", False),
        ([], "{}", False), ({"a": 1}, '{"A": 1}', False), ({"a": 1}, '{"a": 1, "a": 1}', False),
        ({"a": 1}, '{"a": 1} {"a": 1}', False), ("NaN", "NaN", False), (10**40, "1" + "0" * 40, True),
        (3, "3" + "0" * 5_000, False), ([], "[" * 100_000, False), ([], "[" * 900 + "]" * 900, False),
        ([1], "[1,]", False),
    ],
)  # fmt: skip
def test_json_equality(expected, stdout, equal):
    assert (differs("json", expected, stdout) is None) == equal


@pytest.mark.parametrize(
    ("rule", "expected"), [("set", "a"), ("ordered", [1]), ("jsonset", {"a": 1}), ("sorted", [])]
)
def test_an_answer_that_does_not_fit_its_rule_is_the_authors_mistake(rule, expected):
    with pytest.raises(UserError):
        differs(rule, expected, "a")


@pytest.mark.parametrize(
    ("form", "stdout", "literal", "real"),
    [
        ({"line": r"^\d+$"}, "", True, False),
        ({"line": r"^\d+$"}, "1\n\n2\n", True, True),
        ({"line": r"^\d+$"}, "1\nx\n", False, False),
        ({"line": r"^\d+$", "lines": "exactly-one"}, "", False, False),
        ({"line": r"^\d+$", "lines": "exactly-one"}, "1\n2", False, False),
        ({"line": r"^\d+$", "lines": "exactly-one"}, " 1 ", True, True),
        ({"json_shape": "array-of-objects"}, "", False, False),
        ({"json_shape": "array-of-objects"}, '[{"a":\n 1}]', True, True),
        ({"json_shape": "array-of-objects"}, "[1]", False, False),
        ({"json_shape": "array"}, "[1]", True, True),
        ({"json_shape": "array"}, "{}", False, False),
        ({"json_shape": "object"}, "{}", True, True),
        ({"json_shape": "object"}, "[]", False, False),
    ],
)
def test_structure(form, stdout, literal, real):
    wanted = Structure(**form)
    lines = checks.output_lines(stdout)
    assert (checks.design_structure_problem(wanted, stdout, lines) is None) == literal
    assert (checks.structure_problem(wanted, stdout, lines) is None) == real


ONE = task_with("set", r"^[a-z]+ \d+$")


def test_a_right_output_passes():
    verdict = judge(ONE, result("a 1\nb 2\n"), ["b 2", "a 1"])
    assert (
        verdict.passed,
        verdict.exit_ok,
        verdict.structural,
        verdict.structure_ok,
        verdict.content,
    ) == (True,) * 5
    assert verdict.why == "The answer is right."


@pytest.mark.parametrize(
    ("ending", "why"),
    [
        ({"exit_code": 1}, "Exit code 1, though the output is right."),
        ({"exit_code": None, "signal": 11}, "Signal 11 ended it, though the output is right."),
        ({"exit_code": 0, "timed_out": True},
            "It was stopped at the deadline after 0.2 s, though the output is right."),
        ({"exit_code": None, "spawn_error": "too long"},
            "The command could not be started: too long, though the output is right."),
    ],
)  # fmt: skip
def test_a_bad_ending_never_passes(ending, why):
    verdict = judge(ONE, result("a 1\n", **ending), ["a 1"])
    assert (verdict.passed, verdict.exit_ok, verdict.structural) == (False, False, False)
    assert (verdict.structure_ok, verdict.content) == (True, True) and verdict.why == why


def test_an_output_that_was_cut_never_passes():
    cut = Result(exit_code=0, stdout=Stream.of(b"a 1\n", 9_999), stderr=Stream.of(b""), wall_s=1)
    verdict = judge(ONE, cut, ["a 1"])
    assert not (verdict.passed or verdict.structural or verdict.structure_ok or verdict.content)
    assert verdict.why == "Standard output was cut after 4 of 9999 bytes."


def test_structure_and_content_are_both_needed():
    verdict = judge(ONE, result(""), ["a 1"])
    assert verdict.structural and not verdict.structure_ok and not verdict.passed
    verdict = judge(task_with("set", r"^\d+$"), result("a\n"), ["a"])
    assert verdict.content and not verdict.passed


@pytest.mark.parametrize(
    ("stdout", "noise"),
    [
        ("\nName Count\n---- -----\na 1\n", True), ("Name Count\na 1\n", True), ("NAME %CPU\na 1\n", True),
        ("a 1\n--- ---\n", True), ("b 2\na 1\n", False), ("a 1\nName Count\n", False),
        ("Name Count\n---- -----\na 2\n", False), ("---\na 1\n---\n", True),
    ],
)  # fmt: skip
def test_table_noise(stdout, noise):
    verdict = judge(ONE, result(stdout), ["a 1"])
    assert not verdict.passed and verdict.table_noise == noise


ANSWERS = {
    "set": ["a b"], "ordered": ["1 a/b"], "paths": ["a/b"], "keyed": ["k a/b"],
    "jsonset": [{"tool": "x", "failures": 1}], "json": {"a": 1}, "hex": "ab",
}  # fmt: skip


def _filled(unit, before="", after=""):
    return before + unit * (1_000_000 // len(unit)) + after


@pytest.mark.parametrize(
    "stdout",
    [
        *map(_filled, ["-", " ", "\n", "\r\n", "a\n", "--\n", "\x1b[", "\x1b]", "/./", "./", "A ", "1 a/", "[",
            '{"a":']),
        _filled("-", after="x"),
        _filled("1,", before="[", after="1]"),
        _filled("1.5,", before="[", after="1]"),
        _filled("1e999999,", before="[", after="1]"),
        f"[{','.join(str(number * (2**61 - 1) + 1) for number in range(43_000))}]",  # one hash for all
        "\n".join(map(str, range(140_000))),
    ],
    ids=lambda stdout: repr(stdout[:12]),
)  # fmt: skip
@pytest.mark.parametrize(("rule", "expected"), ANSWERS.items())
def test_a_megabyte_is_judged_at_once(stdout, rule, expected):
    of_json = {"line": None, "json_shape": "array"} if rule in JSON_RULES else {}
    task, printed = task_with(rule, **of_json), result(stdout)
    started = time.process_time()
    assert not judge(task, printed, expected).passed and time.process_time() - started < HANGING_S


def test_why_is_one_line_whatever_was_printed():
    verdict = judge(ONE, result("\x07evil\x00 <script>" + "x" * 9_999), ["a 1"])
    assert verdict.why.isprintable() and len(verdict.why) < 300


TEXT = st.text(alphabet=st.sampled_from("ab0 \t\r\n\x1b[]31;mK\x07\\/.\ufeffé"), max_size=60)
PATH_WORDS = st.lists(
    st.text(alphabet="abcXYZ019-_./é", min_size=1, max_size=8), min_size=1, max_size=4
).map(" ".join)
PADDED_LINES = st.lists(PATH_WORDS, max_size=8)


def through(text: str) -> list[str]:
    return checks.output_lines(checks.clean(text.encode()))


@given(TEXT)
@settings(max_examples=500)
def test_it_is_idempotent(text):
    once = through(text)
    assert through("\n".join(once)) == once


@given(st.binary(max_size=200))
def test_any_bytes_become_lines(raw):
    for line in checks.output_lines(checks.clean(raw)):
        assert line == line.strip(" \r\t") and line and "\n" not in line


@given(
    PADDED_LINES,
    st.integers(0, 3),
    st.sampled_from(["\x1b[0m", "\x1b[1;32m", "\x1b[38;5;9m", "\x1b[K", ""]),
)
def test_line_ends_marks_colour_and_padding_change_nothing(lines, pad, colour):
    dressed = [
        f"{' ' * pad}{colour}{line.replace(' ', ' ' * (pad + 1))}{colour}{chr(9) * pad}"
        for line in lines
    ]
    assert through("\ufeff" + "\r\n".join(dressed) + "\r\n\r\n") == lines


@pytest.mark.parametrize(
    ("raw", "lines"),
    [
        (b"", []),
        (b" \n\t\r\n", []),
        (b"a\tb\n", ["a b"]),
        (b"a\0b\n", ["a\0b"]),
        (b"a\xffb\n", ["a\N{REPLACEMENT CHARACTER}b"]),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", ["link"]),
        (b"\x1b]0;a title\x07a\n", ["a"]),
        (b"\x1b]0;never ended\na\r\nb\x07c\n", ["a", "b\x07c"]),
        (b"a \x1b]0;never ended\r\nb\n\x1b]0;another\x1b\\c\n", ["a", "b", "c"]),
        (b"a\n\x1b]0;never ended", ["a"]),
        (b"\x1b[\x1b[31m31mx", ["[31mx"]),
        (b"a\rb\n", ["a\rb"]),
        (
            "a\N{NO-BREAK SPACE}b\N{LINE SEPARATOR}c".encode(),
            ["a\N{NO-BREAK SPACE}b\N{LINE SEPARATOR}c"],
        ),
    ],
)
def test_the_corners(raw, lines):
    assert checks.output_lines(checks.clean(raw)) == lines


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("crates/a/b.rs", "crates/a/b.rs"), ("./crates/a/b.rs", "crates/a/b.rs"),
        ("././crates/a/b.rs", "crates/a/b.rs"), ("/work/crates/a/b.rs", "crates/a/b.rs"),
        ("/work/./crates/a/b.rs", "crates/a/b.rs"), ("crates//a/./b.rs", "crates/a/b.rs"),
        ("crates/.hidden", "crates/.hidden"), ("crates/a./b", "crates/a./b"), (".github/x", ".github/x"),
        ("crates/a/", "crates/a/"), ("crates/a/../b", "crates/a/../b"), ("/workspace/crates", "/workspace/crates"),
        ("/tmp/work/crates", "/tmp/work/crates"), ("work/crates", "work/crates"),
        ("a file with spaces", "a file with spaces"),
    ],
)  # fmt: skip
def test_paths(written, path):
    assert checks.relative_path(written) == path


@given(st.text(alphabet="./wok", max_size=24))
def test_a_path_is_normalised_once_and_for_all(written):
    once = checks.relative_path(written)
    assert checks.relative_path(once) == once


def verdicts_differ(lines):
    wrong = []
    for line in lines:
        verdict = judge(line.task, line.result, line.expected)
        text = checks.clean(line.result.stdout.raw())
        literal = (
            checks.design_structure_problem(line.task.structure, text, checks.output_lines(text))
            is None
        )
        if verdict.passed != line.passed or literal != line.structural:
            wrong.append((line.name, line.command, verdict, literal))
        if verdict.structural != (literal and verdict.exit_ok):
            wrong.append((line.name, "structural is not exit and literal structure", verdict))
    return wrong


def test_every_verdict_of_the_twenty_tasks_is_as_recorded():
    assert len(recorded()) == 326 and verdicts_differ(recorded()) == []


def test_every_verdict_of_the_forty_further_tasks_is_as_recorded():
    assert len(recorded_more()) > 1_000
    assert {line.task.content for line in recorded_more()} == {"set", "ordered", "paths", "keyed"}
    assert verdicts_differ(recorded_more()) == []


@pytest.mark.parametrize(
    ("task", "shell", "why"),
    [
        ("tree-size-bytes", "bash", "Line 1 is '31813' instead of '15429'."),
        ("stale-lockfiles", "pwsh", "Line 'missing-desc' is unexpected."),
        ("session-tool-failures", "pwsh", "The output is not a JSON array."),
        ("probe-endpoints", "pwsh", "Exit code 1, and nothing was printed."),
    ],
)
def test_why_names_the_first_difference(task, shell, why):
    said = [
        judge(line.task, line.result, line.expected).why
        for line in recorded()
        if (line.task.id, line.shell, line.world) == (task, shell, 1) and line.kind != "reference"
    ]
    assert why in said


def test_table_noise_is_told_from_a_line_too_many():
    noisy = {
        (line.task.id, line.shell)
        for line in recorded()
        if judge(line.task, line.result, line.expected).table_noise
    }
    pwsh = (
        "fetch-top-crates",
        "largest-rust-files",
        "lockfile-duplicates",
        "scheduler-children",
        "top-memory-process",
    )
    assert noisy == {("top-memory-process", "bash"), *((task, "pwsh") for task in pwsh)}
