"""The runner's own reading of a tar: what tarfile writes comes out, anything odd is refused."""

import io
import tarfile

import pytest

from fluency.world import build_world
from tests.execution.worlds import SMALL, of_the_sandbox


@pytest.fixture(scope="module")
def tree():
    return of_the_sandbox("tree")


def packed(*members: tuple[str, bytes, bytes], form: int = tarfile.USTAR_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for name, kind, data in members:
            info = tarfile.TarInfo(name)
            info.type, info.size = kind, len(data)
            info.linkname = "elsewhere" if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


@pytest.mark.parametrize("seed", [11, 24, None])
def test_it_reads_what_tarfile_reads(tree, seed):
    data = (build_world(seed) if seed else SMALL).tar
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        wanted = [(m.name, m.mode, None if m.isdir() else archive.extractfile(m).read()) for m in archive]
    found = [(name.rstrip("/"), mode, data and bytes(data)) for name, mode, data in tree.members(data)]
    assert found == wanted


def test_long_names_sizes_and_empty_files(tree):
    name = "/".join(["folder" * 5] * 6) + "/file"
    data = packed((name, b"0", b"x" * 513), ("empty", b"0", b""), ("é", b"0", b"1"), ("d", b"5", b""))
    found = [(n, None if d is None else bytes(d)) for n, _, d in tree.members(data)]
    assert found == [(name, b"x" * 513), ("empty", b""), ("é", b"1"), ("d/", None)]
    assert tree.members(bytes(10240)) == []


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_only_files_and_folders(tree, kind):
    with pytest.raises(ValueError, match="no file and no folder: odd"):
        tree.members(packed(("odd", kind, b"")))


def test_what_is_damaged_is_refused(tree):
    whole = packed(("a", b"0", b"1" * 5000))
    for data in (b"X" + whole[1:], whole[:10], whole[:1024], whole[:5000], b""):
        with pytest.raises(ValueError, match="damaged"):
            tree.members(data)


@pytest.mark.parametrize("name", ["../out", "../rootling", "a/../../out", "/etc/out"])
def test_nothing_leaves_the_root(tree, name, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    if name.startswith("/"):
        tree.unpack(str(root), packed((name, b"0", b"x")), {})
        assert (root / "etc" / "out").read_bytes() == b"x"
    else:
        with pytest.raises(ValueError, match="reaches out"):
            tree.unpack(str(root), packed((name, b"0", b"x")), {})
    assert [path.name for path in tmp_path.iterdir()] == ["root"]
