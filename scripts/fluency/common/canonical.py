"""Canonical JSON by RFC 8785, and hashes over it."""

from typing import Any

import rfc8785

from fluency.common.files import JsonObject, sha256

EXACT = 2**53 - 1
"""The largest integer up to which a double, the number of JSON, represents every one."""
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


def canonical_sha256(value: Any) -> str:
    """SHA-256 of a value's canonical JSON."""
    return sha256(canonical_json(value))


def with_self_hash(document: JsonObject) -> JsonObject:
    """Set `sha256` to the SHA-256 of the document's canonical JSON without that key."""
    content = {key: value for key, value in document.items() if key != KEY}
    return content | {KEY: canonical_sha256(content)}


def has_valid_self_hash(document: JsonObject) -> bool:
    """Whether that hash is there and correct."""
    try:
        return document == with_self_hash(document)
    except ValueError:
        return False
