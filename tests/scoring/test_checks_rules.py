"""Each rule accepts what is right and nothing else, made up or recorded; what it forgives."""

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
from fluency.scoring.judgement import Judgement, judge
from tests.scoring.recordings import HANGING_S, result, task_with

WORD = st.text(alphabet="abcXYZ019-_.", min_size=1, max_size=8)
WORDS = st.lists(WORD, min_size=1, max_size=3).map(" ".join)
LINES = st.lists(WORDS, min_size=1, max_size=8)
PATH = st.from_regex(r"[a-z][a-z0-9]{0,4}(/[a-z0-9 ]?[a-z0-9]{1,4}){0,3}", fullmatch=True)
PATHS = st.lists(PATH, min_size=1)
NUMBERS = st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False)
# A check removes byte order marks, so no expected value holds one.
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\ufeff"), max_size=4)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def differs(rule, expected, stdout):
    text = checks.clean(stdout.encode())
    return checks.content_problem(rule, expected, text, checks.output_lines(text))


def written(lines):
    return "".join(f"{line}\n" for line in lines)


@given(LINES, st.randoms())
def test_content_problem_of_permuted_lines(lines, rng):
    assert differs("ordered", lines, written(lines)) is None
    mixed = rng.sample(lines, len(lines))
    assert differs("set", lines, written(mixed)) is None
    assert (differs("ordered", lines, written(mixed)) is None) == (mixed == lines)


@pytest.mark.parametrize("rule", ["set", "ordered", "paths", "keyed"])
@given(lines=PATHS, data=st.data())
def test_content_problem_of_lost_added_or_changed_line(rule, lines, data):
    place = data.draw(st.integers(0, len(lines) - 1))
    lines = checks.output_lines(written(lines))
    assert differs(rule, lines, written(lines[:place] + lines[place + 1 :])) is not None
    assert differs(rule, lines, written([*lines, lines[place]])) is not None
    assert differs(rule, lines, written([*lines, "another"])) is not None
    changed = [*lines[:place], lines[place] + "x", *lines[place + 1 :]]
    assert differs(rule, lines, written(changed)) is not None


@given(PATHS, st.data())
def test_content_problem_paths_in_any_form(paths, data):
    paths = checks.output_lines(written(paths))
    ways = [data.draw(st.sampled_from(["", "./", "/work/", "/work/./"])) + path for path in paths]
    assert differs("paths", paths, written(ways)) is None


KEYED = ["../api/http.md docs/src/first run.md"]
KEYED += [f"gone.md docs/src/{name}.md" for name in ("README", "a")]


def test_content_problem_keyed_lines():
    written_so = "gone.md /work/docs/src/a.md\n../api/http.md ./docs/src/first run.md\ngone.md docs//src/README.md\n"
    assert differs("keyed", KEYED, written_so) is None
    run = "docs/src/first run.md"
    ways = ("./../api/http.md", "/work/../api/http.md", "../api//http.md")
    keys = [f"{before} {run}" for before in ways]
    paths = [f"../api/http.md{path}" for path in (f" /{run}", " docs/src/first", "")]
    others = [[first, *KEYED[1:]] for first in (*keys, *paths, f"{run} ../api/http.md")]
    for wrong in (KEYED[1:], [*KEYED, KEYED[0]], [*KEYED, "gone.md /work/docs/src/a.md"], *others):
        assert differs("keyed", KEYED, written(wrong)) is not None


SIZED = ["900 crates/a/b.rs", "87 crates/a b/c.rs"]


@pytest.mark.parametrize(
    "expected, stdout, equal",
    [
        (SIZED, "900 /work/crates/a/b.rs\n87 ./crates/a b/c.rs", True),
        (SIZED, "900 /work/crates/a/c.rs\n87 ./crates/a b/c.rs", False),
        (SIZED, "901 /work/crates/a/b.rs\n87 ./crates/a b/c.rs", False),
        (SIZED, "87 ./crates/a b/c.rs\n900 /work/crates/a/b.rs", False),
        (SIZED, "/work/900 crates/a/b.rs\n87 ./crates/a b/c.rs", False),
        (SIZED, "900 /crates/a/b.rs\n87 ./crates/a b/c.rs", False),
        (["cd x/y"], "cd ./x/y", False),
        (["vox-git"], "./vox-git", False),
        (["3 vox-git"], "3 ./vox-git", False),
        (["3 a/b", "total"], "3 ./a/b\ntotal", False),
        (["3 ./a/b"], "3 a/b", False),
    ],
)
def test_content_problem_ordered_reads_paths_after_sizes_alone(expected, stdout, equal):
    assert (differs("ordered", expected, stdout) is None) == equal


