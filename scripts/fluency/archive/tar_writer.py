"""The archive's outer form: one zstandard frame around a tar in which every byte is decided.

There are regular files only, in one form of header: mode 0644, owner 0, time 0. So the same entries give the
same bytes, and a reader can hold each header against the one this module would have written. Archives are
untrusted: whatever is not of that form is refused by name, and sizes are held to limits while they stream.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import zstandard

from fluency.common.errors import UserError
from fluency.common.files import atomic_file

BLOCK = 512
CHUNK = 1 << 20
LEVEL = 9
WINDOW_LOG = 23
_PART = re.compile(r"[A-Za-z0-9_.@+=,-]{1,100}")


@dataclass(frozen=True)
class Entry:
    """A file to be packed: its name in the archive and its bytes, or where they lie."""

    name: str
    source: bytes | Path

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.source) if isinstance(self.source, bytes) else self.source.stat().st_size

    def open(self) -> io.BytesIO | io.BufferedReader:
        """The bytes as a stream."""
        return io.BytesIO(self.source) if isinstance(self.source, bytes) else self.source.open("rb")


def write_tar(path: Path, entries: Iterable[Entry]) -> None:
    """Write entries in the order given; the file appears whole or not at all."""
    form = zstandard.ZstdCompressionParameters.from_level(
        LEVEL, window_log=WINDOW_LOG, write_checksum=True, write_content_size=False
    )
    compressor = zstandard.ZstdCompressor(compression_params=form)
    with atomic_file(path) as raw, compressor.stream_writer(raw, closefd=False) as out:
        for entry in entries:
            _write_entry(out, entry)
        out.write(bytes(2 * BLOCK))


def _write_entry(out: BinaryIO, entry: Entry) -> None:
    size = entry.size
    out.write(tar_header(entry.name, size))
    written = 0
    with entry.open() as source:
        while chunk := source.read(CHUNK):
            out.write(chunk)
            written += len(chunk)
    if written != size:
        raise UserError("the file changed while it was packed", where=entry.name, hint="let the run end first")
    out.write(bytes(-size % BLOCK))


def tar_header(name: str, size: int) -> bytes:
    """The one ustar header of a file of `size` bytes; UserError if name or size cannot stand in it."""
    member = tarfile.TarInfo(name)
    member.size = size
    try:
        if problem := name_problem(name):
            raise ValueError(problem)
        block = bytearray(member.tobuf(tarfile.USTAR_FORMAT))
    except ValueError as error:
        raise UserError(f"this file cannot be archived: {error}", where=name, hint="rename it") from None
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
