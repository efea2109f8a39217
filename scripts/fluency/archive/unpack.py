"""Unpack an untrusted archive into an empty folder, holding every file against the manifest on the way."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from jinja2 import TemplateError

from fluency.archive.findings import Finding
from fluency.archive.manifest import MANIFEST_NAME, MAX_BYTES, Manifest, manifest_problem, read_manifest
from fluency.archive.tar_format import LIMITS, ReadLimits, TarReader
from fluency.common.errors import ArchiveError
from fluency.common.files import sha256_file

_UNFORESEEN = (
    csv.Error,
    TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What contents of an unexpected type, size or depth raise, wherever they are used."""
MAX_DOCUMENT = 64 << 20
"""Bytes of a file that is read into memory."""
STREAMED = ("image/", "logs/")


@dataclass(frozen=True)
class UnpackedArchive:
    """An archive's files in a folder; `problems` are bytes that differ from what the manifest says.

    `absent`: names that the manifest holds out, where the private part was not given.
    """

    path: Path
    sha256: str
    root: Path
    manifest: Manifest
    problems: list[Finding] = field(default_factory=list)
    absent: frozenset[str] = frozenset()


@contextmanager
def unpacked(path: Path, limits: ReadLimits = LIMITS, private: Path | None = None) -> Iterator[UnpackedArchive]:
    """The archive in a temporary folder, which is gone afterwards; ArchiveError when it is refused.

    private: the file that holds what of it is held out.
    """
    with TemporaryDirectory(prefix="fluency-archive-", ignore_cleanup_errors=True) as folder:
        try:
            yield unpack(path, Path(folder), limits, private)
        except _UNFORESEEN as error:
            raise ArchiveError(
                f"it holds what this project does not write, and broke off on it: {type(error).__name__}: {error}",
                where=str(path),
                hint="if it is sound, this is a fault of this version: verify in a checkout of the commit that made it",
            ) from error


def unpack(path: Path, root: Path, limits: ReadLimits = LIMITS, private: Path | None = None) -> UnpackedArchive:
    """Write the archive's files below the empty folder `root`; no file outside it can be named."""
    manifest: Manifest | None = None
    problems: list[Finding] = []
    seen: set[str] = set()
    folders: set[Path] = set()
    held_out: frozenset[str] = frozenset()
    for name, size, chunks in TarReader(path, limits):
        if manifest is None:
            data = _manifest_bytes(path, name, size, chunks)
            manifest = read_manifest(data, str(path))
            if len(manifest.files) > limits.files:
                raise ArchiveError(f"its manifest names more than {limits.files:,} files", where=str(path))
            if problem := manifest_problem(data):
                problems.append(Finding(MANIFEST_NAME, problem))
            (root / MANIFEST_NAME).write_bytes(data)
            held_out = frozenset(manifest.held_out)
            continue
        if name in held_out:
            raise ArchiveError("the archive holds a file that its manifest holds out", where=f"{path}: {name}")
        seen.add(name)
        problems += _file(path, root, manifest, folders, name, size, chunks)
    if manifest is None:
        raise ArchiveError("the archive is empty", where=str(path))
    if private:
        for name, found in _private(private, root, manifest, folders, limits):
            seen.add(name)
            problems += found
        held_out = frozenset()
    problems += [
        Finding(name, "the archive does not hold it") for name in manifest.files if name not in seen | held_out
    ]
    return UnpackedArchive(Path(path), sha256_file(path), root, manifest, problems, held_out)


def _private(
    path: Path, root: Path, manifest: Manifest, folders: set[Path], limits: ReadLimits
) -> Iterator[tuple[str, list[Finding]]]:
    """Write the files of the private part beside those of the public one; each one's name and what is wrong with it."""
    held_out = set(manifest.held_out)
    for number, (name, size, chunks) in enumerate(TarReader(path, limits)):
        if number == 0:
            if _manifest_bytes(path, name, size, chunks) != (root / MANIFEST_NAME).read_bytes():
                raise ArchiveError(
                    "this is not the private part of that archive: it has another manifest",
                    where=str(path),
                    hint="give the file that `make archive` wrote beside it, which ends in -private.tar.zst",
                )
            continue
        if name not in held_out:
            raise ArchiveError("the private part holds a file that is not held out", where=f"{path}: {name}")
        yield name, _file(path, root, manifest, folders, name, size, chunks)


def _file(
    path: Path, root: Path, manifest: Manifest, folders: set[Path], name: str, size: int, chunks: Iterator[bytes]
) -> list[Finding]:
    """Write one file; what of it is not as the manifest says."""
    fact = manifest.files.get(name)
    if fact is None:
        raise ArchiveError("the archive holds a file that its manifest does not name", where=f"{path}: {name}")
    if size > MAX_DOCUMENT and not name.startswith(STREAMED) and not name.endswith("/explorer.html"):
        raise ArchiveError(f"it is larger than {MAX_DOCUMENT:,} bytes", where=f"{path}: {name}")
    digest = _write(root / name, chunks, folders, path)
    if size != fact.bytes:
        return [Finding(name, f"it has {size:,} bytes, the manifest says {fact.bytes:,}")]
    return [] if digest == fact.sha256 else [Finding(name, "its SHA-256 is not the manifest's: it was altered")]


def _manifest_bytes(path: Path, name: str, size: int, chunks: Iterator[bytes]) -> bytes:
    if name != MANIFEST_NAME:
        raise ArchiveError(f"the archive does not begin with {MANIFEST_NAME}", where=f"{path}: {name}")
    if size > MAX_BYTES:
        raise ArchiveError(f"the manifest is larger than {MAX_BYTES:,} bytes", where=str(path))
    return b"".join(chunks)


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
        raise ArchiveError("a name is a file and a folder at once", where=f"{archive}: {target.name}") from None
    except OSError as error:
        raise ArchiveError(
            f"the archive cannot be unpacked: {error.strerror}", where=str(target), hint="set TMPDIR to a roomier disk"
        ) from None
    return digest.hexdigest()
