"""The one tar form of an archive: writer, header rule, strict reader."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import zstandard

from fluency.archive.manifest import MANIFEST_NAME
from fluency.common.errors import ArchiveError, UserError
from fluency.common.files import atomic_file

BLOCK = 512
CHUNK = 1 << 20
LEVEL = 9
WINDOW_LOG = 23
_PART = re.compile(r"[A-Za-z0-9_.@+=,-]{1,100}")


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
                raise UserError(
                    "the file changed while it was packed",
                    where=entry.name,
                    hint="let the run end first",
                )
            out.write(bytes(-size % BLOCK))
        out.write(bytes(2 * BLOCK))


def tar_header(name: str, size: int) -> bytes:
    """The one ustar header of a file of `size` bytes; UserError if name or size does not fit."""
    member = tarfile.TarInfo(name)
    member.size = size
    try:
        if problem := name_problem(name):
            raise ValueError(problem)
        block = bytearray(member.tobuf(tarfile.USTAR_FORMAT))
    except ValueError as error:
        raise UserError(
            f"this file cannot be archived: {error}", where=name, hint="rename it"
        ) from None
    # Python's versions fill the device numbers of a plain file differently; zeros, and the checksum over them.
    block[329:345] = b"0000000\0" * 2
    block[148:156] = b" " * 8
    block[148:155] = b"%06o\0" % sum(block)
    return bytes(block)


def name_problem(name: str) -> str | None:
    """Why a name is refused, or None: plain relative paths of plain characters only."""
    if name.startswith("/") or re.match(r"[A-Za-z]:", name):
        return "it is absolute"
    parts = name.split("/")
    if ".." in parts:
        return "it climbs out of its folder with `..`"
    if not all(_PART.fullmatch(part) and part != "." for part in parts):
        return "it holds other characters than letters, digits and _.@+=,- between its slashes"
    if len(name) > 200:
        return "it is longer than 200 characters"
    return None


FEED = 1 << 12
# RFC 8878, 3.1.1: magic number; descriptor with the checksum flag alone; window descriptor.
FRAME = bytes((0x28, 0xB5, 0x2F, 0xFD, 0x04, (WINDOW_LOG - 10) << 3))


@dataclass(frozen=True)
class ReadLimits:
    """What reading an archive may cost at most: files, bytes unpacked (`total`), and how many times larger than the
    file the unpacked bytes may be (`ratio`) once there are `ratio_from` of them.
    """

    files: int = 200_000
    total: int = 8 << 30
    ratio: int = 1_000
    ratio_from: int = 64 << 20


LIMITS = ReadLimits()


class _Decompressor:
    """The bytes of one zstandard frame, a known number at a time.

    The input is fed in small chunks: a block of at least 4 bytes gives at most 128 KiB, so a chunk of 4 KiB can
    never fill more than 128 MiB before the limits are looked at (RFC 8878, 3.1.1.2).
    """

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._frame = zstandard.ZstdDecompressor(max_window_size=1 << WINDOW_LOG).decompressobj()
        self._ready = memoryview(b"")
        self.taken = 0

    def read(self, size: int) -> bytes:
        """The next bytes, at most `size`; none only at the end."""
        while not self._ready and not self._frame.eof and (chunk := self._raw.read(FEED)):
            self.taken += len(chunk)
            self._ready = memoryview(self._frame.decompress(chunk))
        data, self._ready = bytes(self._ready[:size]), self._ready[size:]
        return data

    def is_at_end(self) -> bool:
        """Whether the frame is complete and the file ends with it."""
        return self._frame.eof and not self._frame.unused_data and not self._raw.read(1)


class TarReader:
    """The files of an untrusted archive, one after the other; ArchiveError names what is refused."""

    def __init__(self, path: Path, limits: ReadLimits = LIMITS) -> None:
        self._path = Path(path)
        self._limits = limits
        self._total = 0

    def __iter__(self) -> Iterator[tuple[str, int, Iterator[bytes]]]:
        """(name, size, chunks) of each file; the chunks must be taken before the next file."""
        try:
            with self._path.open("rb") as raw:
                # The first bytes leave no choice: no dictionary, no size, a checksum, a window of known size.
                start = raw.read(len(FRAME))
                raw.seek(0)
                if start != FRAME:
                    what = (
                        "the archive is damaged"
                        if start[:4] == FRAME[:4]
                        else "this is no zstandard file"
                    )
                    raise self._refuse(f"{what}: it does not begin as this project's archives do")
                self._stream = _Decompressor(raw)
                yield from self._files()
                if any(self._take(BLOCK)):
                    raise self._refuse("the archive's end mark is damaged")
                if self._unpack(1) or not self._stream.is_at_end():
                    raise self._refuse("there are bytes behind the archive's end")
        except FileNotFoundError:
            raise ArchiveError(
                "there is no such archive", where=str(self._path), hint="check the name"
            ) from None
        except OSError as error:
            raise ArchiveError(
                f"the archive cannot be read: {error.strerror}", where=str(self._path)
            ) from None

    def _files(self) -> Iterator[tuple[str, int, Iterator[bytes]]]:
        seen, last = dict[str, str](), ""
        while any(block := self._take(BLOCK)):
            name, size = self._checked(block, seen)
            if last not in ("", MANIFEST_NAME) and name <= last:
                raise self._refuse(f"{name}: it does not stand in the order of names")
            last = name
            if len(seen) > self._limits.files:
                raise self._refuse(f"the archive holds more than {self._limits.files:,} files")
            yield name, size, self._chunks(name, size)

    def _checked(self, block: bytes, seen: dict[str, str]) -> tuple[str, int]:
        """Name and size of a header; everything a hostile one could hold is refused here."""
        try:
            size = int(block[124:135], 8)
        except ValueError:
            raise self._refuse("a file's header is damaged") from None
        parts = (field.partition(b"\0")[0] for field in (block[345:500], block[:100]))
        raw_name, kind = (
            b"/".join(filter(None, parts)).decode("utf-8", "surrogateescape"),
            block[156:157],
        )
        name = ascii(raw_name)[1:-1].rstrip("/")
        if kind not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise self._refuse(f"{name}: it is of tar's type {kind!a}; only plain files are read")
        if problem := name_problem(raw_name):
            raise self._refuse(f"{name}: the name is refused: {problem}")
        if not 0 <= size <= self._limits.total - self._total:
            raise self._refuse(
                f"{name}: with it the archive is larger than {self._limits.total:,} bytes"
            )
        if block != tar_header(raw_name, size):
            raise self._refuse(f"{name}: its header is not of the form this project writes")
        key = raw_name.casefold()
        if key in seen:
            raise self._refuse(
                f"{name}: the name stands twice" + (f" ({seen[key]})" if seen[key] != name else "")
            )
        seen[key] = name
        return raw_name, size

    def _chunks(self, name: str, size: int) -> Iterator[bytes]:
        for start in range(0, size, CHUNK):
            yield self._take(min(size - start, CHUNK))
        if any(self._take(-size % BLOCK)):
            raise self._refuse(f"{name}: there are bytes behind its end")

    def _take(self, size: int) -> bytes:
        """Exactly so many unpacked bytes, counted against the limits."""
        data = bytearray()
        while len(data) < size:
            if not (chunk := self._unpack(size - len(data))):
                raise self._refuse("the archive ends too early")
            data += chunk
            self._total += len(chunk)
            if (
                self._total > self._limits.ratio_from
                and self._total > self._limits.ratio * self._stream.taken
            ):
                raise self._refuse(
                    f"the archive unpacks to more than {self._limits.ratio} times its size: a bomb"
                )
        return bytes(data)

    def _unpack(self, size: int) -> bytes:
        try:
            return self._stream.read(size)
        except zstandard.ZstdError as error:
            raise self._refuse(f"the archive is damaged or no zstandard file ({error})") from None

    def _refuse(self, what: str) -> ArchiveError:
        return ArchiveError(
            what,
            where=str(self._path),
            hint="get the archive again from where its hash is recorded",
        )
