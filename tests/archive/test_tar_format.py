"""The outer form: the same bytes for the same files, and whatever is not of that form is refused by name."""

import errno
import os
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from fluency.archive.manifest import MANIFEST_NAME, SCHEMA_VERSION, manifest_bytes
from fluency.archive.tar_format import (
    LIMITS,
    Entry,
    ReadLimits,
    TarReader,
    name_problem,
    tar_header,
    write_tar,
)
from fluency.archive.unpack import unpack, unpacked
from fluency.common.errors import ArchiveError, UserError
from tests.archive.hostile import FACTS, bomb, contents, ours, plain, squeeze, tar_of


def refusal(path: Path, tmp_path: Path, limits: ReadLimits = LIMITS) -> str:
    """The sentence with which an archive is refused; and nothing may have been written outside of its folder."""
    inside = tmp_path / "room" / "inside"
    inside.mkdir(parents=True, exist_ok=True)
    with pytest.raises(ArchiveError) as error:
        unpack(path, inside, limits)
    assert [p.name for p in inside.parent.iterdir()] == ["inside"], (
        "something was written outside of the folder"
    )
    return str(error.value)


def test_other_programs_can_read_it(tmp_path):
    path = ours({"a" * 90 + "/" + "b" * 90: b"long", "c": b"short"}, tmp_path / "x.tar.zst")
    with (
        path.open("rb") as raw,
        tarfile.open(fileobj=zstandard.ZstdDecompressor().stream_reader(raw), mode="r|") as tar,
    ):
        found = [
            (member.name, member.size, member.mode, member.uid, member.mtime) for member in tar
        ]
    assert found[1:] == [("a" * 90 + "/" + "b" * 90, 4, 0o644, 0, 0), ("c", 5, 0o644, 0, 0)]


def test_a_file_that_changes_while_it_is_packed_is_told(tmp_path):
    class Growing(Entry):
        @property
        def size(self) -> int:
            return 2

    with pytest.raises(UserError, match="changed while it was packed"):
        write_tar(tmp_path / "x", [Growing("a", b"abc")])
    assert list(tmp_path.iterdir()) == []


NAMES = {
    "/etc/passwd": "absolute", "C:/x": "absolute", "../outside": "climbs out", "a/../../outside": "climbs out",
    "a//b": "characters", "./a": "characters", "a\\..\\b": "characters", "a\x1b[2Jb": "characters",
    "naïve": "characters", "a/": "characters", "": "characters", "/".join(["abcdefghi"] * 21): "longer",
}  # fmt: skip


