"""Archives as an attacker would make them, with the standard library and not with this project's writer."""

import json
import tarfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from unittest.mock import patch

import zstandard

from fluency.archive import tar_format
from fluency.archive.manifest import MANIFEST_NAME, SCHEMA_VERSION, manifest_bytes
from fluency.archive.pack import write_entries
from fluency.archive.tar_format import WINDOW_LOG, Entry, TarReader, tar_header, write_tar
from fluency.common.canonical import KEY

FACTS = {
    "schema_version": SCHEMA_VERSION, "made_by": "0", "study": "s", "study_sha256": "0" * 64, "utc_date": "2026-11-22", "commit": "c" * 40, "dirty": False, "partial": False,
    "image_included": False, "cells": 0, "not_measured": {}, "missing": [], "code": {}, "environment": {},
}  # fmt: skip


def plain(name: str, size: int = 0, **changes) -> tarfile.TarInfo:
    """A member in the project's form, then changed."""
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode, member.uname, member.gname = size, 0, 0o644, "", ""
    for key, value in changes.items():
        setattr(member, key, value)
    return member


def squeeze(data: bytes | Iterable[bytes], path: Path) -> Path:
    """Bytes as one zstandard frame of the project's form."""
    form = zstandard.ZstdCompressionParameters.from_level(
        1, window_log=WINDOW_LOG, write_checksum=True, write_content_size=False
    )
    with path.open("wb") as raw, zstandard.ZstdCompressor(compression_params=form).stream_writer(raw) as out:
        for chunk in [data] if isinstance(data, bytes) else data:
            out.write(chunk)
    return path


def tar_of(members: Iterable[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """A tar with a sound manifest that knows nothing, then the members as the standard library writes them."""
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
    write_entries(path, {name: Entry(name, data) for name, data in files.items()}, FACTS | facts)
    return path


def bomb(size: int, name: str = "z") -> Iterator[bytes]:
    """A tar whose one file is `size` zeros."""
    manifest = manifest_bytes({**FACTS, "files": {}})
    yield tar_header(MANIFEST_NAME, len(manifest)) + manifest + bytes(-len(manifest) % 512)
    yield tar_header(name, size)
    for _ in range(size >> 20):
        yield bytes(1 << 20)
    yield bytes(1024)


def contents(path: Path) -> dict[str, bytes]:
    return {name: b"".join(chunks) for name, _, chunks in TarReader(path)}


def rewritten(path: Path, out: Path, change: Callable[[dict[str, bytes]], None], *, repair: bool, **facts) -> Path:
    """The archive with changed files and facts; with `repair` the manifest's hashes and sizes are made to fit again."""
    files = contents(path)
    manifest = json.loads(files.pop(MANIFEST_NAME)) | facts
    change(files)
    target = out / path.name
    with patch.object(tar_format, "LEVEL", 1):  # the same form, in a tenth of the time
        _write(target, files, manifest, repair=repair)
    return target


def _write(target: Path, files: dict[str, bytes], manifest: dict, *, repair: bool) -> None:
    if repair:
        facts = {key: value for key, value in manifest.items() if key not in ("files", KEY)}
        write_entries(target, {name: Entry(name, data) for name, data in files.items()}, facts)
    else:
        head = Entry(MANIFEST_NAME, manifest_bytes({k: v for k, v in manifest.items() if k != KEY}))
        write_tar(target, [head, *(Entry(name, files[name]) for name in sorted(files))])
