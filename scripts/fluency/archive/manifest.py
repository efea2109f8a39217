"""MANIFEST.json, and the archives' file names."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from fluency.common.canonical import with_self_hash
from fluency.common.clock import parse_time
from fluency.common.files import pretty_json
from fluency.core.schema import Digest, FrozenModel
from fluency.core.study import STUDY_NAME

MANIFEST_NAME = "MANIFEST.json"
MANIFEST_SCHEMA = 1
SUFFIX = ".tar.zst"
WINDOW_LOG = 23
"""Of the zstandard frame."""
IMAGE = "image/image.tar"
_PART = r"[A-Za-z0-9_@+=,-][A-Za-z0-9_.@+=,-]{0,99}"
FILE_NAME = rf"^{_PART}(/{_PART})*$"
"""A relative path without `..` and hidden files."""
MAX_NAME = 155
"""Longer ones, and longer parts than FILE_NAME's, need more than tar's plain header."""
FileName = Annotated[str, Field(pattern=FILE_NAME, max_length=MAX_NAME)]


class FileFact(FrozenModel):
    """A file as the manifest knows it."""

    sha256: Digest
    bytes: int = Field(ge=0)


class Manifest(FrozenModel):
    """What an archive says of itself; `sha256` is of all the rest."""

    schema_version: Literal[1]
    made_by: str
    """Version of this project."""
    study: str = Field(pattern=STUDY_NAME)
    utc_date: Annotated[
        str,
        Field(pattern=r"^\d{4}-\d\d-\d\d$"),
        AfterValidator(lambda day: parse_time(day) and day),
    ]
    commit: str = Field(pattern=r"^([0-9a-f]{40}|nocommit)$")
    """nocommit: git could not tell."""
    dirty: bool
    """Whether the work tree held changes that the commit does not."""
    private_tasks: list[str]
    """Tasks from outside the project; held in full."""
    cells: int = Field(ge=0)
    not_measured: dict[str, str]
    """Model/shell -> why it could not be measured."""
    missing: list[str]
    """Cells without a score."""
    code: dict[str, Digest]
    """Stage -> SHA-256 of its code."""
    files: dict[FileName, FileFact]
    sha256: Digest

    @property
    def partial(self) -> bool:
        return bool(self.missing)


def manifest_bytes(values: dict[str, Any]) -> bytes:
    """The manifest's file from all its fields except its own hash."""
    return pretty_json(with_self_hash(values)).encode()


def archive_name(study: str, utc_date: str, commit: str, *, dirty: bool, partial: bool) -> str:
    """`<study>-<UTC date>-<commit>[-dirty][-partial].tar.zst`; the commit's first 12 digits."""
    marks = ("-dirty" if dirty else "") + ("-partial" if partial else "")
    return f"{study}-{utc_date}-{commit[:12]}{marks}{SUFFIX}"
