"""What checks ignore in an output, and the structure and content rules.

Harbor's tasks hold a copy of this module.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from fluency.common.errors import UserError
from fluency.common.words import plural
from fluency.world.model import WORK_DIR

if TYPE_CHECKING:
    from fluency.core.tasks import Structure

WORLD_ROOT = f"{WORK_DIR}/"
_BOM = "\ufeff"
_ESCAPES = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movements
    # OSC: window titles, hyperlinks. An unfinished one ends with its line, or the lines after it would be lost.
    "|\x1b\\][^\x07\x1b\r\n]*(?:\x07|\x1b\\\\|(?=[\r\n])|\\Z)"
    "|\x1b"  # the rest of a broken sequence, so that no new one can form
)
_BLANKS = re.compile(r"[ \t]+")
_SLASHES = re.compile(r"/(?:\.?/)+")


def clean(raw: bytes) -> str:
    """The text of a stream: UTF-8 with errors replaced, without byte order marks and escape sequences, CRLF as LF."""
    text = raw.decode("utf-8", errors="replace").replace(_BOM, "")
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    return text.replace("\r\n", "\n") if "\r" in text else text


def output_lines(text: str) -> list[str]:
    """The lines of a clean text that are not empty, trimmed, with one space for each run of blanks."""
    trimmed = (line.strip(" \r") for line in _BLANKS.sub(" ", text).split("\n"))
    return [line for line in trimmed if line]


def relative_path(written: str) -> str:
    """A path relative to the world's root: without the root and leading `./`, and without `//` and `/./` inside.

    By POSIX all of these name the same file. A trailing slash stays: it names a directory and is wrong for a file,
    which the text alone does not show. `..` stays because of symbolic links.
    """
    written = _SLASHES.sub("/", written)
    written = written.removeprefix(WORLD_ROOT)
    while written.startswith("./"):
        written = written[2:]
    return written


NOT_JSON = object()
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


def parse_json(text: str) -> Any:
    """The JSON value of a text, numbers as int or Decimal; NOT_JSON if it is none, repeats a key or holds NaN."""
    try:
        return json.loads(
            text, parse_float=Decimal, parse_constant=_refuse, object_pairs_hook=_object
        )
    except (ValueError, RecursionError, ArithmeticError):
        return NOT_JSON


def json_key(value: Any) -> Hashable:
    """A hashable key that is equal for equal JSON values; RecursionError if the value is nested too deep."""
    if isinstance(value, bool) or value is None:
        return ("constant", value)
    if isinstance(value, str):
        return ("string", value)
    if isinstance(value, int | float | Decimal):
        return ("number", _number_key(value))
    if isinstance(value, dict):
        return ("object", frozenset((key, json_key(item)) for key, item in value.items()))
    return ("array", tuple(json_key(item) for item in value))


def _number_key(value: int | float | Decimal) -> str:
    """One text for all equal numbers. Not the number itself: an output may hold many whose hashes are the same."""
    number = value if isinstance(value, Decimal) else Decimal(str(value))
    return str(_EXACT.normalize(number)) if number else "0"


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key stands twice")
    return made


_compiled = lru_cache(maxsize=None)(re.compile)


def design_structure_problem(structure: Structure, text: str, lines: list[str]) -> str | None:
    """None if the design's check passes, else one clause on the first wrong line or the wrong shape."""
    if structure.json_shape is not None:
        return _shape(structure.json_shape, text)
    pattern = _compiled(structure.line)
    for number, line in enumerate(lines, 1):
        if not pattern.search(line):
            return f"line {number} {quoted(line)} does not match {structure.line}"
    if structure.lines == "exactly-one" and len(lines) != 1:
        return (
            "nothing was printed"
            if not lines
            else f"{len(lines)} lines where exactly one is asked for"
        )
    return None


def structure_problem(structure: Structure, text: str, lines: list[str]) -> str | None:
    """Like design_structure_problem, but an output without lines is wrong too."""
    return design_structure_problem(structure, text, lines) if lines else "nothing was printed"


def _shape(shape: str, text: str) -> str | None:
    if not text.strip():
        return "nothing was printed"
    value = parse_json(text)
    if value is NOT_JSON:
        return "the output is not one JSON value"
    if shape == "object":
        return None if isinstance(value, dict) else "the output is not a JSON object"
    if not isinstance(value, list):
        return "the output is not a JSON array"
    if shape == "array-of-objects" and not all(isinstance(item, dict) for item in value):
        return "an element of the JSON array is not an object"
    return None


UNORDERED = frozenset({"set", "paths", "keyed", "jsonset"})
JSON_RULES = frozenset({"json", "jsonset"})
_SIZED_PATH = re.compile(r"\d+ (?!/|\./)\S*/\S.*", re.DOTALL)


def content_problem(rule: str, expected: Any, text: str, lines: list[str]) -> str | None:
    """None if the output is the expected answer by the rule, else one clause on the first difference.

    `text` is the clean output, `lines` are its normalised lines. UserError if `expected` does not fit the rule.
    """
    try:
        compare = _RULES[rule]
    except KeyError:
        raise UserError(
            f"there is no content rule {rule}", hint=f"there are: {', '.join(_RULES)}"
        ) from None
    return compare(expected, text, lines)


