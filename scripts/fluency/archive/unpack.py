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
from fluency.archive.tar_reader import LIMITS, ReadLimits, TarReader
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
    """An archive's files in a folder; `problems` are bytes that differ from what the manifest says."""

    path: Path
    sha256: str
    root: Path
    manifest: Manifest
    problems: list[Finding] = field(default_factory=list)


@contextmanager
def unpacked(path: Path, limits: ReadLimits = LIMITS) -> Iterator[UnpackedArchive]:
    """The archive in a temporary folder, which is gone afterwards; ArchiveError when it is refused."""
    with TemporaryDirectory(prefix="fluency-archive-", ignore_cleanup_errors=True) as folder:
        try:
            yield unpack(path, Path(folder), limits)
        except _UNFORESEEN as error:
            raise ArchiveError(
                f"it holds what this project does not write, and broke off on it: {type(error).__name__}: {error}",
                where=str(path),
                hint="if it is sound, this is a fault of this version: verify with the commit that made it (BESIDE=1)",
            ) from error


def manifest_of(path: Path) -> Manifest:
    """An archive's manifest alone; the rest is not read."""
    for name, size, chunks in TarReader(path):
        return read_manifest(_manifest_bytes(path, name, size, chunks), str(path))
    raise ArchiveError("the archive is empty", where=str(path))


def unpack(path: Path, root: Path, limits: ReadLimits = LIMITS) -> UnpackedArchive:
    """Write the archive's files below the empty folder `root`; no file outside it can be named."""
    manifest: Manifest | None = None
    problems: list[Finding] = []
    seen: set[str] = set()
    folders: set[Path] = set()
    for name, size, chunks in TarReader(path, limits):
        if manifest is None:
            data = _manifest_bytes(path, name, size, chunks)
            manifest = read_manifest(data, str(path))
            if len(manifest.files) > limits.files:
                raise ArchiveError(f"its manifest names more than {limits.files:,} files", where=str(path))
            if problem := manifest_problem(data):
                problems.append(Finding(MANIFEST_NAME, problem))
            (root / MANIFEST_NAME).write_bytes(data)
            continue
        fact = manifest.files.get(name)
        if fact is None:
            raise ArchiveError("the archive holds a file that its manifest does not name", where=f"{path}: {name}")
        if size > MAX_DOCUMENT and not name.startswith(STREAMED) and not name.endswith("/explorer.html"):
            raise ArchiveError(f"it is larger than {MAX_DOCUMENT:,} bytes", where=f"{path}: {name}")
        seen.add(name)
        digest = _write(root / name, chunks, folders, path)
        if size != fact.bytes:
            problems.append(Finding(name, f"it has {size:,} bytes, the manifest says {fact.bytes:,}"))
        elif digest != fact.sha256:
            problems.append(Finding(name, "its SHA-256 is not the manifest's: it was altered"))
    if manifest is None:
        raise ArchiveError("the archive is empty", where=str(path))
    problems += [Finding(name, "the archive does not hold it") for name in manifest.files if name not in seen]
    return UnpackedArchive(Path(path), sha256_file(path), root, manifest, problems)


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
