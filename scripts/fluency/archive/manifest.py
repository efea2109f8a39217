"""MANIFEST.json, and the archives' file names."""

from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field

from fluency.common.clock import parse_time
from fluency.core.schema import Digest, FrozenModel
from fluency.core.study import STUDY_NAME

MANIFEST_NAME = "MANIFEST.json"
MANIFEST_SCHEMA = 2
SUFFIX = ".tar.zst"
WINDOW_LOG = 23
"""Of the zstandard frame."""
IMAGE = "image/"
_PART = r"[A-Za-z0-9_@+=,-][A-Za-z0-9_.@+=,-]{0,99}"
FILE_NAME = rf"^{_PART}(/{_PART})*$"
"""A relative path without `..` and hidden files."""
MAX_NAME = 155
"""Longer ones, and longer parts than FILE_NAME's, need more than tar's plain header."""
FileName = Annotated[str, Field(pattern=FILE_NAME, max_length=MAX_NAME)]


class ArchiveFinding(NamedTuple):
    """Something unexpected in an archive: the file or cell, and a sentence."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class FileFact(FrozenModel):
    """A file as the manifest knows it."""

    sha256: Digest
    bytes: int = Field(ge=0)


def _is_current(version: object) -> object:
    if type(version) is int and 0 < version < MANIFEST_SCHEMA:
        raise ValueError(
            f"this archive has schema {version}, made before verification recomputed everything; "
            f"what `make verify` of that time said counts for nothing, and this version reads "
            f"schema {MANIFEST_SCHEMA}"
        )
    return version


class Manifest(FrozenModel):
    """What an archive says of itself; `sha256` is of all the rest."""

    schema_version: Annotated[Literal[2], BeforeValidator(_is_current)]
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
    files: dict[FileName, FileFact]
    sha256: Digest
