"""One comparison rule for each kind of answer; each says in one clause what differs first.

=========  =======================================  ====================================================
rule       expected answer                          right output
=========  =======================================  ====================================================
set        list of lines                            the same lines as a multiset, in any order
ordered    list of lines                            the same lines in the same order
paths      list of paths relative to the root       the same paths as a multiset, absolute or relative
keyed      list of KEY PATH lines, relative         the same lines as a multiset, the path absolute or relative
jsonset    list of JSON values                      one JSON array of equal values, in any order
json       a JSON value                             one equal JSON value
hex        the digits, bare or as a list of one     one line of the same digits in either case
=========  =======================================  ====================================================

The key of a `keyed` line is all before its first blank and must be equal as text, also where it is a path itself:
the task asks for it as it is written somewhere.

An `ordered` answer whose every expected line is a whole number, a space and a relative path with a `/` in it
(SIZE PATH) takes the path in either way of writing it. The number must be equal as text and the path must name the
same file, so nothing wrong can pass by it; other ordered answers are compared as they stand.

JSON values are equal as `json_values` says: 3.0 equals 3, "3" does not.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from fluency.common.errors import UserError
from fluency.common.words import counted
from fluency.scoring import normalise
from fluency.scoring.json_values import NOT_JSON, frozen, parse_json

UNORDERED = frozenset({"set", "paths", "keyed", "jsonset"})
JSON_RULES = frozenset({"json", "jsonset"})
_SIZED_PATH = re.compile(r"\d+ (?!/|\./)\S*/\S.*")


def difference(rule: str, expected: Any, text: str, lines: list[str]) -> str | None:
    """None if the output is the expected answer by the rule, else one clause that names the first difference.

    `text` is the clean output, `lines` are its normalised lines. UserError if `expected` does not fit the rule.
    """
    try:
        compare = _RULES[rule]
    except KeyError:
        raise UserError(f"there is no content rule {rule}", hint=f"there are: {', '.join(_RULES)}") from None
    return compare(expected, text, lines)


def line_key(rule: str, expected: list[str]) -> Callable[[str], str]:
    """What a rule compares in place of a printed line; `expected` are the answer's lines.

    The rules in UNORDERED count the keys, the others compare them one after the other; those in JSON_RULES compare
    values, by `json_values.frozen`, and no lines.
    """
    if rule == "paths":
        return normalise.path
    if rule == "hex":
        return str.lower
    return _with_plain_path if rule == "keyed" or (rule == "ordered" and is_sized_paths(expected)) else str


def quoted(text: str, limit: int = 80) -> str:
    """A piece of output as a sentence can hold it: one line, cut at `limit` characters."""
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[: limit + 1])
    return f"'{shown[:limit]}…'" if len(shown) > limit else f"'{shown}'"


def is_sized_paths(expected: list[str]) -> bool:
    """Whether an ordered answer is a list of SIZE PATH lines."""
    return bool(expected) and all(_SIZED_PATH.fullmatch(line) for line in expected)


def _set(expected: Any, text: str, lines: list[str]) -> str | None:
    return _multiset(_lines_of(expected, "set"), lines, "line")


def _paths(expected: Any, text: str, lines: list[str]) -> str | None:
    wanted = _lines_of(expected, "paths")
    return _multiset(wanted, list(map(line_key("paths", wanted), lines)), "path")


def _keyed(expected: Any, text: str, lines: list[str]) -> str | None:
    wanted = _lines_of(expected, "keyed")
    return _multiset(wanted, list(map(line_key("keyed", wanted), lines)), "line")


def _ordered(expected: Any, text: str, lines: list[str]) -> str | None:
    wanted = _lines_of(expected, "ordered")
    lines = list(map(line_key("ordered", wanted), lines))
    for number, (want, got) in enumerate(zip(wanted, lines, strict=False), 1):
        if want != got:
            return f"line {number} is {quoted(got)} instead of {quoted(want)}"
    if len(lines) > len(wanted):
        return (
            f"line {len(wanted) + 1} {quoted(lines[len(wanted)])} is too much ({counted(len(wanted), 'line')} expected)"
        )
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
        return f"{counted(len(lines), 'line')} instead of one"
    return f"{quoted(lines[0])} instead of {quoted(wanted[0])}"


def _json(expected: Any, text: str, lines: list[str]) -> str | None:
    try:
        value = parse_json(text)
        if value is NOT_JSON:
            return "the output is not one JSON value"
        return None if frozen(value) == frozen(expected) else f"the JSON value is not {quoted(_shown(expected))}"
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
        wanted, got = Counter(map(frozen, expected)), Counter(map(frozen, value))
    except RecursionError:
        return "the JSON value is nested too deep"
    missing, extra = wanted - got, got - wanted
    for items, left, word in ((expected, missing, "is missing"), (value, extra, "is too much")):
        for item in items:
            if frozen(item) in left:
                return f"the element {quoted(_shown(item))} {word}"
    return None


_RULES: dict[str, Callable[[Any, str, list[str]], str | None]] = {
    "set": _set,
    "ordered": _ordered,
    "paths": _paths,
    "keyed": _keyed,
    "jsonset": _jsonset,
    "json": _json,
    "hex": _hex,
}


def _multiset(wanted: list[str], got: list[str], noun: str) -> str | None:
    missing, extra = Counter(wanted), Counter(got)
    missing.subtract(got)
    extra.subtract(wanted)
    lost = [line for line in dict.fromkeys(wanted) if missing[line] > 0]
    more = [line for line in dict.fromkeys(got) if extra[line] > 0]
    clauses = []
    if lost:
        clauses.append(f"{noun} {quoted(lost[0])} is missing ({len(lost)} of {counted(len(wanted), noun)})")
    if more:
        word = "stands there twice" if more[0] in wanted else "is too much"
        clauses.append(f"{noun} {quoted(more[0])} {word}" + (f" ({len(more)} such)" if len(more) > 1 else ""))
    return ", and ".join(clauses) or None


def _with_plain_path(line: str) -> str:
    key, blank, rest = line.partition(" ")
    return f"{key}{blank}{normalise.path(rest)}"


def _lines_of(expected: Any, rule: str) -> list[str]:
    if not isinstance(expected, list) or not all(isinstance(line, str) for line in expected):
        raise _unfit(rule, "a list of texts")
    return normalise.lines("\n".join(expected))


def _unfit(rule: str, form: str) -> UserError:
    return UserError(
        f"the expected answer does not fit the content rule {rule}",
        hint=f"let the task's answer.py return {form}; see docs/adding-a-task.md",
    )


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
