"""Canonical JSON by RFC 8785: the one text of a value in every language; and hashes over it."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import rfc8785

from fluency.common.files import sha256

EXACT = 2**53 - 1
"""The largest integer up to which a double, and so JSON in other languages, holds every one."""


def canonical_json(value: Any) -> str:
    """The RFC 8785 text of a value; ValueError for what has none.

    Integers and floats of one value have one text, tuples are arrays. None have NaN, infinities, integers beyond
    EXACT that read as a double would be written otherwise, lone surrogates, keys that are not texts, other types,
    and what nests some hundred levels deep.
    """
    try:
        if _is_plain(value):
            text = legacy_canonical_json(value)
            text.encode()  # UnicodeEncodeError, which is a ValueError, for a lone surrogate
            return text
        try:
            return rfc8785.dumps(value).decode()
        except rfc8785.IntegerDomainError:
            return rfc8785.dumps(_with_doubles(value)).decode()
    except RecursionError:
        raise ValueError("it nests too deeply") from None


def legacy_canonical_json(value: Any) -> str:
    """The text that hashes of schema 1 were made of; only for reading those."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def hashes_to(value: Any, digest: object) -> bool:
    """Whether a digest is the SHA-256 of the value's canonical JSON, in today's form or in that of schema 1."""
    for form in (canonical_json, legacy_canonical_json):
        with suppress(ValueError, RecursionError):
            if sha256(form(value)) == digest:
                return True
    return False


def _is_plain(value: Any) -> bool:
    """Whether the text of the standard library is the standard's: true of nearly all that is hashed here.

    It is some ten times faster. Left to rfc8785 are doubles that ECMAScript writes otherwise than Python, keys that may
    sort otherwise by UTF-16, large integers, and types made of the plain ones.
    """
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return True
    if kind is int:
        return bool(-EXACT <= value <= EXACT)
    if kind is float:
        return bool(1e-4 <= abs(value) < 1e16 and not value.is_integer())
    if kind is dict:
        return all(type(key) is str and key.isascii() for key in value) and all(map(_is_plain, value.values()))
    return (kind is list or kind is tuple) and all(map(_is_plain, value))


def _with_doubles(value: Any) -> Any:
    """The value with each large integer that is the text of a double as that double: so a canonical text reads back."""
    if isinstance(value, dict):
        return {key: _with_doubles(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_doubles(item) for item in value]
    if isinstance(value, int) and abs(value) > EXACT and abs(value) < 10**21:
        return float(value) if rfc8785.dumps(float(value)) == str(value).encode() else value
    return value


KEY = "sha256"


def with_self_hash(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the SHA-256 of its canonical JSON (without that key) under `sha256`."""
    return {**document, KEY: sha256(canonical_json(_content(document)))}


def has_valid_self_hash(document: dict[str, Any]) -> bool:
    """Whether that hash is there and fits, in today's form or in that of schema 1."""
    return hashes_to(_content(document), document.get(KEY))


def _content(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != KEY}
