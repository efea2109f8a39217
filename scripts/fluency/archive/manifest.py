"""MANIFEST.json: what an archive is, and the SHA-256 and size of every other file in it."""

from __future__ import annotations

import json
from typing import Any

from pydantic import Field, ValidationError

from fluency.common.errors import ArchiveError
from fluency.common.files import pretty_json
from fluency.common.self_hash import has_valid_self_hash, with_self_hash
from fluency.core.records import Part

MANIFEST_NAME = "MANIFEST.json"
SCHEMA_VERSION = 2
"""2: hashes are of RFC 8785 JSON; 1: of Python's own."""
MAX_BYTES = 128 << 20


class FileFact(Part):
    """A file as the manifest knows it."""

    sha256: str
    bytes: int = Field(ge=0)


class Manifest(Part):
    """What an archive says of itself; `sha256` is of all the rest."""

    schema_version: int
    made_by: str = Field(description="Version of this project.")
    study: str
    study_sha256: str = Field(description="Of the study's canonical JSON.")
    utc_date: str
    commit: str
    dirty: bool = Field(description="Whether the work tree held changes that the commit does not.")
    partial: bool
    image_included: bool
    cells: int
    not_measured: dict[str, str] = Field(description="Arm (model/shell) -> why it could not be measured.")
    missing: list[str] = Field(description="Cells without a score; empty unless partial.")
    code: dict[str, str] = Field(description="Layer -> SHA-256 of the code that makes it.")
    environment: dict[str, str] = Field(description="Versions of Python and of what draws and counts.")
    files: dict[str, FileFact]
    sha256: str


def manifest_bytes(values: dict[str, Any]) -> bytes:
    """The manifest's file from all its fields but its own hash."""
    return pretty_json(with_self_hash(values)).encode()


def read_manifest(data: bytes, where: str) -> Manifest:
    """A manifest from its bytes; ArchiveError when it is newer than this version, or not one."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        raise ArchiveError(
            "the manifest is not JSON", where=f"{where}: {MANIFEST_NAME}", hint="it was damaged"
        ) from None
    version = values.get("schema_version") if isinstance(values, dict) else None
    if not isinstance(version, int):
        raise ArchiveError("this is not an archive's manifest", where=f"{where}: {MANIFEST_NAME}")
    if version > SCHEMA_VERSION:
        raise ArchiveError(
            f"the archive is of schema {version}, this version reads up to {SCHEMA_VERSION}",
            where=where,
            hint="update this project, then verify again",
        )
    try:
        return Manifest.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ArchiveError(
            f"the manifest is damaged: {place}: {first['msg']}", where=f"{where}: {MANIFEST_NAME}"
        ) from None


def manifest_problem(data: bytes) -> str | None:
    """What shows that a readable manifest was edited, or None."""
    values = json.loads(data)
    if not has_valid_self_hash(values):
        return "its own hash does not fit: it was edited after the archive was made"
    if pretty_json(values).encode() != data:
        return "its bytes are not of the form this project writes"
    return None
