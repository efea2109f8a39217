"""Bounded parsing of JSON that others wrote."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from math import isfinite
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json

from fluency.common.canonical import canonical_json, legacy_canonical_json
from fluency.common.errors import ArchiveError
from fluency.common.files import pretty_json
from fluency.core.schema import SCHEMA_VERSION, RecordType

MAX_DEPTH = 64
MAX_VALUES = 1_000_000
"""A value takes some hundred bytes of memory, and three in the file: no bound on bytes alone bounds that."""
MAX_DIGITS = 40


def strict_record(kind: type[RecordType], data: bytes, where: str) -> RecordType:
    """A record from untrusted bytes: schema version, schema, and the one form it is written in."""
    value = strict_json(data, where)
    version = value.get("schema_version") if isinstance(value, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise ArchiveError(f"it is of schema {version}, this version reads up to {SCHEMA_VERSION}", where=where)
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ArchiveError(f"it does not fit the schema: {place}: {first['msg']}", where=where) from None


def untrusted_json(data: bytes, where: str, *, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """A JSON document of untrusted bytes; ArchiveError for what no other language reads alike or what takes too much.

    Those are NaN, infinities, numbers beyond a double, integers of more than MAX_DIGITS digits, and bytes that are not
    UTF-8; more than MAX_VALUES values, and nesting. `pairs` is told each object's entries in their order.
    """
    if _has_more_values(data, MAX_VALUES):
        raise ArchiveError(f"it holds more than {MAX_VALUES:,} values", where=where)
    try:
        value = json.loads(
            data.decode(),
            object_pairs_hook=pairs or _unique_keys,
            parse_constant=_no_number,
            parse_float=_finite,
            parse_int=_integer,
        )
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"it is not JSON as this project writes it: {_reason(error)}", where=where) from None
    if _nests_deeper(value, MAX_DEPTH):
        raise ArchiveError(f"it nests deeper than {MAX_DEPTH} levels", where=where)
    return value


def _has_more_values(data: bytes, most: int) -> bool:
    """Whether a text of JSON holds more commas and brackets than that, leaving those out that stand in its strings."""

    def marks(text: bytes) -> int:
        return sum(map(text.count, (b",", b"[", b"{")))

    if marks(data) <= most:
        return False
    unescaped = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    return marks(re.sub(rb'"[^"]*"', b"", unescaped)) > most


def _reason(error: Exception) -> str:
    return "it nests too deeply" if isinstance(error, RecursionError) else str(error)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key is given twice")
    return value


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number")


def _finite(text: str) -> float:
    number = float(text)
    return number if isfinite(number) else _no_number(text[:40])


def _integer(text: str) -> int:
    return int(text) if len(text) <= MAX_DIGITS else _no_number(f"an integer of {len(text):,} digits")


def _nests_deeper(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return bool(inner) and (levels == 0 or any(_nests_deeper(item, levels - 1) for item in inner))


def strict_json(data: bytes, where: str) -> Any:
    """A JSON document in one of the two forms this project writes, pretty or on one line, to the byte."""
    in_order = True

    def ordered(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal in_order
        in_order = in_order and all(one[0] < two[0] for one, two in pairwise(pairs))
        return dict(pairs)

    try:
        value = untrusted_json(data, where, pairs=ordered)
        on_one_line = b"\n" not in data[:-1]
        if not (_is_canonical(value, data) if on_one_line else _is_pretty(value, data, in_order)):
            raise ArchiveError("its bytes are not in the form records are written in", where=where)
    except (ValueError, RecursionError):
        raise ArchiveError("this is not JSON as this project writes it", where=where) from None
    return value


def _is_canonical(value: Any, data: bytes) -> bool:
    """Whether these are the bytes of a canonical document, in today's form or in that of schema 1."""
    return any(form(value).encode() + b"\n" == data for form in (legacy_canonical_json, canonical_json))


def _is_pretty(value: Any, data: bytes, in_order: bool) -> bool:
    """Whether these are the bytes of `pretty_json`; the quick writer's form of a few numbers differs from that."""
    return (in_order and to_json(value, indent=2) + b"\n" == data) or pretty_json(value).encode() == data
