"""Unpack an untrusted archive, comparing every file with the manifest on the way."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from jinja2 import TemplateError

from fluency.archive.findings import ArchiveFinding
from fluency.archive.manifest import MANIFEST_NAME, MAX_MANIFEST, Manifest, read_manifest
from fluency.archive.tar_format import LIMITS, ReadLimits, read_tar
from fluency.archive.untrusted_json import UNFORESEEN
from fluency.common.errors import ArchiveError
from fluency.common.files import sha256_file

MAX_DOCUMENT = 64 << 20
"""Bytes of a file that is read into memory."""
MAX_DOCUMENTS = 1 << 30
"""Bytes of all files except the image."""
ONLY_HASHED = "image/"


@dataclass
class UnpackedArchive:
    """An archive's files below `root`; `problems`: bytes that differ from the manifest's."""

    path: Path
    sha256: str
    root: Path
    manifest: Manifest
    problems: list[ArchiveFinding] = field(default_factory=list)

    def holds(self, name: str) -> bool:
        """Whether a file of this name was unpacked."""
        return (self.root / name).is_file()

    def read(self, name: str) -> bytes:
        """A file's bytes; ArchiveError if the archive does not hold it, or if it is too large."""
        try:
            with (self.root / name).open("rb") as file:
                data = file.read(MAX_DOCUMENT + 1)
        except OSError:
            raise ArchiveError("the archive does not hold it", where=name) from None
        if len(data) > MAX_DOCUMENT:
            raise ArchiveError(f"it is larger than {MAX_DOCUMENT:,} bytes", where=name)
        return data


@contextmanager
def unpacked(path: Path, limits: ReadLimits = LIMITS) -> Iterator[UnpackedArchive]:
    """The archive in a temporary folder, removed at the end; ArchiveError if it is refused."""
    with TemporaryDirectory(prefix="fluency-archive-", ignore_cleanup_errors=True) as folder:
        try:
            yield unpack(Path(path), Path(folder), limits)
        except (TemplateError, *UNFORESEEN) as error:
            what = f"unexpected contents: {type(error).__name__}: {error}"
            hint = "if it is sound, this is a fault of this version: verify at its own commit"
            raise ArchiveError(what, where=str(path), hint=hint) from error


def unpack(path: Path, root: Path, limits: ReadLimits = LIMITS) -> UnpackedArchive:
    """Write the archive's files below the empty folder `root`.

    Only names that the manifest gives are written, and its names cannot leave the folder.
    """
    reader = read_tar(path, limits)
    name, size, chunks = next(reader, ("", 0, iter(())))
    if name != MANIFEST_NAME or size > MAX_MANIFEST:
        what = f"it does not begin with a {MANIFEST_NAME} of at most {MAX_MANIFEST:,} bytes"
        raise ArchiveError(what, where=str(path))
    data = b"".join(chunks)
    manifest, hash_fits = read_manifest(data, str(path))
    (root / MANIFEST_NAME).write_bytes(data)
    archive = UnpackedArchive(path, sha256_file(path), root, manifest)
    if not hash_fits:
        what = "its own hash does not fit: it was edited after the archive was made"
        archive.problems.append(ArchiveFinding(MANIFEST_NAME, what))
    unseen, total = set(manifest.files), 0
    for name, size, chunks in reader:
        if name not in unseen:
            what = "a file that the manifest does not name, or that appears twice"
            raise ArchiveError(what, where=f"{path}: {ascii(name)[1:-1]}")
        unseen.remove(name)
        hashed_only = name.startswith(ONLY_HASHED)
        total += 0 if hashed_only else size
        if total > MAX_DOCUMENTS:
            raise ArchiveError(f"its files hold more than {MAX_DOCUMENTS:,} bytes", where=str(path))
        fact = manifest.files[name]
        digest = _write(Path(os.devnull) if hashed_only else root / name, chunks)
        if (size, digest) != (fact.bytes, fact.sha256):
            what = f"its SHA-256 is not the manifest's ({size:,} bytes, stated {fact.bytes:,})"
            archive.problems.append(ArchiveFinding(name, what))
    for name in sorted(unseen):
        archive.problems.append(ArchiveFinding(name, "the archive does not hold it"))
    return archive


def _write(target: Path, chunks: Iterator[bytes]) -> str:
    """Write a file and return its SHA-256."""
    digest = hashlib.sha256()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as out:
            for chunk in chunks:
                digest.update(chunk)
                out.write(chunk)
    except OSError as error:
        what = f"the archive cannot be unpacked: {error.strerror}"
        hint = "set TMPDIR to a larger disk, if this one is full"
        raise ArchiveError(what, where=str(target), hint=hint) from None
    return digest.hexdigest()