@given(st.text(alphabet="0123456789abcdefABCDEF", min_size=8, max_size=64))
def test_content_problem_hex_ignores_case(digits):
    assert differs("hex", digits, digits.upper()) is None
    assert differs("hex", [digits], digits.lower()) is None
    for wrong in (digits[1:], f"{digits}\n{digits}", f"{digits} -"):
        assert differs("hex", digits, wrong) is not None


@given(JSON)
def test_content_problem_json_in_any_form(value):
    packed = {"separators": (",", ":"), "ensure_ascii": False}
    for form in ({"indent": 2}, packed, {"sort_keys": True}):
        assert differs("json", value, json.dumps(value, **form)) is None


@given(st.lists(JSON, max_size=4), st.randoms())
def test_content_problem_jsonset_ignores_order(values, rng):
    assert differs("jsonset", values, json.dumps(rng.sample(values, len(values)))) is None
    assert differs("jsonset", values, json.dumps([*values, {"one": "more"}])) is not None
    if values:
        assert differs("jsonset", values, json.dumps(values[1:])) is not None


@pytest.mark.parametrize(
    "expected, stdout, equal",
    [
        (3, "3.0", True), (3, "3e0", True), (0.1, "0.10", True), (0.1, "0.1000000000000000055511151231257827", False),
        (3, '"3"', False), (1, "true", False), (0, "false", False), (0, "null", False), (True, "1", False),
        ([], "{}", False), ({"a": 1}, '{"A": 1}', False), ({"a": 1}, '{"a": 1, "a": 1}', False),
        ({"a": 1}, '{"a": 1} {"a": 1}', False), ("NaN", "NaN", False), (10**40, "1" + "0" * 40, True),
        (3, "3" + "0" * 5_000, False), ([], "[" * 100_000, False), ([], "[" * 900 + "]" * 900, False),
        ([1], "[1,]", False),
    ],
    ids=lambda value: repr(value)[:16],
)  # fmt: skip
def test_content_problem_json_equality(expected, stdout, equal):
    assert (differs("json", expected, stdout) is None) == equal


def test_content_problem_unfit_answer():
    for rule, expected in (("set", "a"), ("ordered", [1]), ("jsonset", {"a": 1})):
        with pytest.raises(UserError):
            differs(rule, expected, "a")


@pytest.mark.parametrize(
    "form, stdout, literal, real",
    [
        ({"line": r"^\d+$"}, "", True, False),
        ({"line": r"^\d+$"}, "1\n\n2\n", True, True),
        ({"line": r"^\d+$"}, "1\nx\n", False, False),
        ({"line": r"^\d+$", "lines": "exactly-one"}, "", False, False),
        ({"line": r"^\d+$", "lines": "exactly-one"}, "1\n2", False, False),
        ({"line": r"^\d+$", "lines": "exactly-one"}, " 1 ", True, True),
        ({"json_shape": "array-of-objects"}, "", False, False),
        ({"json_shape": "array-of-objects"}, '[{"a":\n 1}]', True, True),
        *[
            ({"json_shape": "array-of-objects"}, given, False, False)
            for given in ("[1]", "[{}, 1]")
        ],
        ({"json_shape": "array"}, "[1]", True, True),
        ({"json_shape": "array"}, "{}", False, False),
        ({"json_shape": "object"}, "{}", True, True),
        ({"json_shape": "object"}, "[]", False, False),
    ],
)
def test_structure_problem(form, stdout, literal, real):
    wanted = Structure(**form)
    lines = checks.output_lines(stdout)
    assert (checks.design_structure_problem(wanted, stdout, lines) is None) == literal
    assert (checks.structure_problem(wanted, stdout, lines) is None) == real


ONE = task_with("set", r"^[a-z]+ \d+$")


def test_judge_right_output():
    verdict = judge(ONE, result("a 1\nb 2\n"), ["b 2", "a 1"])
    assert verdict == Judgement(True, True, True, True, "The answer is right.")
    assert verdict.passed


@pytest.mark.parametrize(
    "ending, why",
    [
        ({"exit_code": 1}, "Exit code 1, though the output is right."),
        ({"exit_code": None, "signal": 11}, "Signal 11 ended it, though the output is right."),
        ({"exit_code": 0, "timed_out": True},
            "It was stopped at the deadline after 0.2 s, though the output is right."),
        ({"exit_code": None, "spawn_error": "too long"},
            "The command could not be started: too long, though the output is right."),
    ],
)  # fmt: skip
def test_judge_bad_ending(ending, why):
    verdict = judge(ONE, result("a 1\n", **ending), ["a 1"])
    assert (verdict.passed, verdict.exit_ok, verdict.structural) == (False, False, False)
    assert (verdict.structure_ok, verdict.content) == (True, True) and verdict.why == why


