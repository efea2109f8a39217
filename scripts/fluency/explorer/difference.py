"""Expected against actual, line by line, in the way the task's content rule compares them.

The verdict is the check's alone. This shows a reader where an output departs, under the same forgiveness
of blanks, terminal escapes and the world's path prefix, so that what is marked is what made it fail.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple

Op = Literal["=", "-", "+"]
ALIGNED = 400  # lines; beyond, aligning costs time squared and no reader follows it
MOST = 2_000  # lines of either side that are compared at all

_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_PREFIX = re.compile(r"(^|\s)(?:/work/|\./)")


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
        """At most so many rows, lines that differ before lines that do not, in their order."""
        if len(self.rows) <= most:
            return self
        ranked = sorted(range(len(self.rows)), key=lambda at: (self.rows[at].op == "=", at))
        return self._replace(rows=tuple(self.rows[at] for at in sorted(ranked[:most])))


def difference(expected: Any, actual: str, content: str) -> Difference:
    """The difference between a task's answer and an output.

    content: the task's content rule. `set`, `paths` and `jsonset` compare as multisets and come sorted;
    `ordered`, `hex` and `json` keep the order.
    """
    if content in ("json", "jsonset"):
        wanted, got = _json_lines(expected, content), _json_output(actual, content)
    else:
        wanted, got = _expected_lines(expected), actual.splitlines()
    wanted = [line for line in wanted if line.strip()]
    got = [line for line in got if line.strip()]
    left = max(0, len(wanted) - MOST), max(0, len(got) - MOST)
    compare = _multiset if content in ("set", "paths", "jsonset") else _sequence
    rows = compare(wanted[:MOST], got[:MOST], content)
    count = Counter(row.op for row in rows)
    return Difference(tuple(rows), count["="], count["-"] + left[0], count["+"] + left[1])


def _key(line: str, content: str) -> str:
    line = _PREFIX.sub(r"\1", " ".join(_ESCAPE.sub("", line).removeprefix("\ufeff").split()))
    if content == "paths":
        line = line.rstrip("/")
    return line.casefold() if content == "hex" else line


def _multiset(wanted: Sequence[str], got: Sequence[str], content: str) -> list[Row]:
    left = Counter(_key(line, content) for line in wanted)
    rows: list[tuple[str, Row]] = []
    for line in got:
        key = _key(line, content)
        found = left[key] > 0
        left[key] -= found
        rows.append((key, Row("=" if found else "+", line)))
    for line in wanted:
        key = _key(line, content)
        if left[key] > 0:
            left[key] -= 1
            rows.append((key, Row("-", line)))
    return [row for _, row in sorted(rows, key=lambda pair: (pair[0], "-+=".index(pair[1].op)))]


def _sequence(wanted: Sequence[str], got: Sequence[str], content: str) -> list[Row]:
    keys = [_key(line, content) for line in wanted[:ALIGNED]], [_key(line, content) for line in got[:ALIGNED]]
    rows: list[Row] = []
    for tag, a, b, c, d in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        if tag == "equal":
            rows += [Row("=", line) for line in got[c:d]]
        else:
            rows += [Row("-", line) for line in wanted[a:b]] + [Row("+", line) for line in got[c:d]]
    return rows + [Row("-", line) for line in wanted[ALIGNED:]] + [Row("+", line) for line in got[ALIGNED:]]


def _expected_lines(expected: Any) -> list[str]:
    items = expected if isinstance(expected, list) else [expected]
    return [" ".join(map(_scalar, item)) if isinstance(item, list) else _scalar(item) for item in items]


def _scalar(item: Any) -> str:
    return item if isinstance(item, str) else json.dumps(item, sort_keys=True, ensure_ascii=False)


def _json_lines(value: Any, content: str) -> list[str]:
    if content == "jsonset" and isinstance(value, list):
        return [json.dumps(item, sort_keys=True, ensure_ascii=False) for item in value]
    return json.dumps(value, sort_keys=True, ensure_ascii=False, indent=2).splitlines()


def _json_output(actual: str, content: str) -> list[str]:
    try:
        return _json_lines(json.loads(actual.removeprefix("\ufeff")), content)
    except (ValueError, RecursionError):  # not JSON, or made to hurt a parser: shown as the lines it is
        return actual.splitlines()
