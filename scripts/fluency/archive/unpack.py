"""Unpack an untrusted archive, comparing every file with the manifest on the way."""

import hashlib
import os
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import BinaryIO

import zstandard
from jinja2 import TemplateError

from fluency.archive.manifest import IMAGE, MANIFEST_NAME, WINDOW_LOG, ArchiveFinding, Manifest
from fluency.archive.stated_commit import StatedCommit
from fluency.common.canonical import has_valid_self_hash
from fluency.common.errors import ArchiveError
from fluency.common.files import sha256_file
from fluency.common.git import blob_name
from fluency.core.untrusted_json import UNFORESEEN, parse_record

CHUNK = 1 << 20
MAX_MANIFEST = 32 << 20
MAX_DOCUMENT = 64 << 20
"""Bytes of a file that is read into memory."""
MAX_DOCUMENTS = 1 << 30
"""Bytes of all files except the image."""
MAX_IMAGES = 3 << 30
"""Bytes of the image, which is only hashed."""


BLOCK = 512
"""Bytes of a header; a file's contents fill whole blocks."""


def _chunks(source: BinaryIO, size: int) -> Iterator[bytes]:
    """The next bytes of a stream in chunks; TarError if it ends too soon."""
    while size:
        if not (chunk := source.read(min(size, CHUNK))):
            raise tarfile.ReadError("it ends too soon")
        size -= len(chunk)
        yield chunk


def read_tar(raw: BinaryIO) -> Iterator[tuple[str, int, Iterator[bytes]]]:
    """Name, size and contents of each file, to be read before the next.

    Only a plain file's contents are read: other headers may announce a name of any length.
    `tarfile.open` reads those, and which of its methods sees a header first depends on the Python.

    Raises:
        ArchiveError: for anything but a plain file.
        tarfile.TarError, zstandard.ZstdError: for a damaged file.
    """
    source = zstandard.ZstdDecompressor(max_window_size=1 << WINDOW_LOG).stream_reader(raw)
    while any(block := b"".join(_chunks(source, BLOCK))):
        member = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        if member.type != tarfile.REGTYPE or member.size < 0:
            raise ArchiveError(f"{ascii(member.name)[1:-1]} is not a plain file")
        contents = _chunks(source, member.size)
        yield member.name, member.size, contents
        for _ in chain(contents, _chunks(source, -member.size % BLOCK)):
            pass
    if any(source.read(tarfile.RECORDSIZE)) or source.read(1):
        raise ArchiveError("it holds bytes behind the tar's end")
    _require_whole_frame(raw)


def _require_whole_frame(raw: BinaryIO) -> None:
    """ArchiveError unless a file is one zstandard frame with a checksum, to its last byte."""
    raw.seek(0)
    frame = zstandard.ZstdDecompressor(max_window_size=1 << WINDOW_LOG).decompressobj()
    block = head = raw.read(BLOCK)
    while block and not frame.eof:
        frame.decompress(block)  # a few megabytes at most
        block = raw.read(BLOCK)
    has_checksum = zstandard.get_frame_parameters(head).has_checksum
    if not (has_checksum and frame.eof) or frame.unused_data or block:
        raise ArchiveError("it is not one whole zstandard frame with a checksum")


@dataclass
class UnpackedArchive:
    """An archive's files, one after the other in one temporary file: thousands take long to make.

    Attributes:
        contents: the temporary file.
        places: name -> where in it the file begins, and its size.
        root: an empty folder, for what must be read from a folder.
        scope: what lasts as long as the archive is open.
        problems: bytes that differ from the manifest's.
        unread: the names that `read` was not asked for.
    """

    path: Path
    sha256: str
    manifest: Manifest
    contents: BinaryIO
    root: Path
    scope: ExitStack
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    problems: list[ArchiveFinding] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)

    @cached_property
    def source(self) -> StatedCommit:
        """The commit that it states."""
        return StatedCommit.of(self.manifest)

    def read(self, name: str) -> bytes:
        """A file's bytes; ArchiveError if the archive does not hold it, or if it is too large."""
        if name not in self.places:
            raise ArchiveError("the archive does not hold it", where=name)
        self.unread.discard(name)
        start, size = self.places[name]
        if size > MAX_DOCUMENT:
            raise ArchiveError(f"it is larger than {MAX_DOCUMENT:,} bytes", where=name)
        return os.pread(self.contents.fileno(), size, start)

    def blobs(self, start: str) -> dict[str, str]:
        """The files whose names begin so -> what git calls such a file."""
        return {name: blob_name(self.read(name)) for name in self.places if name.startswith(start)}

    def extracted(self, names: Iterable[str]) -> Path:
        """Write these files below `root`, which is returned."""
        for name in names:
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.read(name))
        return self.root