def line_key(rule: str, expected: list[str]) -> Callable[[str], str]:
    """What a rule compares in place of a printed line; `expected` are the answer's lines.

    The rules in UNORDERED count the keys, the others compare them in order; those in JSON_RULES compare no lines but
    values, by `json_key`.
    """
    if rule == "paths":
        return relative_path
    if rule == "hex":
        return str.lower
    return (
        _with_plain_path
        if rule == "keyed" or (rule == "ordered" and is_sized_paths(expected))
        else str
    )


def quoted(text: str, limit: int = 80) -> str:
    """A piece of output for a sentence: in quotes, on one line, cut at `limit` characters."""
    shown = "".join(
        char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[: limit + 1]
    )
    return f"'{shown[:limit]}…'" if len(shown) > limit else f"'{shown}'"


def is_sized_paths(expected: list[str]) -> bool:
    """Whether an ordered answer is a list of SIZE PATH lines."""
    return bool(expected) and all(_SIZED_PATH.fullmatch(line) for line in expected)


def _multiset(rule: str, noun: str, expected: Any, text: str, lines: list[str]) -> str | None:
    wanted = _lines_of(expected, rule)
    got = list(map(line_key(rule, wanted), lines))
    missing, extra = Counter(wanted) - Counter(got), Counter(got) - Counter(wanted)
    clauses = []
    if missing:
        lost = next(line for line in wanted if line in missing)
        clauses.append(
            f"{noun} {quoted(lost)} is missing ({len(missing)} of {plural(len(wanted), noun)})"
        )
    if extra:
        more = next(line for line in got if line in extra)
        word = "stands there twice" if more in wanted else "is too much"
        clauses.append(
            f"{noun} {quoted(more)} {word}" + (f" ({len(extra)} such)" if len(extra) > 1 else "")
        )
    return ", and ".join(clauses) or None


def _ordered(expected: Any, text: str, lines: list[str]) -> str | None:
    wanted = _lines_of(expected, "ordered")
    lines = list(map(line_key("ordered", wanted), lines))
    for number, (want, got) in enumerate(zip(wanted, lines, strict=False), 1):
        if want != got:
            return f"line {number} is {quoted(got)} instead of {quoted(want)}"
    if len(lines) > len(wanted):
        more, count = quoted(lines[len(wanted)]), plural(len(wanted), "line")
        return f"line {len(wanted) + 1} {more} is too much ({count} expected)"
    if len(lines) < len(wanted):
        return f"line {len(lines) + 1} {quoted(wanted[len(lines)])} is missing"
    return None


def _hex(expected: Any, text: str, lines: list[str]) -> str | None:
    wanted = expected if isinstance(expected, list) else [expected]
    wanted = _lines_of(wanted, "hex")
    key = line_key("hex", wanted)
    if len(lines) == len(wanted) == 1 and key(lines[0]) == key(wanted[0]):
        return None
    if len(lines) != 1:
        return f"{plural(len(lines), 'line')} instead of one"
    return f"{quoted(lines[0])} instead of {quoted(wanted[0])}"


def _json(expected: Any, text: str, lines: list[str]) -> str | None:
    try:
        value = parse_json(text)
        if value is NOT_JSON:
            return "the output is not one JSON value"
        return (
            None
            if json_key(value) == json_key(expected)
            else f"the JSON value is not {quoted(_shown(expected))}"
        )
    except RecursionError:
        return "the JSON value is nested too deep"


def _jsonset(expected: Any, text: str, lines: list[str]) -> str | None:
    if not isinstance(expected, list):
        raise _unfit("jsonset", "a list of JSON values")
    value = parse_json(text)
    if value is NOT_JSON:
        return "the output is not one JSON value"
    if not isinstance(value, list):
        return "the JSON value is not an array"
    try:
        wanted, got = Counter(map(json_key, expected)), Counter(map(json_key, value))
    except RecursionError:
        return "the JSON value is nested too deep"
    missing, extra = wanted - got, got - wanted
    for items, left, word in ((expected, missing, "is missing"), (value, extra, "is too much")):
        for item in items:
            if json_key(item) in left:
                return f"the element {quoted(_shown(item))} {word}"
    return None


_RULES: dict[str, Callable[[Any, str, list[str]], str | None]] = {
    "set": partial(_multiset, "set", "line"),
    "ordered": _ordered,
    "paths": partial(_multiset, "paths", "path"),
    "keyed": partial(_multiset, "keyed", "line"),
    "jsonset": _jsonset,
    "json": _json,
    "hex": _hex,
}


def _with_plain_path(line: str) -> str:
    key, blank, rest = line.partition(" ")
    return f"{key}{blank}{relative_path(rest)}"


def _lines_of(expected: Any, rule: str) -> list[str]:
    if not isinstance(expected, list) or not all(isinstance(line, str) for line in expected):
        raise _unfit(rule, "a list of texts")
    return output_lines("\n".join(expected))


def _unfit(rule: str, form: str) -> UserError:
    hint = f"let the task's answer.py return {form}; see docs/adding-a-task.md"
    return UserError(f"the expected answer does not fit the content rule {rule}", hint=hint)


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
