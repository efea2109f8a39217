"""Archives as an attacker would make them, with the standard library."""

import json
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from unittest.mock import patch

import zstandard

from fluency.archive import pack
from fluency.archive.findings import VerifyReport
from fluency.archive.manifest import (
    MANIFEST_NAME,
    MANIFEST_SCHEMA,
    WINDOW_LOG,
    manifest_bytes,
)
from fluency.archive.pack import write_archive, write_tar
from fluency.archive.unpack import read_tar
from fluency.archive.verify import verify_archive
from fluency.common.canonical import KEY
from fluency.common.files import pretty_json, sha256

Change = Callable[[dict[str, bytes]], None]

FACTS = {
    "schema_version": MANIFEST_SCHEMA,
    "made_by": "0",
    "study": "s",
    "utc_date": "2026-11-22",
    "commit": "c" * 40,
    "dirty": False,
    "cells": 0,
    "not_measured": {},
    "missing": [],
    "code": {},
    "private_tasks": [],
}


def plain(name: str, size: int = 0, **changes) -> tarfile.TarInfo:
    """A member in the project's form, then changed."""
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode, member.uname, member.gname = size, 0, 0o644, "", ""
    for key, value in changes.items():
        setattr(member, key, value)
    return member


def tar_header(name: str, size: int) -> bytes:
    return plain(name, size).tobuf(tarfile.USTAR_FORMAT)


def squeeze(data: bytes | Iterable[bytes], path: Path) -> Path:
    """Bytes as one zstandard frame of the project's form."""
    form = zstandard.ZstdCompressionParameters.from_level(
        1, window_log=WINDOW_LOG, write_checksum=True, write_content_size=False
    )
    with (
        path.open("wb") as raw,
        zstandard.ZstdCompressor(compression_params=form).stream_writer(raw) as out,
    ):
        for chunk in [data] if isinstance(data, bytes) else data:
            out.write(chunk)
    return path


def tar_of(members: Iterable[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """A tar with a sound manifest of no files, then the members."""
    manifest = manifest_bytes({**FACTS, "files": {}})
    chunks = [tar_header(MANIFEST_NAME, len(manifest)), manifest, bytes(-len(manifest) % 512)]
    for member, data in members:
        chunks += [
            member.tobuf(tarfile.PAX_FORMAT if member.pax_headers else tarfile.GNU_FORMAT),
            data,
            bytes(-len(data) % 512),
        ]
    return b"".join([*chunks, bytes(1024)])


def ours(files: dict[str, bytes], path: Path, **facts) -> Path:
    write_archive(path, files, FACTS | facts)
    return path


def bomb(size: int, name: str = "z") -> Iterator[bytes]:
    """A tar whose one file is `size` zeros."""
    manifest = manifest_bytes({**FACTS, "files": {name: {"sha256": "0" * 64, "bytes": size}}})
    yield tar_header(MANIFEST_NAME, len(manifest)) + manifest + bytes(-len(manifest) % 512)
    yield tar_header(name, size)
    for _ in range(size >> 20):
        yield bytes(1 << 20)
    yield bytes(1024)


def contents(path: Path) -> dict[str, bytes]:
    with path.open("rb") as raw:
        return {name: file.read() for name, _, file in read_tar(raw)}


def rewritten(path: Path, out: Path, *changes: Change, repair: bool = True, **facts) -> Path:
    """The archive with changed files and facts; with `repair` its manifest's hashes fit again."""
    files = contents(path)
    manifest = json.loads(files.pop(MANIFEST_NAME))
    for change in changes:
        change(files)
    if repair:
        known = {name: {"sha256": sha256(data), "bytes": len(data)} for name, data in files.items()}
        manifest["files"] = dict(sorted(known.items()))
    head = manifest_bytes({key: value for key, value in (manifest | facts).items() if key != KEY})
    with patch.object(pack, "LEVEL", 1):  # the same form, in a tenth of the time
        write_tar(out / path.name, {MANIFEST_NAME: head} | dict(sorted(files.items())))
    return out / path.name


def verify_forged(path: Path, out: Path, *changes: Change, **facts) -> VerifyReport:
    """What verification finds when the manifest fits the changes."""
    return verify_archive(rewritten(path, out, *changes, **facts))


def text(name: str, old: str, new: str) -> Change:
    """Replace the first `old` in the one file whose name matches."""

    def change(files: dict[str, bytes]) -> None:
        found = find(files, name)
        assert old.encode() in files[found], f"{found} does not hold {old}"
        files[found] = files[found].replace(old.encode(), new.encode(), 1)

    return change


def flip(name: str) -> Change:
    """Flip one bit in the middle of a file."""

    def change(files: dict[str, bytes]) -> None:
        found = find(files, name)
        data = bytearray(files[found])
        data[len(data) // 2] ^= 1
        files[found] = bytes(data)

    return change


def record(name: str, edit: Callable[[dict], None]) -> Change:
    """Edit a record in its own form, so that nothing but the content shows."""

    def change(files: dict[str, bytes]) -> None:
        found = find(files, name)
        value = json.loads(files[found])
        edit(value)
        files[found] = pretty_json(value).encode()

    return change


def find(files: dict[str, bytes], name: str) -> str:
    return next(found for found in sorted(files) if re.fullmatch(name, found))


def put(*keys, value) -> Callable[[dict], None]:
    def edit(document: dict) -> None:
        for key in keys[:-1]:
            document = document[key]
        assert document[keys[-1]] != value
        document[keys[-1]] = value

    return edit


def drop(name: str) -> Change:
    return lambda files: files.pop(find(files, name)) and None


def replace_file(name: str, data: bytes) -> Change:
    return lambda files: files.update({find(files, name): data})
