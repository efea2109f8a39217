"""Bounded, strict parsing of JSON that others wrote."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any

import jiter
from pydantic import ValidationError

from fluency.common.errors import ArchiveError
from fluency.core.schema import RecordType, first_problem

UNFORESEEN = (
    MemoryError,
    RecursionError,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)
"""What contents of an unexpected type, size or depth raise, wherever they are used."""
MAX_VALUES = 1_000_000
"""A value takes some hundred bytes of memory, and three in the file: bytes alone bound nothing.

A key counts, too: different ones take longer to read than values do.
"""
MAX_ENTRIES = 10_000
"""Of one list or object in a record: pydantic keeps each error, and one takes 7 kB."""
_TO_NEXT_VALUE = re.compile(rb'[^"\[{:,]*+(?:"[^"]*+"?+[^"\[{:,]*+)*+(?:[\[{:,]|\Z)')
"""To the next comma, colon or bracket outside strings, or to the end; without going back."""
_HUGE = re.compile(rb"\d[eE]\+?\d{3}|\d{200}")
"""What a number has that no double holds."""


def parse_untrusted(data: bytes, where: str) -> Any:
    """Parse a JSON document that every program reads alike.

    Raises:
        ArchiveError: for a key given twice, NaN, a number that no double holds, bytes that are not
            UTF-8, more than MAX_VALUES values and keys, and more than 200 levels.
    """
    if sum(map(data.count, b",:[{")) > MAX_VALUES:  # those in strings included
        unescaped = data.replace(b"\\\\", b"").replace(b'\\"', b"")
        if any(islice(_TO_NEXT_VALUE.finditer(unescaped), MAX_VALUES + 2, None)):
            raise ArchiveError(f"it holds more than {MAX_VALUES:,} values and keys", where=where)
    try:
        value = jiter.from_json(data, allow_inf_nan=False, catch_duplicate_keys=True)
        if _HUGE.search(data):
            json.dumps(value, ensure_ascii=False, allow_nan=False)  # 1e999 was read as infinity
    except ValueError as error:
        raise ArchiveError(
            f"it is not JSON that every program reads alike: {error}", where=where
        ) from None
    return value


def parse_record(
    kind: type[RecordType], data: bytes, where: str, most_entries: int = MAX_ENTRIES
) -> RecordType:
    """Parse a record; ArchiveError if it is not one.

    No value is converted: `"passed": "no"` is damage.
    """
    ahead = [parse_untrusted(data, where)]
    while ahead:
        value = ahead.pop()
        if isinstance(value, list | dict):
            if len(value) > most_entries:
                what = f"a list or an object in it has more than {most_entries:,} entries"
                raise ArchiveError(what, where=where)
            ahead += value.values() if isinstance(value, dict) else value
    try:
        return kind.model_validate_json(data, strict=True)
    except ValidationError as error:
        raise ArchiveError(
            f"it does not fit the schema: {first_problem(error)}",
            where=where,
            hint="if a newer version made it, update this project",
        ) from None
