"""A hostile archive is refused at a declared limit, in little memory, and leaves nothing behind.

The same archives at their full size are measured in docs/evidence.md.
"""

import json
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from fluency.archive import archived_study, unpack
from fluency.archive.archived_study import (
    MAX_CELLS,
    MAX_WORLDS,
    MAX_YAML_BYTES,
    MAX_YAML_DEPTH,
    read_archived_study,
)
from fluency.archive.manifest import MANIFEST_NAME
from fluency.archive.unpack import MAX_DOCUMENT, MAX_MANIFEST, unpacked
from fluency.archive.verify import verify_archive
from fluency.common.errors import ArchiveError, UserError
from fluency.common.files import pretty_json
from fluency.common.paths import ROOT
from fluency.core import untrusted_json as parsing
from fluency.core.config_files import read_yaml
from fluency.core.untrusted_json import MAX_KEYS, MAX_VALUES, parse_untrusted
from tests.archive.hostile import FACTS, contents, replace_file, rewritten, squeeze, tar_header
from tests.archive.test_hostile_contents import sparse

MIB = 1 << 20


def verified(path):
    try:
        return "; ".join(map(str, verify_archive(path).altered))
    except UserError as error:
        return str(error)


def verified_and_measured(path):
    """What verification says, and by how many bytes its process grew at most."""
    before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    said = verified(path)
    return said, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before


def models(count, trials=1):
    """An archive whose study has this number of further models, of which nothing was measured."""

    def change(path, out):
        study = json.loads(contents(path)["study.json"])
        study["trials"] = trials
        study["models"] += [study["models"][0] | {"alias": f"m{n}"} for n in range(count)]
        return rewritten(path, out, replace_file("study.json", pretty_json(study).encode()))

    return change


def manifest_alone(data, out):
    header = tar_header(MANIFEST_NAME, len(data))
    return squeeze(out / "x.tar.zst", [header, data, bytes(-len(data) % 512 + 1024)])


def many_names(small_archive, out):
    """A manifest, one byte too long, of names that are not there."""
    named = {f"absent{number}": {"bytes": 0, "sha256": "0" * 64} for number in range(1000)}
    return manifest_alone(
        json.dumps(FACTS | {"files": named}).encode().ljust(MAX_MANIFEST + 1), out
    )


def many_facts(small_archive, out):
    """A manifest in which no file has a hash."""
    named = {f"a{number}": {} for number in range(200_000)}
    return manifest_alone(json.dumps(FACTS | {"files": named}).encode(), out)


def edited(name, data):
    return lambda path, out: rewritten(path, out, replace_file(name, data))


