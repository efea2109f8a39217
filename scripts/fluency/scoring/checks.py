"""What checks ignore in an output, and the structure and content rules.

Harbor's tasks hold a copy of this module.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from fluency.common.errors import UserError
from fluency.common.words import plural
from fluency.world.model import WORK_DIR

if TYPE_CHECKING:
    from fluency.core.tasks import Structure

WORLD_ROOT = f"{WORK_DIR}/"
_ESCAPES = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movements
    # OSC: window titles, hyperlinks. An unfinished one ends with its line, or the lines after it
    # would be lost.
    "|\x1b\\][^\x07\x1b\r\n]*(?:\x07|\x1b\\\\|(?=[\r\n])|\\Z)"
    "|\x1b"  # the rest of a broken sequence, so that no new one can form
)
_BLANKS = re.compile(r"[ \t]+")
_SLASHES = re.compile(r"/(?:\.?/)+")


def clean(raw: bytes) -> str:
    """The text of a stream as UTF-8, CRLF as LF, without byte order marks and escape sequences.

    Bytes that are not UTF-8 are replaced.
    """
    text = raw.decode("utf-8", errors="replace").replace("\ufeff", "")
    return _ESCAPES.sub("", text).replace("\r\n", "\n")


def output_lines(text: str) -> list[str]:
    """The lines of a clean text that are not empty, trimmed, each run of blanks as one space."""
    trimmed = (line.strip(" \r") for line in _BLANKS.sub(" ", text).split("\n"))
    return [line for line in trimmed if line]


def relative_path(written: str) -> str:
    """A path without the world's root, without leading `./`, and without `//` and `/./` inside.

    By POSIX all of these name the same file. A trailing slash stays: it names a directory and is
    wrong for a file, which the text alone does not show. `..` stays because of symbolic links.
    """
    return _SLASHES.sub("/", written).removeprefix(WORLD_ROOT).removeprefix("./")


NOT_JSON = object()
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


def parse_json(text: str) -> Any:
    """The JSON value of a text, numbers as int or Decimal.

    NOT_JSON for anything else, a repeated key or NaN.
    """
    try:
        # Python reads NaN and Infinity, too; int() refuses them.
        return json.loads(text, parse_float=Decimal, parse_constant=int, object_pairs_hook=_object)
    except (ValueError, RecursionError, ArithmeticError):
        return NOT_JSON


def json_key(value: Any) -> Hashable:
    """A hashable key that is equal for equal JSON values; RecursionError if nested too deep."""
    if isinstance(value, bool | str | None):
        return (type(value), value)
    if isinstance(value, dict):
        return ("object", frozenset((key, json_key(item)) for key, item in value.items()))
    if isinstance(value, list):
        return ("array", tuple(map(json_key, value)))
    # A text, not the number itself: an output may hold many numbers with the same hash.
    number = Decimal(str(value))
    return ("number", str(_EXACT.normalize(number)) if number else "0")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key appears twice")
    return made


_NOTHING, _NOT_ONE = "nothing was printed", "the output is not one JSON value"


def design_structure_problem(structure: Structure, text: str, lines: list[str]) -> str | None:
    """None if the design's check passes, else one clause on the first wrong line or shape."""
    if shape := structure.json_shape:
        if not text.strip():
            return _NOTHING
        value = parse_json(text)
        if value is NOT_JSON:
            return _NOT_ONE
        fits = isinstance(value, dict if shape == "object" else list)
        if shape == "array-of-objects":
            fits = fits and all(isinstance(item, dict) for item in value)
        return None if fits else f"the output is not a JSON {shape.replace('-', ' ')}"
    search = re.compile(structure.line or "").search
    for number, line in enumerate(lines, 1):
        if not search(line):
            return f"line {number} {quoted(line)} does not match {structure.line}"
    if structure.lines == "exactly-one" and len(lines) != 1:
        return f"{len(lines)} lines where exactly one is asked for" if lines else _NOTHING
    return None


def structure_problem(structure: Structure, text: str, lines: list[str]) -> str | None:
    """Like design_structure_problem, but an output without lines is wrong too."""
    return design_structure_problem(structure, text, lines) if lines else _NOTHING


UNORDERED = frozenset({"set", "paths", "keyed", "jsonset"})
JSON_RULES = frozenset({"json", "jsonset"})
_SIZED_PATH = re.compile(r"\d+ (?!/|\./)\S*/\S.*", re.DOTALL)