@contextmanager
def unpacked(path: Path) -> Iterator[UnpackedArchive]:
    """The archive in temporary files, removed at the end; ArchiveError if it is refused.

    Only names that the manifest gives are taken, and its names cannot leave a folder.
    """
    with (
        TemporaryDirectory(prefix="fluency-archive-", ignore_cleanup_errors=True) as folder,
        TemporaryFile(dir=folder) as contents,
        ExitStack() as scope,
    ):
        try:
            try:
                with path.open("rb") as raw:
                    archive = _read(path, raw, contents, Path(folder), scope)
            except (tarfile.TarError, zstandard.ZstdError, OSError) as error:
                raise ArchiveError(
                    f"it is damaged, not an archive, or cannot be unpacked: {error}",
                    where=str(path),
                    hint="get it again where its hash is recorded; if the disk is full, set TMPDIR",
                ) from None
            yield archive
        except (TemplateError, *UNFORESEEN) as error:
            raise ArchiveError(
                f"unexpected contents: {type(error).__name__}: {error}",
                where=str(path),
                hint="if it is sound, this is a fault of this version: verify at its own commit",
            ) from error


def _read(
    path: Path, raw: BinaryIO, contents: BinaryIO, root: Path, scope: ExitStack
) -> UnpackedArchive:
    reader = read_tar(raw)
    name, size, chunks = next(reader, ("", 0, _chunks(raw, 0)))
    if name != MANIFEST_NAME or size > MAX_MANIFEST:
        raise ArchiveError(
            f"it does not begin with a {MANIFEST_NAME} of at most {MAX_MANIFEST:,} bytes",
            where=str(path),
        )
    manifest = parse_record(Manifest, b"".join(chunks), f"{path}: {MANIFEST_NAME}")
    archive = UnpackedArchive(path, sha256_file(path), manifest, contents, root, scope)
    if not has_valid_self_hash(manifest.model_dump()):
        what = "its own hash does not fit: it was edited after the archive was made"
        archive.problems.append(ArchiveFinding(MANIFEST_NAME, what))
    unseen, of_images = set(manifest.files), 0
    for name, size, chunks in reader:
        if name not in unseen:
            raise ArchiveError(
                "a file that the manifest does not name, or that appears twice",
                where=f"{path}: {ascii(name)[1:-1]}",
            )
        unseen.remove(name)
        is_image, start = name.startswith(IMAGE), contents.tell()
        of_images += size * is_image
        if of_images > MAX_IMAGES or (not is_image and size > MAX_DOCUMENTS - start):
            what = (
                f"its images hold more than {MAX_IMAGES:,} bytes, or its other files together more "
                f"than {MAX_DOCUMENTS:,}"
            )
            raise ArchiveError(what, where=str(path))
        digest = hashlib.sha256()
        for chunk in chunks:
            digest.update(chunk)
            if not is_image:
                contents.write(chunk)
        if not is_image:
            archive.places[name] = start, size
        fact = manifest.files[name]
        if (size, digest.hexdigest()) != (fact.bytes, fact.sha256):
            what = f"its SHA-256 is not the manifest's ({size:,} bytes, stated {fact.bytes:,})"
            archive.problems.append(ArchiveFinding(name, what))
    for name in sorted(unseen):
        archive.problems.append(ArchiveFinding(name, "the archive does not hold it"))
    archive.unread.update(archive.places)
    contents.flush()
    return archive
