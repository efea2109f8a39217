"""An archive as a file: a tar in one zstandard frame, read with bounds."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, BinaryIO

import zstandard

from fluency.common.errors import ArchiveError
from fluency.common.files import atomic_file

LEVEL = 9
WINDOW_LOG = 23
MAX_HEADERS = 4 << 20
"""Bytes that may be read ahead of a file: a header may state a name of any length."""
MAX_FILES = 200_000
MAX_TOTAL = 4 << 30
"""Bytes of the whole unpacked archive, its image included."""


Source = bytes | Path
"""A file to be packed: its bytes, or the file that holds them."""


def opened(source: Source) -> io.BytesIO | io.BufferedReader:
    """The source as a file to read."""
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")


def write_tar(path: Path, files: Mapping[str, Source]) -> None:
    """Write files in the order given; the archive appears whole or not at all."""
    form = zstandard.ZstdCompressionParameters.from_level(
        LEVEL, window_log=WINDOW_LOG, write_checksum=True
    )
    compressor = zstandard.ZstdCompressor(compression_params=form)
    with (
        atomic_file(path) as raw,
        compressor.stream_writer(raw, closefd=False) as out,
        tarfile.open(fileobj=out, mode="w|") as tar,
    ):
        for name, source in files.items():
            member = tarfile.TarInfo(name)
            with opened(source) as file:
                member.size = file.seek(0, io.SEEK_END)
                file.seek(0)
                tar.addfile(member, file)


class _Bounded(io.RawIOBase):
    """The unpacked bytes of an archive, counted against the limits."""

    def __init__(self, raw: BinaryIO) -> None:
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
        if self._total > MAX_TOTAL:
            raise ArchiveError(f"it unpacks to more than {MAX_TOTAL:,} bytes")
        if self._total > self._allowed:
            raise ArchiveError(f"a header is larger than {MAX_HEADERS:,} bytes")
        return data


def read_tar(raw: BinaryIO) -> Iterator[tuple[str, int, IO[bytes]]]:
    """Read an untrusted archive: name, size and contents of each file.

    The contents must be read before the next file. Anything but a plain file is refused.

    Raises:
        ArchiveError: beyond the limits.
        tarfile.TarError, zstandard.ZstdError: for a damaged file.
    """
    source = _Bounded(raw)
    with tarfile.open(fileobj=source, mode="r|", bufsize=1 << 16) as tar:
        for number, member in enumerate(tar, 1):
            data = tar.extractfile(member) if member.isreg() else None
            # A sparse file states any size in a few bytes.
            if data is None or member.issparse():
                raise ArchiveError(f"{ascii(member.name)[1:-1]} is not a plain file")
            if number > MAX_FILES:
                raise ArchiveError(f"it holds more than {MAX_FILES:,} files")
            source.allow(member.size)
            yield member.name, member.size, data
            source.allow(0)
