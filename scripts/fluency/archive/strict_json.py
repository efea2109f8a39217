"""JSON from an untrusted archive: only documents in the one form this project writes are read."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json

from fluency.common.canonical import canonical_json, legacy_canonical_json
from fluency.common.errors import ArchiveError
from fluency.common.files import pretty_json
from fluency.core.records import SCHEMA_VERSION, RecordType


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


def strict_json(data: bytes, where: str) -> Any:
    """A JSON document in one of the two forms this project writes, pretty or on one line, to the byte."""
    in_order = True

    def ordered(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal in_order
        in_order = in_order and all(one[0] < two[0] for one, two in pairwise(pairs))
        return dict(pairs)

    try:
        value = json.loads(data, object_pairs_hook=ordered)
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