def content_problem(rule: str, expected: Any, text: str, lines: list[str]) -> str | None:
    """None if the output is the expected answer by the rule, else the first difference.

    `text` is the clean output, `lines` are its normalised lines.
    UserError if `expected` does not fit the rule.
    """
    if rule in JSON_RULES:
        if rule == "jsonset" and not isinstance(expected, list):
            raise _unfit(rule, "a list of JSON values")
        value = parse_json(text)
        if value is NOT_JSON:
            return _NOT_ONE
        try:
            return (_json if rule == "json" else _jsonset)(expected, value)
        except RecursionError:
            return "the JSON value is nested too deep"
    wanted = [expected] if rule == "hex" and isinstance(expected, str) else expected
    if not isinstance(wanted, list) or not all(isinstance(line, str) for line in wanted):
        raise _unfit(rule, "a list of texts")
    wanted = output_lines("\n".join(wanted))
    key = line_key(rule, wanted)
    compare = multiset_problem if rule in UNORDERED else _ordered
    return compare(list(map(key, wanted)), list(map(key, lines)), rule)


def line_key(rule: str, expected: list[str]) -> Callable[[str], str]:
    """What a rule compares in place of a printed line; `expected` are the answer's lines.

    The rules in UNORDERED count the keys, the others compare them in order. Those in JSON_RULES
    compare values by `json_key`, not lines.
    """
    if rule == "ordered" and is_sized_paths(expected):
        rule = "keyed"
    keys = {"paths": relative_path, "hex": str.lower, "keyed": _with_plain_path}
    return keys.get(rule, str)


def quoted(text: str, limit: int = 80) -> str:
    """A piece of output for a sentence: in quotes, on one line, cut at `limit` characters."""
    shown = (char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[:limit])
    return f"'{''.join(shown)}{'…' * (len(text) > limit)}'"


def is_sized_paths(expected: list[str]) -> bool:
    """Whether an ordered answer is a list of SIZE PATH lines."""
    return bool(expected) and all(_SIZED_PATH.fullmatch(line) for line in expected)


def multiset_problem(wanted: list[str], got: list[str], rule: str) -> str | None:
    """None if the texts are the wanted ones in any order, else what is missing or unexpected."""
    noun = "path" if rule == "paths" else "line"
    missing, extra = Counter(wanted) - Counter(got), Counter(got) - Counter(wanted)
    clauses = []
    if missing:
        lost = quoted(next(iter(missing)))
        clauses.append(f"{noun} {lost} is missing ({len(missing)} of {plural(len(wanted), noun)})")
    if extra:
        more = next(iter(extra))
        word = "appears twice" if more in wanted else "is unexpected"
        such = f" ({len(extra)} such)" if len(extra) > 1 else ""
        clauses.append(f"{noun} {quoted(more)} {word}{such}")
    return ", and ".join(clauses) or None


def _ordered(wanted: list[str], found: list[str], _: str) -> str | None:
    for number, (want, got) in enumerate(zip_longest(wanted, found), 1):
        if want is None:
            count = plural(len(wanted), "line")
            return f"line {number} {quoted(got)} is unexpected ({count} expected)"
        if got is None:
            return f"line {number} {quoted(want)} is missing"
        if want != got:
            return f"line {number} is {quoted(got)} instead of {quoted(want)}"
    return None


def _json(expected: Any, value: Any) -> str | None:
    if json_key(value) == json_key(expected):
        return None
    return f"the JSON value is not {quoted(_shown(expected))}"


def _jsonset(expected: Any, value: Any) -> str | None:
    if not isinstance(value, list):
        return "the JSON value is not an array"
    wanted, got = Counter(map(json_key, expected)), Counter(map(json_key, value))
    for items, left, word in (
        (expected, wanted - got, "is missing"),
        (value, got - wanted, "is unexpected"),
    ):
        for item in items:
            if json_key(item) in left:
                return f"the element {quoted(_shown(item))} {word}"
    return None


def _with_plain_path(line: str) -> str:
    key, blank, rest = line.partition(" ")
    return f"{key}{blank}{relative_path(rest)}"


def _unfit(rule: str, form: str) -> UserError:
    hint = f"let the task's answer.py return {form}; see docs/adding-a-task.md"
    return UserError(f"the expected answer does not fit the content rule {rule}", hint=hint)


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
