"""What a hostile archive takes: refused at a declared limit, in little memory, with nothing left behind.

The same archives at their full size are measured in docs/evidence.md.
"""

import json
import os
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from fluency.archive import archived_study
from fluency.archive import untrusted_json as parsing
from fluency.archive.archived_study import MAX_CELLS, MAX_YAML_DEPTH, read_archived_study
from fluency.archive.manifest import MANIFEST_NAME, MAX_BYTES
from fluency.archive.replay import replay_archive
from fluency.archive.tar_format import tar_header
from fluency.archive.unpack import MAX_DOCUMENT, unpacked
from fluency.archive.untrusted_json import MAX_VALUES, parse_untrusted
from fluency.archive.verify import verify_archive
from fluency.common.canonical import canonical_json
from fluency.common.errors import ArchiveError, UserError
from fluency.common.files import pretty_json, sha256
from tests.archive.factory import archived, make, make_study
from tests.archive.hostile import FACTS, contents, rewritten, squeeze
from tests.archive.test_hostile_contents import sparse
from tests.archive.test_verify import find

MIB = 1 << 20


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("small")
    return archived(make(root, make_study(("stale-lockfiles",), trials=1)), root / "out")


def told_in_a_child(work: Callable[[], str]) -> tuple[str, int]:
    """What the work says in a process of its own, and by how many bytes that grew at most."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        try:
            before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
            said = work()
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            os.write(writer, json.dumps([said, most - before]).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        data = stream.read()
    os.waitpid(child, 0)
    said, grown = json.loads(data)
    return said, grown


def verified(path: Path) -> str:
    try:
        return "; ".join(map(str, verify_archive(path).problems))
    except UserError as error:
        return str(error)


def replayed(path: Path) -> str:
    try:
        return "; ".join(replay_archive(path).notes)
    except UserError as error:
        return str(error)


def put(name: str, data: bytes) -> Callable[[dict[str, bytes]], None]:
    return lambda files: files.update({find(files, name): data})


def many_cells(small: Path, out: Path) -> Path:
    study = json.loads(contents(small)["study.json"])
    model = study["models"][0]
    study |= {"trials": 100, "models": [model | {"alias": f"m{n}"} for n in range(MAX_CELLS // 200 + 1)]}
    change = put("study.json", pretty_json(study).encode())
    return rewritten(small, out, change, repair=True, study_sha256=sha256(canonical_json(study)))


def many_names(small: Path, out: Path) -> Path:
    """A manifest of names that are not there, one byte too long; the reader is to believe its header."""
    named = {f"absent{number}": {"bytes": 0, "sha256": "0" * 64} for number in range(1000)}
    data = json.dumps(FACTS | {"files": named}).encode().ljust(MAX_BYTES + 1)
    return squeeze(tar_header(MANIFEST_NAME, len(data)) + data + bytes(-len(data) % 512 + 1024), out / "x.tar.zst")


def large_record(small: Path, out: Path) -> Path:
    """A record one byte larger than what is read, whose bytes never need come."""
    files = contents(small)
    name = find(files, "results/executions/.*")
    manifest = files[MANIFEST_NAME]
    chunks = [tar_header(MANIFEST_NAME, len(manifest)), manifest, bytes(-len(manifest) % 512)]
    for other in sorted(files.keys() - {MANIFEST_NAME}):
        size = MAX_DOCUMENT + 1 if other == name else len(files[other])
        chunks += [tar_header(other, size), bytes(size) if other == name else files[other], bytes(-size % 512)]
    return squeeze(b"".join([*chunks, bytes(1024)]), out / small.name)


HOSTILE: dict[str, tuple[Callable[[Path, Path], Path], str]] = {
    "sparse": (lambda small, out: rewritten(small, out, put("worlds/11-.*/tree.tar", sparse(5 << 30)), repair=True),
        "big is neither file nor folder"),
    "record": (large_record, f"it is larger than {MAX_DOCUMENT:,} bytes"),
    "cells": (many_cells, f"cells; {MAX_CELLS:,} are read"),
    "names": (many_names, f"the manifest is larger than {MAX_BYTES:,} bytes"),
    "yaml": (
        lambda small, out: rewritten(
            small, out, put("tasks/.*/task.yaml", b"{b: x, a: " * 8_000 + b"x" + b"}" * 8_000), repair=True
        ),
        f"it nests deeper than {MAX_YAML_DEPTH} levels",
    ),
    "values": (
        lambda small, out: rewritten(
            small, out, put("results/executions/.*", b"[" + b"[]," * MAX_VALUES + b"[]]\n"), repair=True
        ),
        f"it holds more than {MAX_VALUES:,} values",
    ),
}  # fmt: skip


@pytest.mark.parametrize("read", [verified, replayed])
@pytest.mark.parametrize("kind", HOSTILE)
def test_it_ends_at_a_declared_limit_in_little_memory_and_leaves_nothing(kind, read, small, tmp_path, monkeypatch):
    make_hostile, limit = HOSTILE[kind]
    path = make_hostile(small, tmp_path)
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    said, grown = told_in_a_child(lambda: read(path))
    assert limit in said
    assert grown < 192 * MIB, f"{grown / MIB:.0f} MiB"
    assert list(folder.iterdir()) == []


def test_the_measure_sees_what_is_taken():
    said, grown = told_in_a_child(lambda: str(len(b"x" * (256 * MIB))))
    assert said == str(256 * MIB) and grown > 250 * MIB


def test_values_are_counted_outside_of_strings_only(monkeypatch):
    monkeypatch.setattr(parsing, "MAX_VALUES", 6)
    for text in (r'["\\", "a,[{\",,,,,,,,,,,,", "\\\","]', '{"a,,,,,,,,,": [1, 2, 3]}'):
        assert parse_untrusted(text.encode(), "x") == json.loads(text)
    for text in ("[1,2,3,4,5,6,7]", "[[[[[[[]]]]]]]", r'["\\",1,2,3,4,5,"\","]'):
        with pytest.raises(ArchiveError, match="more than 6 values"):
            parse_untrusted(text.encode(), "x")


@pytest.mark.parametrize(
    ("limit", "says"),
    [
        ("MAX_TREES", "tree.tar hold"),
        ("MAX_WORLD_DOCUMENTS", "ages.json hold"),
        ("MAX_TABLE", "hold more than 100 char"),
    ],
)
def test_worlds_and_rows_are_bounded_together(limit, says, small, monkeypatch):
    def read() -> int:
        with unpacked(small) as files:
            study = read_archived_study(files)
            assert len(study.index) == 1
            return len([study.row(cell, study.records(cell)) for cell in study.cells])

    assert read() == 2
    monkeypatch.setattr(archived_study, limit, 100)
    with pytest.raises(ArchiveError, match=says):
        read()
