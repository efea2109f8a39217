"""Every record of the committed archives is of the published schemas."""

import csv
import io
import json
import re
import subprocess
import sys

import jsonschema
import pytest

from fluency.common.paths import ROOT
from fluency.core.table import Row
from tests.archive.fixture import FOLDER as ARCHIVES
from tests.archive.hostile import contents
from tools.pages.schemas import FOLDER, PAGE, SCHEMAS, schema_of

(EXAMPLE,) = (ROOT / "example").glob("*.tar.zst")
PLACES = {
    "manifest": r"MANIFEST\.json", "study": r"study\.json", "generation": r"results/generations/.*",
    "execution": r"results/executions/.*", "score": r"results/scores/.*",
    "provenance": r"results/[^/]+/provenance\.json", "image": r"results/image\.json", "answer": r"answers/.*",
}  # fmt: skip


def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(
        json.loads((ROOT / FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))
    )


@pytest.fixture(scope="module")
def files() -> dict[str, dict[str, bytes]]:
    newest = max(ARCHIVES.glob("schema-*"))
    return {path.name: contents(path) for path in (EXAMPLE, newest)}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_valid_and_allows_no_other_key(name):
    jsonschema.Draft202012Validator.check_schema(schema_of(name))
    assert schema_of(name)["additionalProperties"] is False


def test_every_column_has_a_description():
    assert all(field.description for field in Row.model_fields.values())


@pytest.mark.parametrize("name", PLACES)
def test_every_record_of_the_committed_archives_is_of_its_schema(name, files):
    checked, found = validator(name), 0
    for held in files.values():
        for path, data in held.items():
            if re.fullmatch(PLACES[name], path):
                value = json.loads(data)
                if name == "provenance" and "schema_version" not in value:
                    continue  # schema 1, which is read in another form
                checked.validate(value["answer"] if name == "answer" else value)
                found += 1
    assert found


def test_every_row_of_the_example_is_of_its_schema(files):
    properties = schema_of("row")["properties"]
    kinds = {name: {f.get("type") for f in found.get("anyOf", [found])} for name, found in properties.items()}

    def value(name: str, text: str) -> object:
        if text == "":
            return None
        return text if "string" in kinds[name] else json.loads(text.lower())

    checked, table = validator("row"), next(data for name, data in files[EXAMPLE.name].items() if "cells.csv" in name)
    rows = list(csv.DictReader(io.StringIO(table.decode())))
    assert len(rows) == 400
    for row in rows:
        checked.validate({name: value(name, text) for name, text in row.items()})


DAMAGES = {
    "an unknown key": lambda record: record | {"more": 1},
    "a key that is missing": lambda record: {key: value for key, value in record.items() if key != "request_key"},
    "a digest of another form": lambda record: record | {"request_key": "0" * 63},
    "another class of failure": lambda record: record | {"failure_class": "bad-luck"},
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_record_is_of_no_schema(damage, files):
    score = next(json.loads(data) for name, data in files[EXAMPLE.name].items() if name.startswith("results/scores/"))
    assert validator("score").is_valid(score) and not validator("score").is_valid(DAMAGES[damage](score))


def test_the_example_on_the_page_prints_the_headline():
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / PAGE).read_text(encoding="utf-8"), re.S)
    assert len(code.splitlines()) <= 15
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    printed = [line.split() for line in done.stdout.splitlines()[2:]]
    report = (ROOT / "example" / "report.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| (qwen-\S+) +\| +200/200 \| +([\d.]+) %.*?\| +([\d.]+) %.*?\| +(\S+) \|", report, re.M)
    assert len(told) == 2 and printed == [[*line[:3], line[3].replace("−", "-")] for line in told]
