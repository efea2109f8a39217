"""Bounded parsing of JSON that others wrote."""

from __future__ import annotations

import json
import re
from typing import Any

import jiter
from pydantic import ValidationError

from fluency.common.errors import ArchiveError
from fluency.core.schema import SCHEMA_VERSION, RecordType, first_problem

MAX_VALUES = 1_000_000
"""A value takes some hundred bytes of memory, and three in the file: no bound on bytes alone bounds that."""


def parse_untrusted(data: bytes, where: str) -> Any:
    """A JSON document; ArchiveError for what programs read differently, and for what takes too much.

    Those are keys given twice, NaN, numbers that no double holds, and bytes that are not UTF-8; more than MAX_VALUES
    values, and more than 200 levels.
    """
    if _has_more_values(data, MAX_VALUES):
        raise ArchiveError(f"it holds more than {MAX_VALUES:,} values", where=where)
    try:
        value = jiter.from_json(data, allow_inf_nan=False, catch_duplicate_keys=True)
        json.dumps(value, ensure_ascii=False, allow_nan=False)  # 1e999 is read as infinity
    except ValueError as error:
        raise ArchiveError(
            f"it is not JSON that every program reads alike: {error}", where=where
        ) from None
    return value


def _has_more_values(data: bytes, most: int) -> bool:
    """Whether a text of JSON holds more commas and brackets than that, those in its strings left out."""

    def marks(text: bytes) -> int:
        return sum(map(text.count, (b",", b"[", b"{")))

    if marks(data) <= most:
        return False
    unescaped = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    return marks(re.sub(rb'"[^"]*"', b"", unescaped)) > most


def parse_record(
    kind: type[RecordType], data: bytes, where: str, newest: int = SCHEMA_VERSION
) -> RecordType:
    """A record from untrusted bytes; ArchiveError as in `as_record`."""
    return as_record(kind, parse_untrusted(data, where), where, newest)


def as_record(
    kind: type[RecordType], value: Any, where: str, newest: int = SCHEMA_VERSION
) -> RecordType:
    """A record from a parsed document; ArchiveError if it does not fit the schema or is newer than `newest`."""
    version = value.get("schema_version") if isinstance(value, dict) else None
    if isinstance(version, int) and version > newest:
        what, hint = (
            f"it is of schema {version}, this version reads up to {newest}",
            "update this project",
        )
        raise ArchiveError(what, where=where, hint=hint)
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise ArchiveError(
            f"it does not fit the schema: {first_problem(error)}", where=where
        ) from None
