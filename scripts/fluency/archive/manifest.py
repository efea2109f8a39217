"""MANIFEST.json, and the archives' file names."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from fluency.archive.untrusted_json import as_record, parse_untrusted
from fluency.common.canonical import has_valid_self_hash, with_self_hash
from fluency.common.clock import parse_time
from fluency.common.files import pretty_json
from fluency.core.schema import Digest, FrozenModel
from fluency.core.study import STUDY_NAME

MANIFEST_NAME = "MANIFEST.json"
SCHEMA_VERSION = 3
"""3: files may be in a private part; 2: hashes are of RFC 8785 JSON; 1: of Python's own."""
MAX_BYTES = 32 << 20
SUFFIX = ".tar.zst"


Word = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,60}$")]
Version = Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+!_-]{0,60}$")]
CellPath = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*){1,3}$")]
"""A cell's, or its first two parts: model and shell."""


class FileFact(FrozenModel):
    """A file as the manifest knows it."""

    sha256: Digest
    bytes: int = Field(ge=0)


class Manifest(FrozenModel):
    """What an archive says of itself; `sha256` is of all the rest."""

    schema_version: int = Field(ge=1)
    made_by: Version = Field(description="Version of this project.")
    study: str = Field(pattern=STUDY_NAME)
    study_sha256: Digest = Field(description="Of the study's canonical JSON.")
    utc_date: Annotated[
        str,
        Field(pattern=r"^\d{4}-\d\d-\d\d$"),
        AfterValidator(lambda day: parse_time(day) and day),
    ]
    commit: str = Field(
        pattern=r"^([0-9a-f]{40}|nocommit)$", description="nocommit: git could not tell."
    )
    dirty: bool = Field(description="Whether the work tree held changes that the commit does not.")
    partial: bool
    image_included: bool
    cells: int = Field(ge=0)
    not_measured: dict[CellPath, str] = Field(
        description="Model/shell -> why it could not be measured."
    )
    missing: list[CellPath] = Field(description="Cells without a score; empty unless partial.")
    code: dict[Word, Digest] = Field(description="Stage -> SHA-256 of its code.")
    environment: dict[Word, Version] = Field(
        description="Versions of Python and of what draws and counts."
    )
    files: dict[str, FileFact]
    held_out: list[str] = Field(
        [], description="Those of the files that are in the private part; since schema 3."
    )
    config: list[str] = Field(
        [], description="The configuration files in the order of merging; empty: an earlier one."
    )
    sha256: Digest


def manifest_bytes(values: dict[str, Any]) -> bytes:
    """The manifest's file from all its fields but its own hash."""
    return pretty_json(with_self_hash(values)).encode()


def read_manifest(data: bytes, where: str) -> tuple[Manifest, bool]:
    """A manifest from its bytes, and whether its own hash fits; ArchiveError if it is newer than this version."""
    where = f"{where}: {MANIFEST_NAME}"
    values = parse_untrusted(data, where)
    return as_record(Manifest, values, where, SCHEMA_VERSION), has_valid_self_hash(values)


def archive_name(study: str, utc_date: str, commit: str, *, dirty: bool, partial: bool) -> str:
    """`<study>-<UTC date>-<commit>[-dirty][-partial].tar.zst`; date YYYY-MM-DD, the commit's first 12 digits."""
    marks = ("-dirty" if dirty else "") + ("-partial" if partial else "")
    return f"{study}-{utc_date}-{commit[:12]}{marks}{SUFFIX}"


def private_archive_name(name: str) -> str:
    """The name of the part that holds an archive's private tasks."""
    return f"{name.removesuffix(SUFFIX)}-private{SUFFIX}"