def test_a_name_may_have_200_characters():
    name = "a" * 99 + "/" + "b" * 100
    assert (
        name_problem(name) is None
        and tarfile.TarInfo.frombuf(tar_header(name, 1), "ascii", "strict").name == name
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_could_leave_the_folder_is_refused(name):
    assert NAMES[name] in (name_problem(name) or "nothing")


def test_an_archive_with_such_a_name_is_refused(tmp_path):
    told = refusal(
        squeeze(tar_of([(plain("../out\x1b[2J", 4), b"evil")]), tmp_path / "x"), tmp_path
    )
    assert "the name is refused" in told and "\x1b" not in told


@pytest.mark.parametrize("kind", [*b"123456SLx"])
def test_only_plain_files_are_read(kind, tmp_path):
    """Nor a GNU or pax header (L, x), which could rename the next file."""
    kind = bytes([kind])
    member = plain(
        "a", type=kind, linkname="/etc/passwd" if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
    )
    told = refusal(squeeze(tar_of([(member, b"")]), tmp_path / "x"), tmp_path)
    assert f"a: it is of tar's type {kind!r}; only plain files are read" in told


CHANGES = (
    {"uid": 1000}, {"gid": 1000}, {"uname": "root"}, {"gname": "wheel"}, {"mode": 0o4755}, {"mode": 0o755}, {"mtime": 1},
)  # fmt: skip


@pytest.mark.parametrize("values", CHANGES, ids=str)
def test_a_foreign_header_is_refused(values, tmp_path):
    path = squeeze(tar_of([(plain("a", **values), b"")]), tmp_path / "x")
    assert "a: its header is not of the form this project writes" in refusal(path, tmp_path)


def _after_manifest(body: bytes) -> bytes:
    files = {name: {"sha256": "0" * 64, "bytes": 0} for name in ("A", "a", "b")}
    manifest = manifest_bytes({**FACTS, "files": files})
    return (
        tar_header(MANIFEST_NAME, len(manifest))
        + manifest
        + bytes(-len(manifest) % 512)
        + body
        + bytes(1024)
    )


def _headers(*names: str) -> Callable[[Path], Path]:
    return lambda path: squeeze(
        _after_manifest(b"".join(tar_header(name, 0) for name in names)), path
    )


def _unnamed(path: Path) -> Path:
    write_tar(
        path, [Entry(MANIFEST_NAME, manifest_bytes({**FACTS, "files": {}})), Entry("a", b"1")]
    )
    return path


def _negative(path: Path) -> Path:
    block = bytearray(tar_header("a", 0))
    block[124:136] = b"\xff" * 12  # -1 in the base-256 form
    block[148:156] = b" " * 8
    block[148:155] = b"%06o\0" % sum(block)
    return squeeze(_after_manifest(bytes(block)), path)


def _wide_window(path: Path) -> Path:
    more = {"write_checksum": True, "write_content_size": False}
    form = zstandard.ZstdCompressionParameters.from_level(1, window_log=30, **more)
    data = zstandard.ZstdCompressor(compression_params=form).compressobj()
    path.write_bytes(data.compress(tar_of([])) + data.flush())
    return path


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (_headers("a", "a"), "stands twice"),
        (_headers("A", "a"), "stands twice (A)"),
        (_headers("b", "a"), "order of names"),
        (
            lambda path: ours({"a": b"file", "a/b": b"below it"}, path),
            "a file and a folder at once",
        ),
        (_unnamed, "its manifest does not name"),
        (_negative, "damaged"),
        (_wide_window, "does not begin as"),
        (
            lambda path: ours({}, path, schema_version=SCHEMA_VERSION + 1, later=True),
            "update this project",
        ),
    ],
)
def test_another_form_is_refused(make, says, tmp_path):
    assert says in refusal(make(tmp_path / "x"), tmp_path)


def test_a_file_the_archive_lacks_and_an_edited_manifest_are_seen(tmp_path):
    head = contents(ours({"a": b"1", "b": b"2"}, tmp_path / "x"))[MANIFEST_NAME]
    edited = head.replace(b'"dirty": false', b'"dirty": true')
    write_tar(tmp_path / "y", [Entry(MANIFEST_NAME, edited), Entry("a", b"1")])
    with unpacked(tmp_path / "y") as archive:
        first, lacking = map(str, archive.problems)
    assert first.startswith(MANIFEST_NAME) and lacking == "b: the archive does not hold it"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"schema_version": 1}',
        b"[" * 100_000,
        b"\xff",
        b'{"schema_version": "1"}',
    ],
)
def test_a_manifest_that_is_none_is_refused(data, tmp_path):
    write_tar(tmp_path / "x", [Entry(MANIFEST_NAME, data)])
    assert "manifest" in refusal(tmp_path / "x", tmp_path)


