"""Bounded, strict parsing of JSON that others wrote."""

import json
import re
from functools import cache
from itertools import islice
from typing import Any, get_args, get_origin

import jiter
from pydantic import TypeAdapter, ValidationError

from fluency.common.errors import ArchiveError
from fluency.core.schema import FrozenModel, RecordType, first_problem

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
MAX_KEYS = 100
"""Of an object with named fields: pydantic keeps each error, and one takes two kilobytes."""
FEW = 10_000
"""Values of a record that may all be wrong."""
_TO_NEXT_VALUE = re.compile(rb'[^"\[{:,]*+(?:"[^"]*+"?+[^"\[{:,]*+)*+(?:[\[{:,]|\Z)')
"""To the next comma, colon or bracket outside strings, or to the end; without going back."""


def parse_untrusted(data: bytes, where: str) -> Any:
    """Parse a JSON document that every program reads alike.

    Raises:
        ArchiveError: for a key given twice, NaN, bytes that are not UTF-8, more than MAX_VALUES
            values and keys, and more than 200 levels.
    """
    if sum(map(data.count, b",:[{")) > MAX_VALUES:  # those in strings included
        unescaped = data.replace(b"\\\\", b"").replace(b'\\"', b"")
        if any(islice(_TO_NEXT_VALUE.finditer(unescaped), MAX_VALUES + 2, None)):
            raise ArchiveError(f"it holds more than {MAX_VALUES:,} values and keys", where=where)
    try:
        return jiter.from_json(data, allow_inf_nan=False, catch_duplicate_keys=True)
    except ValueError as error:
        raise ArchiveError(
            f"it is not JSON that every program reads alike: {error}", where=where
        ) from None


def parse_record(kind: type[RecordType], data: bytes, where: str) -> RecordType:
    """Parse a record; ArchiveError if it is not one.

    No value is converted: `"passed": "no"` is damage.
    """
    value = parse_untrusted(data, where)
    try:
        if data.count(b",") > FEW:
            _check_parts(kind, value, where)
        return kind.model_validate_json(data, strict=True)
    except ValidationError as error:
        raise ArchiveError(
            f"it does not fit the schema: {first_problem(error)}",
            where=where,
            hint="if a newer version made it, update this project",
        ) from None


def _check_parts(kind: type[FrozenModel], value: Any, where: str) -> None:
    """Validate each entry of what a record lists, from inside: the first wrong one ends it."""
    if not isinstance(value, dict):
        return
    if len(value) > MAX_KEYS:
        raise ArchiveError(f"an object in it has more than {MAX_KEYS} keys", where=where)
    for name, part, entries in _parts(kind):
        held = value.get(name)
        if not entries:
            _check_parts(part, held, where)
        elif isinstance(held, dict | list):
            pairs = held.items() if isinstance(held, dict) else enumerate(held)
            for key, entry in pairs:
                if part:
                    _check_parts(part, entry, where)
                alone = {key: entry} if isinstance(held, dict) else [entry]
                entries.validate_json(json.dumps(alone), strict=True)


@cache
def _parts(kind: type[FrozenModel]) -> list[tuple[str, Any, Any]]:
    """Each field that holds models or lists: its name, the model, and what validates a list."""
    found = []
    for name, field in kind.model_fields.items():
        form: Any = field.annotation
        types = get_args(form) or [form]
        models = [one for one in types if isinstance(one, type) and issubclass(one, FrozenModel)]
        adapter = TypeAdapter(form) if get_origin(form) in (dict, list) else None
        if adapter or models:
            found.append((name, next(iter(models), None), adapter))
    return found
