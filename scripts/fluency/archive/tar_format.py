"""An archive as a file: a tar in one zstandard frame, read with bounds."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

import zstandard

from fluency.common.errors import ArchiveError, UserError
from fluency.common.files import atomic_file

CHUNK = 1 << 20
LEVEL = 9
WINDOW_LOG = 23
MAX_HEADERS = 4 << 20
"""Bytes that may be read ahead of a file: a header may state a name of any length."""
HINT = "get the archive again from where its hash is recorded"


@dataclass(frozen=True)
class Entry:
    """A file to be packed: its name in the archive, and its bytes or the file that holds them."""

    name: str
    source: bytes | Path

    @property
    def size(self) -> int:
        return len(self.source) if isinstance(self.source, bytes) else self.source.stat().st_size

    def open(self) -> io.BytesIO | io.BufferedReader:
        return io.BytesIO(self.source) if isinstance(self.source, bytes) else self.source.open("rb")


@dataclass(frozen=True)
class ReadLimits:
    """What reading an archive may cost.

    Attributes:
        files: number of files.
        total: unpacked bytes, in all.
        ratio: unpacked bytes for each byte of the file, counted from `ratio_from` on.
    """

    files: int = 200_000
    total: int = 8 << 30
    ratio: int = 200
    ratio_from: int = 256 << 20


LIMITS = ReadLimits()


def write_tar(path: Path, entries: Iterable[Entry]) -> None:
    """Write entries in the order given; the file appears whole or not at all."""
    form = zstandard.ZstdCompressionParameters.from_level(
        LEVEL, window_log=WINDOW_LOG, write_checksum=True
    )
    compressor = zstandard.ZstdCompressor(compression_params=form)
    with (
        atomic_file(path) as raw,
        compressor.stream_writer(raw, closefd=False) as out,
        tarfile.open(fileobj=out, mode="w|") as tar,
    ):
        for entry in entries:
            member = tarfile.TarInfo(entry.name)
            member.size = entry.size
            with entry.open() as source:
                tar.addfile(member, source)
                if source.read(1):
                    what = "the file changed while it was packed"
                    raise UserError(what, where=entry.name, hint="let the run end first")


class _Bounded(io.RawIOBase):
    """The unpacked bytes of an archive, counted against the limits."""

    def __init__(self, raw: BinaryIO, limits: ReadLimits) -> None:
        self._raw, self._limits = raw, limits
        self._total = 0
        self._allowed = MAX_HEADERS
        decompressor = zstandard.ZstdDecompressor(max_window_size=1 << WINDOW_LOG)
        self._source = decompressor.stream_reader(raw, read_size=1 << 16)

    def allow(self, size: int) -> None:
        """Allow this number of bytes, and the headers after them."""
        self._allowed = self._total + size + MAX_HEADERS

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes; ArchiveError beyond the limits."""
        data = self._source.read(size)
        self._total += len(data)
        limits = self._limits
        if self._total > limits.total:
            raise ArchiveError(f"it unpacks to more than {limits.total:,} bytes")
        if self._total > max(limits.ratio_from, limits.ratio * self._raw.tell()):
            raise ArchiveError(f"it unpacks to more than {limits.ratio} times its size")
        if self._total > self._allowed:
            raise ArchiveError(f"a header is larger than {MAX_HEADERS:,} bytes")
        return data


def read_tar(path: Path, limits: ReadLimits = LIMITS) -> Iterator[tuple[str, int, Iterator[bytes]]]:
    """Read an untrusted archive: name, size and chunks of each file.

    The chunks must be taken before the next file. Anything but a plain file is refused.

    Raises:
        ArchiveError: for a damaged file, and for one beyond the limits.
    """
    with _refusals(path), Path(path).open("rb") as raw:
        source = _Bounded(raw, limits)
        with tarfile.open(fileobj=source, mode="r|", bufsize=1 << 16) as tar:
            for number, member in enumerate(tar, 1):
                data = tar.extractfile(member) if member.isreg() else None
                # A sparse file states any size in a few bytes.
                if data is None or member.issparse():
                    raise ArchiveError(f"{ascii(member.name)[1:-1]} is not a plain file")
                if number > limits.files:
                    raise ArchiveError(f"it holds more than {limits.files:,} files")
                source.allow(member.size)
                yield member.name, member.size, _chunks(path, data)
                source.allow(0)


def _chunks(path: Path, data: IO[bytes]) -> Iterator[bytes]:
    with _refusals(path):
        while chunk := data.read(CHUNK):
            yield chunk


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    """Raise what the block cannot read as an ArchiveError that names the archive."""
    try:
        yield
    except ArchiveError as error:
        raise ArchiveError(error.what, where=error.where or str(path), hint=HINT) from None
    except (tarfile.TarError, zstandard.ZstdError) as error:
        what = f"it is damaged, or not an archive ({error})"
        raise ArchiveError(what, where=str(path), hint=HINT) from None
    except OSError as error:
        what = f"the archive cannot be read: {error.strerror}"
        raise ArchiveError(what, where=str(path), hint="check the name") from None
