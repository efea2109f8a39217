"""An archive as a file: a ustar in one zstandard frame, written in one form and read with bounds."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import zstandard

from fluency.common.errors import ArchiveError, UserError
from fluency.common.files import atomic_file

BLOCK = tarfile.BLOCKSIZE
CHUNK = 1 << 20
LEVEL = 9
WINDOW_LOG = 23
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
        LEVEL, window_log=WINDOW_LOG, write_checksum=True, write_content_size=False
    )
    compressor = zstandard.ZstdCompressor(compression_params=form)
    with atomic_file(path) as raw, compressor.stream_writer(raw, closefd=False) as out:
        for entry in entries:
            size, written = entry.size, 0
            out.write(tar_header(entry.name, size))
            with entry.open() as source:
                while chunk := source.read(CHUNK):
                    out.write(chunk)
                    written += len(chunk)
            if written != size:
                what, hint = "the file changed while it was packed", "let the run end first"
                raise UserError(what, where=entry.name, hint=hint)
            out.write(bytes(-size % BLOCK))
        out.write(bytes(2 * BLOCK))


def tar_header(name: str, size: int) -> bytes:
    """The header of a plain file; UserError if name or size does not fit."""
    member = tarfile.TarInfo(name)
    member.size = size
    try:
        block = bytearray(member.tobuf(tarfile.USTAR_FORMAT))
    except ValueError as error:
        what = f"this file cannot be archived: {error}"
        raise UserError(what, where=name, hint="rename it") from None
    # Python's versions fill the device numbers of a plain file differently.
    block[329:345] = b"0000000\0" * 2
    block[148:156] = b" " * 8
    block[148:155] = b"%06o\0" % sum(block)
    return bytes(block)


class _Stream:
    """The unpacked bytes of an archive, counted against the limits."""

    def __init__(self, path: Path, raw: BinaryIO, limits: ReadLimits) -> None:
        self._path, self._raw, self._limits, self.total = path, raw, limits, 0
        decompressor = zstandard.ZstdDecompressor(max_window_size=1 << WINDOW_LOG)
        self._source = decompressor.stream_reader(raw, read_size=1 << 16)

    def take(self, size: int) -> bytes:
        """Exactly `size` bytes, at most CHUNK; ArchiveError if there are fewer or too many."""
        data = b""
        while len(data) < size:
            try:
                chunk = self._source.read(size - len(data))
            except zstandard.ZstdError as error:
                raise self.refusal(f"it is damaged or not a zstandard file ({error})") from None
            if not chunk:
                raise self.refusal("it ends too early")
            data += chunk
        self.total += size
        packed, limits = self._raw.tell(), self._limits
        if self.total > limits.total:
            raise self.refusal(f"it unpacks to more than {limits.total:,} bytes")
        if self.total > limits.ratio_from and self.total > limits.ratio * packed:
            raise self.refusal(f"it unpacks to more than {limits.ratio} times its size")
        return data

    def refusal(self, what: str) -> ArchiveError:
        return ArchiveError(what, where=str(self._path), hint=HINT)


def read_tar(path: Path, limits: ReadLimits = LIMITS) -> Iterator[tuple[str, int, Iterator[bytes]]]:
    """Read an untrusted archive: name, size and chunks of each file.

    The chunks must be taken before the next file. Each header is parsed by `tarfile`; anything but
    a plain file is refused, so that no header can hold a list, a link or a name of any length.

    Raises:
        ArchiveError: for a damaged file, and for one beyond the limits.
    """
    try:
        with Path(path).open("rb") as raw:
            stream, files = _Stream(Path(path), raw, limits), 0
            while any(block := stream.take(BLOCK)):
                try:
                    member = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
                except tarfile.HeaderError as error:
                    raise stream.refusal(f"a file's header is damaged ({error})") from None
                where, files = ascii(member.name)[1:-1], files + 1
                if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.isdir():
                    raise stream.refusal(f"{where}: it is not a plain file")
                if not 0 <= member.size <= limits.total or files > limits.files:
                    most = f"{limits.files:,} files and {limits.total:,} bytes"
                    raise stream.refusal(f"{where}: more than {most} are not read")
                yield member.name, member.size, _chunks(stream, member.size)
    except FileNotFoundError:
        what, hint = "there is no such archive", "check the name"
        raise ArchiveError(what, where=str(path), hint=hint) from None
    except OSError as error:
        what = f"the archive cannot be read: {error.strerror}"
        raise ArchiveError(what, where=str(path)) from None


def _chunks(stream: _Stream, size: int) -> Iterator[bytes]:
    for start in range(0, size, CHUNK):
        yield stream.take(min(size - start, CHUNK))
    stream.take(-size % BLOCK)