def test_a_bomb_is_refused_by_its_ratio_before_it_unfolds(tmp_path):
    path = squeeze(bomb(1 << 30), tmp_path / "x")
    assert path.stat().st_size < 200_000
    tracemalloc.start()
    told = refusal(path, tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "a bomb" in told or "does not name" in told
    with pytest.raises(ArchiveError, match="a bomb"):
        drained(path, LIMITS)
    assert peak < 200 << 20


def test_what_an_honest_table_of_zeros_compresses_to_is_no_bomb(tmp_path):
    path = ours({"z": bytes(60 << 20)}, tmp_path / "x")
    assert path.stat().st_size < (60 << 20) // LIMITS.ratio and len(contents(path)["z"]) == 60 << 20


def test_too_many_files_are_refused(tmp_path):
    many = ours({f"f{n:03}": b"" for n in range(50)}, tmp_path / "y")
    assert "more than 20 files" in refusal(many, tmp_path, ReadLimits(files=20))


def test_an_archive_may_be_as_large_as_the_limit_and_not_a_byte_larger(tmp_path):
    """The limit is held against the unpacked bytes so far, headers included, before a file of that size is taken."""
    path = ours({"a": bytes(700), "b": bytes(5000)}, tmp_path / "x")
    files = contents(path)
    before = (
        sum(512 + len(data) + -len(data) % 512 for data in (files[MANIFEST_NAME], files["a"])) + 512
    )
    assert [name for name, _, _ in drained(path, ReadLimits(total=before + 5000))] == [
        MANIFEST_NAME,
        "a",
        "b",
    ]
    with pytest.raises(
        ArchiveError, match=f"b: with it the archive is larger than {before + 4999:,} bytes"
    ):
        drained(path, ReadLimits(total=before + 4999))


def drained(path: Path, limits: ReadLimits) -> list[tuple[str, int, int]]:
    return [(name, size, sum(map(len, chunks))) for name, size, chunks in TarReader(path, limits)]


def test_a_folder_that_cannot_be_removed_costs_no_verdict(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EBUSY, "busy")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = ours({"a/b": b"1"}, tmp_path / "x")
    with monkeypatch.context() as patch, unpacked(path) as archive:
        patch.setattr(os, "rmdir", refuse)
    assert archive.root.is_dir() and list(archive.manifest.files) == ["a/b"]


@pytest.mark.parametrize(
    "tail",
    [b"\n", b"x" * 5000, b"\x50\x2a\x4d\x18\x04\0\0\0evil", zstandard.compress(b"evil")],
    ids=["byte", "long", "skippable", "frame"],
)
def test_bytes_behind_the_end_are_seen(tail, tmp_path):
    path = ours({"a": b"1"}, tmp_path / "x")
    path.write_bytes(path.read_bytes() + tail)
    assert "behind the archive's end" in refusal(path, tmp_path)


def test_bytes_between_and_after_the_files_are_seen(tmp_path):
    path = ours({"a": b"1"}, tmp_path / "x")
    with path.open("rb") as raw:
        data = zstandard.ZstdDecompressor().stream_reader(raw).read()
    padding = bytearray(data)
    padding[len(data) - 1024 - 2] = 1
    changed = {
        "bytes behind its end": bytes(padding),
        "end mark": data[:-1] + b"\1",
        "the archive's end": data + bytes(512),
    }
    for number, (told, tar) in enumerate(changed.items()):
        assert told in refusal(squeeze(tar, tmp_path / f"y{number}"), tmp_path / str(number))


def test_no_flipped_bit_of_the_outer_form_changes_a_file(tmp_path):
    """A flip is refused, or it is one of the few bits of a compressed block that stand for nothing."""
    path = ours({"a": b"some text " * 50}, tmp_path / "x")
    data, files = path.read_bytes(), contents(path)
    refused = 0
    for place in range(len(data)):
        flipped = bytearray(data)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        try:
            assert contents(path) == files
        except ArchiveError:
            refused += 1
    assert refused > 0.9 * len(data)


@pytest.mark.parametrize("keep", [0, 3, 20, 200, -1])
def test_a_cut_archive_is_refused(keep, tmp_path):
    path = ours({"a": b"some text " * 500}, tmp_path / "x")
    path.write_bytes(path.read_bytes()[:keep])
    assert "archive" in refusal(path, tmp_path)


def test_what_is_no_archive_is_refused(tmp_path):
    with pytest.raises(ArchiveError, match="no such archive"):
        list(TarReader(tmp_path / "none"))
    with pytest.raises(ArchiveError, match="cannot be read"):
        list(TarReader(tmp_path))
