"""The archive's outer form: one zstandard frame around a tar in which every byte is decided.

There are regular files only, in one form of header: mode 0644, owner 0, time 0. So the same entries give the
same bytes, and a reader can hold each header against the one this module would have written. Archives are
untrusted: whatever is not of that form is refused by name, and sizes are held to limits while they stream.
"""

from __future__ import annotations

import io
import os
import re
import struct
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import zstandard

from fluency.common.errors import UserError
from fluency.common.files import flush

BLOCK = 512
PIECE = 1 << 20
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

    def open(self) -> BinaryIO:
        """The bytes as a stream."""
        return io.BytesIO(self.source) if isinstance(self.source, bytes) else self.source.open("rb")


def write_container(path: Path, entries: Iterable[Entry]) -> None:
    """Write entries in the order given; the file appears whole or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".archive.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as raw:
            form = zstandard.ZstdCompressionParameters.from_level(
                LEVEL, window_log=WINDOW_LOG, write_checksum=True, write_content_size=False
            )
            packer = zstandard.ZstdCompressor(compression_params=form)
            with packer.stream_writer(raw, closefd=False) as out:
                for entry in entries:
                    _write_entry(out, entry)
                out.write(bytes(2 * BLOCK))
            raw.flush()
            os.fsync(raw.fileno())
        Path(temporary).chmod(0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    flush(path.parent)


def _write_entry(out: BinaryIO, entry: Entry) -> None:
    size = entry.size
    out.write(header(entry.name, size))
    written = 0
    with entry.open() as source:
        while piece := source.read(PIECE):
            out.write(piece)
            written += len(piece)
    if written != size:
        raise UserError("the file changed while it was packed", where=entry.name, hint="let the run end first")
    out.write(bytes(-size % BLOCK))


def header(name: str, size: int) -> bytes:
    """The one ustar header of a file; UserError if the name cannot stand in an archive (POSIX.1-1988, ustar)."""
    problem = name_problem(name)
    if problem:
        raise UserError(f"this name cannot stand in an archive: {problem}", where=name, hint="rename the file")
    prefix, base = _split(name)
    fields = struct.pack(
        "100s8s8s8s12s12s8s1s100s6s2s32s32s8s8s155s12s",
        base.encode(),
        b"0000644\0",
        b"0000000\0",
        b"0000000\0",
        b"%011o\0" % size,
        b"00000000000\0",
        b" " * 8,
        b"0",
        b"",
        b"ustar\0",
        b"00",
        b"",
        b"",
        b"0000000\0",
        b"0000000\0",
        prefix.encode(),
        b"",
    )
    return fields[:148] + b"%06o\0 " % sum(fields) + fields[156:]


def _split(name: str) -> tuple[str, str]:
    """A name as ustar keeps it: (prefix <= 155, base <= 100), cut at the first slash that makes it fit."""
    if len(name) <= 100:
        return "", name
    cut = name.index("/", len(name) - 101)
    return name[:cut], name[cut + 1 :]


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
