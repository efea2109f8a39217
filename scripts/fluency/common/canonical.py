"""Canonical JSON by RFC 8785, and hashes over it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import rfc8785

from fluency.common.files import sha256

EXACT = 2**53 - 1
"""The largest integer up to which a double, and so JSON in other languages, represents every one."""
KEY = "sha256"


def canonical_json(value: Any) -> str:
    """Return the RFC 8785 text of a value; tuples are arrays, and 1 and 1.0 have the same text.

    Raises:
        ValueError: for NaN, infinities, integers beyond EXACT, lone surrogates, keys that are not
            strings, values of other types, and what nests some hundred levels deep.
    """
    try:
        return rfc8785.dumps(value).decode()
    except RecursionError:
        raise ValueError("it nests too deeply") from None


def hashes_to(value: Any, digest: object) -> bool:
    """Whether a digest is the SHA-256 of the value's canonical JSON."""
    with suppress(ValueError):
        return sha256(canonical_json(value)) == digest
    return False


def with_self_hash(document: dict[str, Any]) -> dict[str, Any]:
    """Add the SHA-256 of the document's canonical JSON (without that key) as `sha256`."""
    return {**document, KEY: sha256(canonical_json(_content(document)))}


def has_valid_self_hash(document: dict[str, Any]) -> bool:
    """Whether that hash is there and correct."""
    return hashes_to(_content(document), document.get(KEY))


def _content(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != KEY}
