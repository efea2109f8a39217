"""JSON as an answer: one value, numbers compared as numbers, keys exact.

JSON has one type of number, so 3.0 equals 3 (a .NET sum is a double and is written 3.0) and 3e0 equals both; "3" is a
string and true is a boolean: neither equals a number. An object that has a key twice is refused, since readers disagree
on what it says; so are NaN and Infinity, which are not JSON.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from decimal import Decimal
from typing import Any

NOT_JSON = object()


def parse_json(text: str) -> Any:
    """The one JSON value a text is, numbers as int or Decimal; NOT_JSON if it is none, or has a key twice, or NaN."""
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=_refuse, object_pairs_hook=_object)
    except (ValueError, RecursionError, ArithmeticError):
        return NOT_JSON


def frozen(value: Any) -> Hashable:
    """A JSON value as something that hashes and compares by JSON's own idea of equality.

    RecursionError if it is nested too deep.
    """
    if isinstance(value, bool) or value is None:
        return ("constant", value)
    if isinstance(value, str):
        return ("string", value)
    if isinstance(value, int | float | Decimal):
        return ("number", Decimal(str(value)) if isinstance(value, float) else value)
    if isinstance(value, dict):
        return ("object", frozenset((key, frozen(item)) for key, item in value.items()))
    return ("array", tuple(frozen(item) for item in value))


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key stands twice")
    return made
