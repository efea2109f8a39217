"""`make export`: one table of formats, and what a person gets wrong."""

import pytest

from fluency.cli import main
from fluency.common.errors import UserError
from fluency.common.paths import ROOT
from fluency.export.formats import FORMATS, Format, export
from fluency.export.source import Source

EXAMPLE = next((ROOT / "example").glob("*.tar.zst"))
SOURCE = Source("any", "nowhere", None, [], [], None, None)


def test_a_format_that_is_not_there_is_a_sentence(capsys):
    assert main(["export", "--format", "vellum"]) == 2
    said = capsys.readouterr().err
    assert "FORMAT=vellum" in said and all(name in said for name in FORMATS)


def test_nothing_is_written_over(tmp_path, monkeypatch):
    monkeypatch.setitem(FORMATS, "any", Format("a test's", "fluency.export.none"))
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(UserError, match="something already"):
        export("any", SOURCE, tmp_path)


def test_a_package_that_only_the_format_needs_is_named_with_the_way_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(FORMATS, "any", Format("a test's", "no_such_package", "interop"))
    with pytest.raises(UserError, match="lacks no_such_package") as error:
        export("any", SOURCE, tmp_path / "out")
    assert "envs/interop.lock" in error.value.hint and not (tmp_path / "out").exists()


def test_a_damaged_archive_is_not_exported(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(FORMATS, "any", Format("a test's", "fluency.export.none"))
    data = bytearray(EXAMPLE.read_bytes())
    data[len(data) // 2] ^= 1
    damaged = tmp_path / EXAMPLE.name
    damaged.write_bytes(data)
    assert main(["export", "--format", "any", "--archive", str(damaged), "--into", str(tmp_path / "out")]) == 2
    assert EXAMPLE.name in capsys.readouterr().err and not (tmp_path / "out").exists()
