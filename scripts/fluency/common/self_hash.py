"""Documents that carry the SHA-256 of their own content, so that an edit of theirs shows."""

from __future__ import annotations

from typing import Any

from fluency.common.files import canonical_json, sha256

KEY = "sha256"


def seal(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the SHA-256 of its canonical JSON (without that key) under `sha256`."""
    return {**document, KEY: seal_of(document)}


def seal_of(document: dict[str, Any]) -> str:
    """What a document's seal should be."""
    return sha256(canonical_json({key: value for key, value in document.items() if key != KEY}))


def is_sealed(document: dict[str, Any]) -> bool:
    """Whether the seal is there and fits."""
    return document.get(KEY) == seal_of(document)
