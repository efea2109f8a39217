"""Unpack an untrusted archive, comparing every file with the manifest on the way."""

from __future__ import annotations

import hashlib
import os
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import BinaryIO

import zstandard
from jinja2 import TemplateError

from fluency.archive.findings import ArchiveFinding
from fluency.archive.manifest import IMAGE, MANIFEST_NAME, MAX_MANIFEST, Manifest, read_manifest
from fluency.archive.tar_format import read_tar
from fluency.archive.untrusted_json import UNFORESEEN
from fluency.common.errors import ArchiveError
from fluency.common.files import sha256_file

CHUNK = 1 << 20
MAX_DOCUMENT = 64 << 20
"""Bytes of a file that is read into memory."""
MAX_DOCUMENTS = 1 << 30
"""Bytes of all files except the image, which is only hashed."""
HINT = "get it again from where its hash is recorded; if the disk is full, set TMPDIR to another"


@dataclass
class UnpackedArchive:
    """An archive's files, one after the other in one temporary file: thousands take long to make.

    Attributes:
        contents: the temporary file.
        places: name -> where in it the file begins, and its size.
        root: an empty folder, for what must be read from a folder.
        problems: bytes that differ from the manifest's.
        unread: the names that `read` was not asked for.
    """

    path: Path
    sha256: str
    manifest: Manifest
    contents: BinaryIO
    root: Path
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    problems: list[ArchiveFinding] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)

    def read(self, name: str) -> bytes:
        """A file's bytes; ArchiveError if the archive does not hold it, or if it is too large."""
        if name not in self.places:
            raise ArchiveError("the archive does not hold it", where=name)
        self.unread.discard(name)
        start, size = self.places[name]
        if size > MAX_DOCUMENT:
            raise ArchiveError(f"it is larger than {MAX_DOCUMENT:,} bytes", where=name)
        return os.pread(self.contents.fileno(), size, start)

    def extracted(self, names: Iterable[str]) -> Path:
        """Write these files below `root`, which is returned."""
        for name in names:
            path = self.root / name
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(self.read(name))
            except OSError as error:
                raise ArchiveError(f"it cannot be unpacked: {error}", where=name) from None
        return self.root


@contextmanager
def unpacked(path: Path) -> Iterator[UnpackedArchive]:
    """The archive in temporary files, removed at the end; ArchiveError if it is refused.

    Only names that the manifest gives are taken, and its names cannot leave a folder.
    """
    with (
        TemporaryDirectory(prefix="fluency-archive-", ignore_cleanup_errors=True) as folder,
        TemporaryFile(dir=folder) as contents,
    ):
        try:
            yield _unpack(Path(path), contents, Path(folder))
        except (TemplateError, *UNFORESEEN) as error:
            what = f"unexpected contents: {type(error).__name__}: {error}"
            hint = "if it is sound, this is a fault of this version: verify at its own commit"
            raise ArchiveError(what, where=str(path), hint=hint) from error


def _unpack(path: Path, contents: BinaryIO, root: Path) -> UnpackedArchive:
    try:
        with path.open("rb") as raw:
            return _read(path, raw, contents, root)
    except (tarfile.TarError, zstandard.ZstdError, OSError) as error:
        what = f"it is damaged, not an archive, or cannot be unpacked: {error}"
        raise ArchiveError(what, where=str(path), hint=HINT) from None


def _read(path: Path, raw: BinaryIO, contents: BinaryIO, root: Path) -> UnpackedArchive:
    reader = read_tar(raw)
    name, size, source = next(reader, ("", 0, raw))
    if name != MANIFEST_NAME or size > MAX_MANIFEST:
        what = f"it does not begin with a {MANIFEST_NAME} of at most {MAX_MANIFEST:,} bytes"
        raise ArchiveError(what, where=str(path))
    manifest, hash_fits = read_manifest(source.read(), f"{path}: {MANIFEST_NAME}")
    archive = UnpackedArchive(path, sha256_file(path), manifest, contents, root)
    if not hash_fits:
        what = "its own hash does not fit: it was edited after the archive was made"
        archive.problems.append(ArchiveFinding(MANIFEST_NAME, what))
    unseen = set(manifest.files)
    for name, size, source in reader:
        if name not in unseen:
            what = "a file that the manifest does not name, or that appears twice"
            raise ArchiveError(what, where=f"{path}: {ascii(name)[1:-1]}")
        unseen.remove(name)
        if name != IMAGE:
            archive.places[name] = contents.tell(), size
            archive.unread.add(name)
            if contents.tell() + size > MAX_DOCUMENTS:
                what = f"its files hold more than {MAX_DOCUMENTS:,} bytes"
                raise ArchiveError(what, where=str(path))
        digest = hashlib.sha256()
        while chunk := source.read(CHUNK):
            digest.update(chunk)
            if name in archive.places:
                contents.write(chunk)
        fact = manifest.files[name]
        if (size, digest.hexdigest()) != (fact.bytes, fact.sha256):
            what = f"its SHA-256 is not the manifest's ({size:,} bytes, stated {fact.bytes:,})"
            archive.problems.append(ArchiveFinding(name, what))
    for name in sorted(unseen):
        archive.problems.append(ArchiveFinding(name, "the archive does not hold it"))
    contents.flush()
    return archive