def test_judge_cut_output():
    cut = Result(exit_code=0, stdout=Stream.of(b"a 1\n", 9_999), stderr=Stream.of(b""), wall_s=1)
    verdict = judge(ONE, cut, ["a 1"])
    assert not (verdict.passed or verdict.structural or verdict.structure_ok or verdict.content)
    assert verdict.why == "Standard output was cut after 4 of 9999 bytes."


def test_judge_needs_structure_and_content():
    verdict = judge(ONE, result(""), ["a 1"])
    assert verdict.structural and not verdict.structure_ok and not verdict.passed
    verdict = judge(task_with("set", r"^\d+$"), result("a\n"), ["a"])
    assert verdict.content and not verdict.passed


@pytest.mark.parametrize(
    "stdout, noise",
    [
        ("\nName Count\n---- -----\na 1\n", True), ("Name Count\na 1\n", True), ("NAME %CPU\na 1\n", True),
        ("a 1\n--- ---\n", True), ("b 2\na 1\n", False), ("a 1\nName Count\n", False),
        ("Name Count\n---- -----\na 2\n", False), ("---\na 1\n---\n", True),
    ],
)  # fmt: skip
def test_judge_table_noise(stdout, noise):
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
@pytest.mark.parametrize("rule, expected", ANSWERS.items())
def test_judge_megabyte_in_linear_time(stdout, rule, expected):
    of_json = {"line": None, "json_shape": "array"} if rule in JSON_RULES else {}
    task, printed = task_with(rule, **of_json), result(stdout)
    started = time.process_time()
    assert not judge(task, printed, expected).passed and time.process_time() - started < HANGING_S


def test_judge_why_is_one_line():
    verdict = judge(ONE, result("\x07evil\x00 <script>" + "x" * 9_999), ["a 1"])
    assert verdict.why.isprintable() and len(verdict.why) < 300


TEXT = st.text(alphabet=st.sampled_from("ab0 \t\r\n\x1b[]31;mK\x07\\/.\ufeffé"), max_size=60)
COLOURS = st.sampled_from(["\x1b[0m", "\x1b[1;32m", "\x1b[38;5;9m", "\x1b[K", ""])


def through(text):
    return checks.output_lines(checks.clean(text.encode()))


@given(TEXT)
@settings(max_examples=500)
def test_output_lines_idempotent(text):
    once = through(text)
    assert through("\n".join(once)) == once
    assert all(line and line == line.strip(" \r\t") for line in once)


@given(LINES, st.integers(0, 3), COLOURS)
def test_clean_ends_marks_colour_and_padding(lines, pad, colour):
    padded = [line.replace(" ", " " * (pad + 1)) for line in lines]
    dressed = [f"{' ' * pad}{colour}{line}{colour}{chr(9) * pad}" for line in padded]
    assert through("\ufeff" + "\r\n".join(dressed) + "\r\n\r\n") == lines


@pytest.mark.parametrize(
    "raw, lines",
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
        ("a\N{NO-BREAK SPACE}b\N{LINE SEPARATOR}c".encode(), ["a\N{NO-BREAK SPACE}b\N{LINE SEPARATOR}c"]),
    ],
)  # fmt: skip
def test_clean_corner_cases(raw, lines):
    assert checks.output_lines(checks.clean(raw)) == lines


@pytest.mark.parametrize(
    "path",
    [
        "crates/.hidden", "crates/a./b", ".github/x", "crates/a/", "crates/a/../b", "work/crates",
        "/workspace/crates", "/tmp/work/crates", "a file with spaces",
    ],
)  # fmt: skip
def test_relative_path_keeps_other_forms(path):
    assert checks.relative_path(path) == path


@pytest.mark.parametrize(
    "rule, stdout, why",
    [
        ("ordered", "a\nb\n", "Line 2 is 'b' instead of 'c'."),
        ("ordered", "a\n", "Line 2 'c' is missing."),
        ("ordered", "a\nc\nd\n", "Line 3 'd' is unexpected (2 lines expected)."),
        ("set", "c\n", "Line 'a' is missing (1 of 2 lines)."),
        ("set", "a\nc\nc\n", "Line 'c' appears twice."),
        ("paths", "a\nc\nd\n", "Path 'd' is unexpected."),
        ("hex", "a\nb\n", "Line 2 'b' is unexpected (1 line expected)."),
    ],
)
def test_judge_why_names_first_difference(rule, stdout, why):
    expected = ["a"] if rule == "hex" else ["a", "c"]
    assert judge(task_with(rule), result(stdout), expected).why == why
