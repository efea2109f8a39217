"""The cells table for other programs: CSV with a data dictionary."""

import json
from pathlib import Path

import jsonschema
import pandas as pd
import pytest

from fluency.archive.archived_study import read_archived_study
from fluency.archive.unpack import unpacked
from fluency.cli import main
from fluency.common.errors import UserError
from fluency.core.table import COLUMNS
from fluency.export import FORMATS, export_archive, export_study
from tests.archive.factory import archived, make, make_study


@pytest.fixture(scope="module")
def packed(tmp_path_factory) -> Path:
    """The archive of sixteen cells, half of which passed."""
    root = tmp_path_factory.mktemp("packed")
    return archived(make(root, make_study()), root / "out")


@pytest.fixture(scope="module")
def written(packed, tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("exports")
    with unpacked(packed) as files:
        export_study(read_archived_study(files).view(), "any", packed.name, "csv", root / "csv")
    return root


def test_export_writes_table_and_dictionary(packed, tmp_path, capsys):
    assert (
        main(
            ["export", "--format", "csv", "--archive", str(packed), "--into", str(tmp_path / "out")]
        )
        == 0
    )
    assert str(tmp_path / "out" / "cells.csv") in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"cells.csv", "datapackage.json"}
    origin = json.loads((tmp_path / "out" / "datapackage.json").read_text(encoding="utf-8"))[
        "description"
    ]
    assert packed.name in origin and "not proven by this export" in origin


def test_dictionary_describes_columns_and_types(written):
    package = json.loads((written / "csv" / "datapackage.json").read_text(encoding="utf-8"))
    (resource,) = package["resources"]
    fields = resource["schema"]["fields"]
    assert [field["name"] for field in fields] == COLUMNS and all(
        field["description"] for field in fields
    )
    frame = pd.read_csv(written / "csv" / resource["path"], dtype=str, keep_default_na=False)
    assert not frame.duplicated(resource["schema"]["primaryKey"]).any() and len(frame) == 16
    for field in fields:
        values = [value for value in frame[field["name"]] if value != ""]
        rule = {"type": field["type"]} | (
            {"enum": e} if (e := field.get("constraints", {}).get("enum")) else {}
        )
        if field["type"] == "boolean":
            assert set(values) <= {*field["trueValues"], *field["falseValues"]}
        elif field["type"] != "string":
            jsonschema.validate(
                [json.loads(value) for value in values], {"type": "array", "items": rule}
            )
        elif "enum" in rule:
            assert set(values) <= set(rule["enum"])
        assert not field.get("constraints", {}).get("required") or len(values) == len(frame)


def test_export_refuses_unknown_format(capsys):
    assert main(["export", "--format", "vellum"]) == 2
    said = capsys.readouterr().err
    assert (
        "FORMAT=vellum" in said
        and all(name in said for name in FORMATS)
        and "FORMAT=inspect" in said
    )


def test_export_refuses_full_folder(packed, tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(UserError, match="something already"):
        export_archive(packed, "csv", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_export_refuses_damaged_archive(packed, tmp_path, capsys):
    data = bytearray(packed.read_bytes())
    data[len(data) // 2] ^= 1
    damaged = tmp_path / packed.name
    damaged.write_bytes(data)
    assert (
        main(
            [
                "export",
                "--format",
                "csv",
                "--archive",
                str(damaged),
                "--into",
                str(tmp_path / "out"),
            ]
        )
        == 2
    )
    assert packed.name in capsys.readouterr().err and not (tmp_path / "out").exists()
