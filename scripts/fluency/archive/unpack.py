"""Unpack an untrusted archive into an empty folder, and compare every file with the manifest on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from jinja2 import TemplateError

from fluency.archive.findings import Finding
from fluency.archive.manifest import MANIFEST_NAME, MAX_BYTES, Manifest, read_manifest
from fluency.archive.tar_format import LIMITS, ReadLimits, TarReader
from fluency.common.errors import ArchiveError
from fluency.common.files import sha256_file
from fluency.core.table import RECORD_TYPES

_TOO_MUCH = (MemoryError, RecursionError, ArithmeticError)
_UNFORESEEN = (*_TOO_MUCH, TemplateError, AttributeError, LookupError, TypeError, ValueError)
"""What contents of an unexpected type, size or depth raise, wherever they are used."""
MAX_DOCUMENT = 64 << 20
"""Bytes of a file that is read into memory."""
STREAMED = ("image/", "logs/")
IN_MEMORY = ("answers/", *(f"results/{stage}/" for stage in RECORD_TYPES))
"""Where the many small files are, which are kept in memory as far as they fit into MAX_IN_MEMORY bytes."""
MAX_IN_MEMORY = 64 << 20


@dataclass
class UnpackedArchive:
    """An archive's files: most in the folder `root`. `problems`: bytes that differ from what the manifest says.

    `absent`: names of the private part, where that was not given.
    """

    path: Path
    sha256: str
    root: Path
    manifest: Manifest
    problems: list[Finding] = field(default_factory=list)
    absent: frozenset[str] = frozenset()
    _in_memory: dict[str, bytes] = field(default_factory=dict)
    _in_memory_bytes: int = 0

    def holds(self, name: str) -> bool:
        return name in self._in_memory or (self.root / name).is_file()

    def read(self, name: str) -> bytes:
        """A file's bytes; ArchiveError if the archive does not hold it."""
        if name in self._in_memory:
            return self._in_memory[name]
        try:
            return (self.root / name).read_bytes()
        except OSError:
            raise ArchiveError("the archive does not hold it", where=name) from None

    def add(
        self, reader: Iterator[tuple[str, int, Iterator[bytes]]], names: Collection[str], path: Path
    ) -> set[str]:
        """Take the files of one part, which may have these names; returns the names that were there."""
        seen, folders = set[str](), set[Path]()
        for name, size, chunks in reader:
            if name not in names:
                what = (
                    "its manifest does not name this file, or says that it stands in the other part"
                )
                raise ArchiveError(what, where=f"{path}: {name}")
            if (
                size > MAX_DOCUMENT
                and not name.startswith(STREAMED)
                and not name.endswith("/explorer.html")
            ):
                raise ArchiveError(
                    f"it is larger than {MAX_DOCUMENT:,} bytes", where=f"{path}: {name}"
                )
            seen.add(name)
            fact = self.manifest.files[name]
            if name.startswith(IN_MEMORY) and self._in_memory_bytes + size <= MAX_IN_MEMORY:
                data = self._in_memory[name] = b"".join(chunks)
                self._in_memory_bytes += size
                digest = hashlib.sha256(data).hexdigest()
            else:
                digest = _write(self.root / name, chunks, folders, path)
            if size != fact.bytes:
                self.problems.append(
                    Finding(name, f"it has {size:,} bytes, the manifest says {fact.bytes:,}")
                )
            elif digest != fact.sha256:
                self.problems.append(
                    Finding(name, "its SHA-256 is not the manifest's: it was altered")
                )
        return seen


@contextmanager
def unpacked(
    path: Path, limits: ReadLimits = LIMITS, private: Path | None = None
) -> Iterator[UnpackedArchive]:
    """The archive in a temporary folder, which is removed at the end; ArchiveError if it is refused.

    private: the file that holds the rest of it, those of private tasks.
    """
    with TemporaryDirectory(prefix="fluency-archive-", ignore_cleanup_errors=True) as folder:
        try:
            yield unpack(Path(path), Path(folder), limits, private)
        except _UNFORESEEN as error:
            what = f"it holds what this project does not write, and broke off on it: {type(error).__name__}: {error}"
            hint = "if it is sound, this is a fault of this version: verify in a checkout of the commit that made it"
            raise ArchiveError(what, where=str(path), hint=hint) from error


def unpack(
    path: Path, root: Path, limits: ReadLimits = LIMITS, private: Path | None = None
) -> UnpackedArchive:
    """Write the archive's files below the empty folder `root`; no file outside it can be named."""
    reader = iter(TarReader(path, limits))
    data = _manifest_bytes(path, reader)
    manifest, hash_fits = read_manifest(data, str(path))
    if len(manifest.files) > limits.files:
        raise ArchiveError(f"its manifest names more than {limits.files:,} files", where=str(path))
    (root / MANIFEST_NAME).write_bytes(data)
    held_out = frozenset(manifest.held_out)
    archive = UnpackedArchive(path, "", root, manifest, absent=frozenset() if private else held_out)
    if not hash_fits:
        what = "its own hash does not fit: it was edited after the archive was made"
        archive.problems.append(Finding(MANIFEST_NAME, what))
    seen = archive.add(reader, manifest.files.keys() - held_out, path)
    if private:
        reader = iter(TarReader(private, limits))
        if _manifest_bytes(private, reader) != data:
            what = "this is not the private part of that archive: it has another manifest"
            hint = "give the file that `make archive` wrote together with it, which ends in -private.tar.zst"
            raise ArchiveError(what, where=str(private), hint=hint)
        seen |= archive.add(reader, held_out & manifest.files.keys(), private)
    missing = manifest.files.keys() - seen - archive.absent
    archive.problems += [Finding(name, "the archive does not hold it") for name in sorted(missing)]
    archive.sha256 = sha256_file(path)
    return archive


def _manifest_bytes(path: Path, reader: Iterator[tuple[str, int, Iterator[bytes]]]) -> bytes:
    for name, size, chunks in reader:
        if name != MANIFEST_NAME:
            raise ArchiveError(
                f"the archive does not begin with {MANIFEST_NAME}", where=f"{path}: {name}"
            )
        if size > MAX_BYTES:
            raise ArchiveError(f"the manifest is larger than {MAX_BYTES:,} bytes", where=str(path))
        return b"".join(chunks)
    raise ArchiveError("the archive is empty", where=str(path))


def _write(target: Path, chunks: Iterator[bytes], folders: set[Path], archive: Path) -> str:
    digest = hashlib.sha256()
    try:
        if target.parent not in folders:
            target.parent.mkdir(parents=True, exist_ok=True)
            folders.add(target.parent)
        with target.open("xb") as out:
            for chunk in chunks:
                digest.update(chunk)
                out.write(chunk)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        raise ArchiveError(
            "a name is a file and a folder at once", where=f"{archive}: {target.name}"
        ) from None
    except OSError as error:
        hint = "set TMPDIR to a disk with more space"
        raise ArchiveError(
            f"the archive cannot be unpacked: {error.strerror}", where=str(target), hint=hint
        ) from None
    return digest.hexdigest()
