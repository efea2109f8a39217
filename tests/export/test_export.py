"""The cells table for other programs: CSV with a data dictionary, Parquet with the same in its schema."""

import json
import sys
from pathlib import Path

import jsonschema
import pandas as pd
import pyarrow.parquet as parquet
import pytest

from fluency.archive.archived_study import read_archived_study
from fluency.archive.unpack import unpacked
from fluency.cli import main
from fluency.common.errors import UserError
from fluency.common.paths import ROOT
from fluency.core.table import COLUMNS, Row, read_table
from fluency.export import FORMATS, export_archive, export_study

EXAMPLE = next((ROOT / "example").glob("*.tar.zst"))
SMALL = max((ROOT / "tests/data/archives").glob("schema-1-*"))


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("exports")
    with unpacked(EXAMPLE) as files:
        view = read_archived_study(files).view()
        for format, into in (("csv", "csv"), ("parquet", "parquet"), ("parquet", "again")):
            export_study(view, "any", EXAMPLE.name, format, root / into)
    return root


def test_the_command_writes_the_table_and_its_dictionary(tmp_path, capsys):
    assert (
        main(
            ["export", "--format", "csv", "--archive", str(SMALL), "--into", str(tmp_path / "out")]
        )
        == 0
    )
    assert str(tmp_path / "out" / "cells.csv") in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"cells.csv", "datapackage.json"}
    told = json.loads((tmp_path / "out" / "datapackage.json").read_text(encoding="utf-8"))[
        "description"
    ]
    assert SMALL.name in told and "not proven by this export" in told


def test_every_column_is_described_and_every_value_is_of_its_type(written):
    package = json.loads((written / "csv" / "datapackage.json").read_text(encoding="utf-8"))
    (resource,) = package["resources"]
    fields = resource["schema"]["fields"]
    assert [field["name"] for field in fields] == COLUMNS and all(
        field["description"] for field in fields
    )
    frame = pd.read_csv(written / "csv" / resource["path"], dtype=str, keep_default_na=False)
    assert not frame.duplicated(resource["schema"]["primaryKey"]).any() and len(frame) == 400
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


def test_parquet_reads_back_as_the_same_table_with_unknown_kept_apart(written):
    frame, table = (
        pd.read_parquet(written / "parquet" / "cells.parquet"),
        read_table(written / "csv" / "cells.csv"),
    )
    # A text that is known to be empty is one in Parquet; CSV cannot tell it from an unknown one.
    texts = frame.select_dtypes("string").columns
    pd.testing.assert_frame_equal(
        frame.assign(**frame[texts].replace("", pd.NA)), table, check_dtype=False
    )
    assert (frame.commands == "").any() and not (
        frame.commands.isna() & frame.command.notna()
    ).any()
    assert str(frame.passed.dtype) == "boolean" and str(frame.trial.dtype) == "Int64"
    assert (
        frame.cost_usd.isna().sum() == table.cost_usd.isna().sum()
        and frame.failure_class.isna().any()
    )
    rates = frame.groupby(["model", "shell"]).passed.mean()
    assert rates[("qwen-1.5b", "bash")] == pytest.approx(0.11)


def test_parquet_says_what_each_column_means_and_where_it_is_from_in_the_same_bytes(written):
    schema = parquet.read_schema(written / "parquet" / "cells.parquet")
    told = {field.name: field.metadata[b"description"].decode() for field in schema}
    assert told == {name: field.description for name, field in Row.model_fields.items()}
    assert EXAMPLE.name in schema.metadata[b"origin"].decode()
    one, two = (written / name / "cells.parquet" for name in ("parquet", "again"))
    assert one.read_bytes() == two.read_bytes()


def test_a_format_that_is_not_there_is_a_sentence(capsys):
    assert main(["export", "--format", "vellum"]) == 2
    said = capsys.readouterr().err
    assert (
        "FORMAT=vellum" in said
        and all(name in said for name in FORMATS)
        and "FORMAT=inspect" in said
    )


def test_nothing_is_written_over(tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(UserError, match="something already"):
        export_archive(SMALL, "csv", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_without_pyarrow_the_way_to_get_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UserError, match="lacks pyarrow") as error:
        export_archive(SMALL, "parquet", tmp_path / "out")
    assert "make export FORMAT=parquet" in error.value.hint and not (tmp_path / "out").exists()


def test_a_damaged_archive_is_not_exported(tmp_path, capsys):
    data = bytearray(EXAMPLE.read_bytes())
    data[len(data) // 2] ^= 1
    damaged = tmp_path / EXAMPLE.name
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
    assert EXAMPLE.name in capsys.readouterr().err and not (tmp_path / "out").exists()
