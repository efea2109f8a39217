"""The outer form: the same bytes for the same files, and hostile headers are refused."""

import re
import tarfile
import tracemalloc

import pytest
import zstandard

from fluency.archive import unpack
from fluency.archive.manifest import IMAGE, MANIFEST_NAME, MANIFEST_SCHEMA
from fluency.archive.pack import write_tar
from fluency.archive.unpack import unpacked
from fluency.common.errors import ArchiveError, UserError
from tests.archive.hostile import (
    FACTS,
    bomb,
    contents,
    manifest_bytes,
    ours,
    squeeze,
    tar_header,
    tar_of,
)


def refusal(path):
    """The sentence of the refusal."""
    with pytest.raises(ArchiveError) as error, unpacked(path):
        pass
    return str(error.value)


def test_other_programs_can_read_it(tmp_path):
    path = ours({"a" * 90 + "/" + "b" * 60: b"long", "c": b"short"}, tmp_path / "x.tar.zst")
    with (
        path.open("rb") as raw,
        tarfile.open(fileobj=zstandard.ZstdDecompressor().stream_reader(raw), mode="r|") as tar,
    ):
        found = [(one.name, one.size, one.mode, one.uid, one.mtime) for one in tar]
    assert found[1:] == [("a" * 90 + "/" + "b" * 60, 4, 0o644, 0, 0), ("c", 5, 0o644, 0, 0)]


NAMES = (
    *("/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a\\b", "a\x1bb", "naïve", "", ".hidden"),
    "/".join(["abcdefghi"] * 16),
    "a" * 101,
)


@pytest.mark.parametrize("name", NAMES)
def test_unsafe_name_is_refused(name, tmp_path):
    """By the writer, in a manifest, and in a header."""
    with pytest.raises(UserError, match="cannot be archived"):
        ours({name: b"x"}, tmp_path / "x")
    fact = {"files": {name: {"sha256": "0" * 64, "bytes": 1}}}
    write_tar(tmp_path / "y", {MANIFEST_NAME: manifest_bytes({**FACTS, **fact})})
    assert "does not fit the schema" in refusal(tmp_path / "y")
    if len(name) < 100 and name:
        said = refusal(squeeze(tmp_path / "z", tar_of([tar_header(name)])))
        assert "the manifest does not name" in said and "\x1b" not in said


@pytest.mark.parametrize("kind", [*b"123456SLKxg"])
def test_header_of_another_kind_is_refused(kind, tmp_path):
    """Some state a name, a link or attributes for the next file, of any size."""
    header = tar_header("a", (1 << 40) * (kind in b"LKxg"), type=bytes([kind]), linkname="/etc")
    assert "a is not a plain file" in refusal(squeeze(tmp_path / "x", tar_of([header])))


def _negative():
    block = bytearray(tar_header("a"))
    block[124:136] = b"\xff" * 12  # -1 in the base-256 form
    block[148:156] = b" " * 8
    block[148:155] = b"%06o\0" % sum(block)
    return bytes(block)


def _wide_window(path):
    form = zstandard.ZstdCompressionParameters.from_level(1, window_log=30)
    data = zstandard.ZstdCompressor(compression_params=form).compressobj()
    path.write_bytes(data.compress(b"".join(tar_of([]))) + data.flush())
    return path


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda p: squeeze(p, tar_of([tar_header("a") * 2], a=0)), "appears twice"),
        (_wide_window, "damaged, not an archive, or"),
        (lambda p: ours({}, p, schema_version=MANIFEST_SCHEMA + 1, later=True), "update this"),
        (lambda p: squeeze(p, [tar_header("a"), bytes(1024)]), "does not begin with a MANIFEST"),
        (lambda p: squeeze(p, tar_of([_negative()], a=0)), "a is not a plain file"),
        (lambda p: squeeze(p, tar_of([b"x" * 512], a=0)), "damaged, not an archive, or"),
        (lambda p: p, "damaged, not an archive, or"),
        (lambda p: p.parent, "damaged, not an archive, or"),
    ],
)
def test_another_form_is_refused(make, says, tmp_path):
    assert says in refusal(make(tmp_path / "x"))


def test_missing_file_and_edited_manifest_are_seen(tmp_path):
    head = contents(ours({"a": b"1", "b": b"2"}, tmp_path / "x"))[MANIFEST_NAME]
    edited = head.replace(b'"dirty": false', b'"dirty": true')
    write_tar(tmp_path / "y", {MANIFEST_NAME: edited, "a": b"1"})
    with unpacked(tmp_path / "y") as archive:
        first, lacking = map(str, archive.problems)
    assert first.startswith(MANIFEST_NAME) and lacking == "b: the archive does not hold it"


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"[" * 100_000, b"\xff"])
def test_manifest_that_is_not_one_is_refused(data, tmp_path):
    write_tar(tmp_path / "x", {MANIFEST_NAME: data})
    assert "MANIFEST" in refusal(tmp_path / "x")


def test_limits_of_files_and_bytes_hold(tmp_path, monkeypatch):
    path = bomb(tmp_path / "x", (1 << 30) + (1 << 20), "z")
    assert path.stat().st_size < 200_000
    tracemalloc.start()
    assert "its other files together more than 1,073,741,824" in refusal(path)
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()
    monkeypatch.setattr(unpack, "MAX_IMAGES", 1 << 20)
    said = refusal(bomb(tmp_path / "z", 1 << 22, f"{IMAGE}bash.tar"))
    assert "its images hold more than 1,048,576 bytes" in said


@pytest.mark.parametrize("keep", [0, 3, 20, 200, -20])
def test_cut_archive_is_refused(keep, tmp_path):
    path = ours({"a": b"some text " * 500}, tmp_path / "x")
    path.write_bytes(path.read_bytes()[:keep])
    said = refusal(path)
    assert "damaged" in said or "does not begin with a MANIFEST" in said


def recompressed(data, more=b"", *, checksum=True):
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return zstandard.ZstdCompressor(write_checksum=checksum).compress(plain + more)


OTHER_BYTES = {
    "last byte cut": lambda data: data[:-1],
    "byte behind the frame": lambda data: data + b"x",
    "second frame": lambda data: data + zstandard.compress(b"x"),
    "checksum flipped": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "no checksum": lambda data: recompressed(data, checksum=False),
    "byte behind the tar": lambda data: recompressed(data, b"x"),
    "zeros behind the tar": lambda data: recompressed(data, bytes(tarfile.RECORDSIZE)),
    "nothing": lambda data: b"",
}


@pytest.mark.parametrize("kind", OTHER_BYTES)
def test_file_that_is_not_one_whole_tar_in_one_frame_is_refused(kind, tmp_path):
    path = ours({"a": b"x"}, tmp_path / "x.tar.zst")
    path.write_bytes(recompressed(path.read_bytes()))
    with unpacked(path) as sound:
        assert sound.problems == []
    path.write_bytes(OTHER_BYTES[kind](path.read_bytes()))
    assert re.search("whole zstandard frame|behind the tar|cannot be unpacked", refusal(path))