EXECUTIONS = "results/executions/.*"
TASK = "tasks/.*/task.yaml"
# fmt: off
HOSTILE = {
    "sparse": (edited("worlds/11-.*/tree.tar", sparse(5 << 30)), "big is neither file nor folder"),
    "record": (edited(EXECUTIONS, bytes(MAX_DOCUMENT + 1)), f"larger than {MAX_DOCUMENT:,} bytes"),
    "cells": (models(MAX_CELLS // 200 + 1, 100), f"and {MAX_CELLS:,} are read"),
    "names": (many_names, f"of at most {MAX_MANIFEST:,} bytes"),
    "yaml": (
        edited(TASK, b"{b: x, a: " * 5_000 + b"x" + b"}" * 5_000),
        f"nests deeper than {MAX_YAML_DEPTH} levels"),
    "large yaml": (
        edited(TASK, b"#" * (MAX_YAML_BYTES + 1)), f"larger than {MAX_YAML_BYTES:,} bytes"),
    "pattern": (
        edited(TASK, b"structure: {line: '" + b"[a-z]?" * 7_000 + b"'}"),
        "tasks/stale-lockfiles/task.yaml"),
    "alias": (edited(TASK, b"a: &a [x, x]\nb: [*a, *a]\n"), "it holds an alias, or"),
    "strings": (
        edited(EXECUTIONS, b'"",' * 10 * MAX_VALUES), f"it holds more than {MAX_VALUES:,} values"),
    "keys": (
        edited(EXECUTIONS, b"{%s}" % b",".join(b'"%d":0' % n for n in range(MAX_VALUES // 2 + 1))),
        f"it holds more than {MAX_VALUES:,} values and keys"),
    "errors": (edited(EXECUTIONS, b'{"runs":[' + b"{}," * 300_000 + b"{}]}"), "0.seed: Field req"),
    "errors in parts": (
        edited(EXECUTIONS, b'{"runs":[%s{}]}' % (b'{%s},' % b",".join(
            b'"%d":0' % n for n in range(90)) * 4_000)), "0.seed: Field required"),
    "errors in a list": (
        edited(EXECUTIONS, b'{"extraction":{"notes":[%s1]}}' % (b"1," * 300_000)), "a valid string"),
    "facts": (many_facts, "a0.sha256: Field required"),
    "unknown keys": (
        edited(EXECUTIONS, b'{"runs":[{%s}]}' % b",".join(b'"%d":0' % n for n in range(300_000))),
        f"more than {MAX_KEYS} keys"),
    "values": (
        edited(EXECUTIONS, b"[" + b"[]," * MAX_VALUES + b"[]]\n"),
        f"it holds more than {MAX_VALUES:,} values"),
}
# fmt: on


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_archive_ends_at_declared_limit(kind, small_archive, tmp_path, monkeypatch):
    make_hostile, limit = HOSTILE[kind]
    path = make_hostile(small_archive, tmp_path)
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    began = time.monotonic()
    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        said, grown = pool.submit(verified_and_measured, path).result()
    assert limit in said and time.monotonic() - began < 30
    assert grown < 192 * MIB, f"{grown / MIB:.0f} MiB"
    assert list(folder.iterdir()) == []


def test_page_states_the_limits():
    gib, more = unpack.MAX_DOCUMENTS >> 30, unpack.MAX_IMAGES >> 30
    said = f"{gib} GiB of documents, {gib + more} GiB with the images, {MAX_CELLS:,} cells, "
    said += f"{archived_study.MAX_TASKS} tasks, "
    said += f"{archived_study.MAX_VALUES_IN_ALL // 10**6} million values"
    assert said in " ".join((ROOT / "docs/archive.md").read_text().split())


def test_integer_of_base_60_is_text(tmp_path):
    """Reading one takes time that grows with the square of its length."""
    (tmp_path / "x.yaml").write_text("a: 1:30\nb: 12\n")
    assert read_yaml(tmp_path / "x.yaml") == {"a": "1:30", "b": 12}


def test_parse_untrusted_counts_values_outside_strings(monkeypatch):
    monkeypatch.setattr(parsing, "MAX_VALUES", 6)
    for text in (r'["\\", "a,[{\",,,,,,,,,,,,", "\\\","]', '{"a,,,,,,,,,": [1, 2, 3]}'):
        assert parse_untrusted(text.encode(), "x") == json.loads(text)
    for text in ("[1,2,3,4,5,6,7]", "[[[[[[[]]]]]]]", r'["\\",1,2,3,4,5,"\","]'):
        with pytest.raises(ArchiveError, match="more than 6 values"):
            parse_untrusted(text.encode(), "x")


@pytest.mark.parametrize(
    "text", ["[NaN]", f"[{'9' * 5000}]", '{"a": 1, "a": 2}', "[" * 300 + "]" * 300]
)
def test_parse_untrusted_refuses_what_programs_read_differently(text):
    with pytest.raises(ArchiveError, match="not JSON that every program reads alike"):
        parse_untrusted(text.encode(), "x")


def test_values_worlds_and_rows_are_bounded_together(small_archive, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(archived_study, "MAX_VALUES_IN_ALL", 100)
        assert "hold more than 100 values" in verified(small_archive)
    with unpacked(small_archive) as files:
        study = read_archived_study(files)
        cell = study.cells[0]
        assert study.row(cell, study.records(cell)).task and len(study.index) == 1
        counted = study._values
        assert study.records(cell).generation and study._values == counted, "read again, not more"
        del study.index
        monkeypatch.setitem(MAX_WORLDS, "tree.tar", 100)
        with pytest.raises(ArchiveError, match=r"tree\.tar hold"):
            assert study.index
        monkeypatch.setattr(archived_study, "MAX_TABLE", 100)
        with pytest.raises(ArchiveError, match="hold more than 100 char"):
            study.row(cell, study.records(cell))
