"""Expected against printed, line by line, as the task's content rule reads them.

The judgement is the check's alone.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from difflib import SequenceMatcher
from itertools import accumulate, takewhile
from operator import itemgetter
from typing import Any

from fluency.scoring.checks import (
    JSON_RULES,
    NOT_JSON,
    UNORDERED,
    clean,
    line_key,
    output_lines,
    parse_json,
)

ALIGNED = 400  # lines; beyond, aligning costs time squared and no reader follows it
MOST = 2_000  # lines of either side that are compared at all
DIGITS = 30  # a number written 1e999999 is not worth its digits

Rows = list[tuple[str, str]]
"""A line as printed and its mark: `=` in both, `-` expected only, `+` printed only."""


def difference(expected: Any, printed: bytes, content: str, size: int = 200_000) -> dict[str, Any]:
    """The difference between a task's answer and an output.

    Beyond 2,000 lines of one side the rest is counted as differing.

    Args:
        expected: JSON-ready, in the form of the content rule.
        printed: Standard output.
        content: The rule. `set`, `paths` and `jsonset` compare as multisets and are sorted;
            `ordered`, `hex` and `json` keep the order.
        size: Characters to show, lines that differ before lines that do not. A line is cut at a
            twentieth of it or at 200, and counts at least as 33.

    Returns:
        `rows` in their order, and how many lines are the `same`, `missing` and `extra` in all.
    """
    text = clean(printed)
    got = output_lines(text)
    if content in JSON_RULES:
        wanted = _json_lines(parse_json(json.dumps(expected)))
        with suppress(RecursionError):
            value = parse_json(text)
            got = got if value is NOT_JSON else _json_lines(value)
    else:
        items = expected if isinstance(expected, list) else [expected]
        wanted = [item if isinstance(item, str) else _dumped(item) for item in items]
    compare = _multiset if content in UNORDERED else _sequence
    found = compare(wanted[:MOST], got[:MOST], line_key(content, wanted))
    ops = [op for op, _ in found]
    ranked = sorted(range(len(found)), key=lambda at: ops[at] == "=")
    longest = max(200, size // 20)
    used = accumulate(max(33, min(len(found[at][1]), longest)) for at in ranked)
    fitting = len([*takewhile(lambda total: total <= size, used)])
    lines = [found[at] for at in sorted(ranked[:fitting])]
    return {
        "rows": [[op, line[:longest] + "…" * (len(line) > longest)] for op, line in lines],
        "same": ops.count("="),
        "missing": ops.count("-") + len(wanted[MOST:]),
        "extra": ops.count("+") + len(got[MOST:]),
    }


def _multiset(wanted: Sequence[str], got: Sequence[str], key: Callable[[str], str]) -> Rows:
    left = Counter(map(key, wanted))
    rows = []
    for known, new, lines in (("=", "+", got), ("-", "", wanted)):
        for kept, line in zip(map(key, lines), lines, strict=True):
            is_left = left[kept] > 0
            left[kept] -= is_left
            if op := known if is_left else new:
                rows.append((kept, "-+=".index(op), op, line))
    return [(op, line) for _, _, op, line in sorted(rows, key=itemgetter(0, 1))]


def _sequence(wanted: Sequence[str], got: Sequence[str], key: Callable[[str], str]) -> Rows:
    keys = [key(line) for line in wanted[:ALIGNED]], [key(line) for line in got[:ALIGNED]]
    rest = ("rest", ALIGNED, MOST, ALIGNED, MOST)
    rows: Rows = []
    for tag, a, b, c, d in [*SequenceMatcher(None, *keys, autojunk=False).get_opcodes(), rest]:
        if tag == "equal":
            rows += [("=", line) for line in got[c:d]]
        else:
            rows += [("-", line) for line in wanted[a:b]] + [("+", line) for line in got[c:d]]
    return rows


def _json_lines(value: Any) -> list[str]:
    """A line for each item or key; not indented, which would write blanks for each level."""
    if isinstance(value, dict) and value:
        return [f"{_dumped(key)}: {_dumped(value[key])}" for key in sorted(value)]
    return [_dumped(item) for item in (value if isinstance(value, list) and value else [value])]


def _number(value: Decimal) -> int | float | str:
    """A number written one way, as the check compares 3.0 and 3."""
    if abs(value.adjusted()) > DIGITS:
        return str(value)
    return int(value) if value == value.to_integral_value() else float(value)


_dumped = json.JSONEncoder(default=_number, sort_keys=True, ensure_ascii=False).encode
