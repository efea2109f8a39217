"""Expected against printed, line by line, as the task's content rule reads them.

The verdict is the check's alone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple

from fluency.scoring import checks
from fluency.scoring.checks import JSON_RULES, NOT_JSON, UNORDERED, line_key, parse_json

Op = Literal["=", "-", "+"]
ALIGNED = 400  # lines; beyond, aligning costs time squared and no reader follows it
MOST = 2_000  # lines of either side that are compared at all
DIGITS = 30  # a number written 1e999999 is not worth its digits


class Row(NamedTuple):
    """`=` in both (as printed), `-` expected and not printed, `+` printed and not expected."""

    op: Op
    text: str


class Difference(NamedTuple):
    """The rows to show, and how many there are of each kind in all."""

    rows: tuple[Row, ...]
    same: int
    missing: int
    extra: int

    def shortened(self, most: int) -> Difference:
        """At most `most` rows, lines that differ before lines that do not, in their order."""
        if len(self.rows) <= most:
            return self
        ranked = sorted(range(len(self.rows)), key=lambda at: (self.rows[at].op == "=", at))
        return self._replace(rows=tuple(self.rows[at] for at in sorted(ranked[:most])))


def difference(expected: Any, printed: bytes, content: str) -> Difference:
    """The difference between a task's answer and an output.

    Beyond 2,000 lines of one side the rest is counted as differing.

    Args:
        expected: JSON-ready, in the form of the content rule.
        printed: Standard output.
        content: The rule. `set`, `paths` and `jsonset` compare as multisets and are sorted;
            `ordered`, `hex` and `json` keep the order.
    """
    text = checks.clean(printed)
    if content in JSON_RULES:
        wanted, got = _json_lines(expected), _json_output(text)
    else:
        wanted, got = _expected_lines(expected), checks.output_lines(text)
    left = max(0, len(wanted) - MOST), max(0, len(got) - MOST)
    compare = _multiset if content in UNORDERED else _sequence
    rows = compare(wanted[:MOST], got[:MOST], line_key(content, wanted))
    count = Counter(row.op for row in rows)
    return Difference(tuple(rows), count["="], count["-"] + left[0], count["+"] + left[1])


def _multiset(wanted: Sequence[str], got: Sequence[str], key: Callable[[str], str]) -> list[Row]:
    left = Counter(map(key, wanted))
    rows: list[tuple[str, Row]] = []
    for line in got:
        found = left[key(line)] > 0
        left[key(line)] -= found
        rows.append((key(line), Row("=" if found else "+", line)))
    for line in wanted:
        if left[key(line)] > 0:
            left[key(line)] -= 1
            rows.append((key(line), Row("-", line)))
    return [row for _, row in sorted(rows, key=lambda pair: (pair[0], "-+=".index(pair[1].op)))]


def _sequence(wanted: Sequence[str], got: Sequence[str], key: Callable[[str], str]) -> list[Row]:
    keys = [key(line) for line in wanted[:ALIGNED]], [key(line) for line in got[:ALIGNED]]
    rows: list[Row] = []
    for tag, a, b, c, d in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        if tag == "equal":
            rows += [Row("=", line) for line in got[c:d]]
        else:
            rows += [Row("-", line) for line in wanted[a:b]] + [Row("+", line) for line in got[c:d]]
    return (
        rows
        + [Row("-", line) for line in wanted[ALIGNED:]]
        + [Row("+", line) for line in got[ALIGNED:]]
    )


def _expected_lines(expected: Any) -> list[str]:
    items = expected if isinstance(expected, list) else [expected]
    return [item if isinstance(item, str) else _dumped(item) for item in items]


def _json_lines(value: Any) -> list[str]:
    """A line for each item or key; not indented, which would write blanks for each level."""
    if isinstance(value, dict) and value:
        return [f"{_dumped(key)}: {_dumped(value[key])}" for key in sorted(value)]
    return [_dumped(item) for item in (value if isinstance(value, list) and value else [value])]


def _json_output(text: str) -> list[str]:
    """The output's JSON value as lines; as it was printed if it is invalid or too deep."""
    try:
        value = parse_json(text)
        return checks.output_lines(text) if value is NOT_JSON else _json_lines(value)
    except RecursionError:
        return checks.output_lines(text)


def _dumped(value: Any) -> str:
    return json.dumps(_plain(value), sort_keys=True, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """A JSON value with each number written one way, as the check compares 3.0 and 3."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        value = Decimal(str(value))
    if isinstance(value, Decimal):
        if abs(value.adjusted()) > DIGITS:
            return str(value)
        return int(value) if value == value.to_integral_value() else float(value)
    return value
