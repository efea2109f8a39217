"""The cells table for other programs: CSV with a data dictionary."""

import json

import jsonschema
import pandas as pd
import pytest

from fluency.cli import main
from fluency.core.table import COLUMNS, OF_TURNS
from fluency.export import FORMATS
from tests.archive.factory import archived, make, make_study


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """The archive of sixteen cells, half of which passed."""
    root = tmp_path_factory.mktemp("packed")
    return archived(make(root, make_study()), root / "out")


def export(archive, folder):
    return main(["export", "--format", "csv", "--archive", str(archive), "--into", str(folder)])


def test_export_writes_table_and_dictionary(packed, tmp_path, capsys):
    folder = tmp_path / "out"
    assert export(packed, folder) == 0
    assert str(folder / "cells.csv") in capsys.readouterr().out
    assert {path.name for path in folder.iterdir()} == {"cells.csv", "datapackage.json"}
    package = json.loads((folder / "datapackage.json").read_text())
    assert packed.name in package["description"]
    assert "PROVEN" in package["description"]
    (resource,) = package["resources"]
    fields = resource["schema"]["fields"]
    assert [field["name"] for field in fields] == [n for n in COLUMNS if n not in OF_TURNS]
    assert all(field["description"] for field in fields)
    frame = pd.read_csv(folder / resource["path"], dtype=str, keep_default_na=False)
    assert not frame.duplicated(resource["schema"]["primaryKey"]).any() and len(frame) == 16
    for field in fields:
        values = [value for value in frame[field["name"]] if value != ""]
        rule = field.get("constraints", {})
        if field["type"] == "boolean":
            assert set(values) <= {*field["trueValues"], *field["falseValues"]}
        elif field["type"] != "string":
            items = {"type": "array", "items": {"type": field["type"]}}
            jsonschema.validate([json.loads(value) for value in values], items)
        assert set(values) <= set(rule.get("enum", values))
        assert not rule.get("required") or len(values) == len(frame)


def test_export_says_that_nothing_is_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("fluency.core.loaded_study.RESULTS", tmp_path)
    assert main(["export", "--format", "csv", "--into", str(tmp_path / "out")]) == 0
    assert "Nothing of the study default is measured" in capsys.readouterr().err


def test_export_refuses_unknown_format(capsys):
    assert main(["export", "--format", "vellum"]) == 2
    said = capsys.readouterr().err
    assert all(words in said for words in ("FORMAT=vellum", "FORMAT=inspect", *FORMATS))


def test_export_refuses_full_folder_and_damaged_archive(packed, tmp_path, capsys):
    data = bytearray(packed.read_bytes())
    data[len(data) // 2] ^= 1
    damaged = tmp_path / packed.name
    damaged.write_bytes(data)
    assert export(packed, tmp_path) == 2 and "something already" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [damaged]
    assert export(damaged, tmp_path / "out") == 2
    assert packed.name in capsys.readouterr().err and not (tmp_path / "out").exists()
