"""Archives as an attacker would make them, with the standard library."""

import json
import re
import tarfile
from itertools import chain, repeat
from unittest.mock import patch

from zstandard import ZstdCompressor

from fluency.archive import pack
from fluency.archive.manifest import MANIFEST_NAME, MANIFEST_SCHEMA
from fluency.archive.pack import write_archive, write_tar
from fluency.archive.unpack import read_tar
from fluency.archive.verify import VerifyReport, verify_archive
from fluency.common.canonical import KEY, with_self_hash
from fluency.common.files import pretty_json, sha256

FACTS = {
    "schema_version": MANIFEST_SCHEMA,
    "made_by": "0",
    "study": "s",
    "utc_date": "2026-11-22",
    "commit": "c" * 40,
    "dirty": False,
    "private_tasks": [],
}


def tar_header(name, size=0, **changes):
    """The header of a plain file, then changed."""
    member = tarfile.TarInfo(name)
    for key, value in {"size": size, **changes}.items():
        setattr(member, key, value)
    return member.tobuf(tarfile.GNU_FORMAT)


def squeeze(path, chunks):
    """Bytes as one zstandard frame."""
    with (
        path.open("wb") as raw,
        ZstdCompressor(level=1, write_checksum=True).stream_writer(raw) as out,
    ):
        for chunk in chunks:
            out.write(chunk)
    return path


def tar_of(blocks, **sizes):
    """A tar with a sound manifest of files of these sizes, then the blocks."""
    files = {name: {"sha256": "0" * 64, "bytes": size} for name, size in sizes.items()}
    manifest = manifest_bytes({**FACTS, "files": files})
    yield tar_header(MANIFEST_NAME, len(manifest)) + manifest + bytes(-len(manifest) % 512)
    yield from blocks
    yield bytes(1024)


def bomb(path, size, name):
    """An archive whose one file is `size` zeros."""
    zeros = repeat(bytes(1 << 20), size >> 20)
    return squeeze(path, tar_of(chain([tar_header(name, size)], zeros), **{name: size}))


def manifest_bytes(values):
    """The manifest's file from all its fields except its own hash."""
    return pretty_json(with_self_hash(values)).encode()


def ours(files, path, **facts):
    write_archive(path, files, FACTS | facts)
    return path


def contents(path):
    with path.open("rb") as raw:
        return {name: b"".join(chunks) for name, _, chunks in read_tar(raw)}


def rewritten(path, out, *changes, repair=True, **facts):
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


def verify_forged(path, out, *changes, **facts) -> VerifyReport:
    """What verification finds when the manifest fits the changes."""
    return verify_archive(rewritten(path, out, *changes, **facts))


def text(name, old, new):
    """Replace the first `old` in the one file whose name matches."""

    def change(files):
        found = find(files, name)
        assert old.encode() in files[found], f"{found} does not hold {old}"
        files[found] = files[found].replace(old.encode(), new.encode(), 1)

    return change


def flip(name):
    """Flip one bit in the middle of a file."""

    def change(files):
        found = find(files, name)
        data = bytearray(files[found])
        data[len(data) // 2] ^= 1
        files[found] = bytes(data)

    return change


def record(name, edit):
    """Edit every such record in its own form, so that nothing but the content shows."""

    def change(files):
        for found in named(files, name):
            value = json.loads(files[found])
            edit(value)
            files[found] = pretty_json(value).encode()

    return change


def named(files, name):
    found = [found for found in sorted(files) if re.fullmatch(name, found)]
    assert found, name
    return found


def find(files, name):
    return named(files, name)[0]


def put(*keys, value):
    def edit(document):
        for key in keys[:-1]:
            document = document[key]
        assert document[keys[-1]] != value
        document[keys[-1]] = value

    return edit


def drop(name):
    return lambda files: [files.pop(found) for found in named(files, name)]


def replace_file(name, data):
    return lambda files: files.update({find(files, name): data})
