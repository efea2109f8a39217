"""Every record of the committed archives is of the published schemas; an archive is an RO-Crate, and the citation is valid."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
import yaml
from rocrate.rocrate import ROCrate

from fluency import __version__
from fluency.archive.crate import AUTHORS, CRATE_FILE, LICENSE, PROJECT
from fluency.common.paths import ROOT
from fluency.core.table import COLUMNS, Row
from tests.archive.factory import FACTS
from tests.archive.fixture import FOLDER as ARCHIVES
from tests.archive.hostile import contents
from tools.pages.schemas import FOLDER, SCHEMAS, schema_of

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
    kinds = {
        name: {f.get("type") for f in found.get("anyOf", [found])}
        for name, found in properties.items()
    }

    def value(name: str, text: str) -> object:
        if text == "":
            return None
        return text if "string" in kinds[name] else json.loads(text.lower())

    checked, table = (
        validator("row"),
        next(data for name, data in files[EXAMPLE.name].items() if "cells.csv" in name),
    )
    rows = list(csv.DictReader(io.StringIO(table.decode())))
    assert len(rows) == 400
    for row in rows:
        checked.validate({name: value(name, text) for name, text in row.items()})


def test_a_damaged_record_is_of_no_schema(files):
    score = next(
        json.loads(data)
        for name, data in files[EXAMPLE.name].items()
        if name.startswith("results/scores/")
    )
    lacking = {key: value for key, value in score.items() if key != "request_key"}
    damaged = [
        score | {"more": 1},
        lacking,
        score | {"request_key": "0" * 63},
        score | {"failure_class": "bad-luck"},
    ]
    assert [*map(validator("score").is_valid, [score, *damaged])] == [
        True,
        False,
        False,
        False,
        False,
    ]


CFF = json.loads(
    (ROOT / "tests/data/citation-file-format-1.2.0.schema.json").read_text(encoding="utf-8")
)
"""The format's own schema (CC-BY-4.0, the Citation File Format project), as cffconvert 2.0.0 ships it."""


def ids(value: object) -> Iterator[str]:
    for part in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from (
            [value["@id"]] if isinstance(value, dict) and set(value) == {"@id"} else ids(part)
        )


@pytest.fixture(scope="module")
def unpacked_crate(archive, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("crate")
    for name, data in contents(archive).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def test_the_library_of_the_format_reads_it_and_every_part_is_there(unpacked_crate):
    crate = ROCrate(unpacked_crate)
    assert crate.root_dataset["name"] == "Agent Shell Fluency Eval: the study made-up"
    assert (
        crate.root_dataset["datePublished"] == FACTS["utc_date"] and crate.root_dataset["license"]
    )
    assert crate.metadata["conformsTo"] == "https://w3id.org/ro/crate/1.1"
    parts = {entity.id: entity.type for entity in crate.root_dataset["hasPart"]}
    assert {"results/made-up/cells.csv", "study.json", "worlds/"} <= parts.keys()
    for name, kind in parts.items():
        assert (
            (unpacked_crate / name).is_dir()
            if kind == "Dataset"
            else (unpacked_crate / name).is_file()
        ), name
    assert [entity["name"] for entity in crate.root_dataset["variableMeasured"]] == COLUMNS
    assert [model["name"] for model in crate.root_dataset["mentions"]] == [
        "qwen2.5-coder-0.5b-instruct"
    ]


def test_every_entity_that_is_referred_to_is_described(unpacked_crate):
    """RO-Crate 1.1 is flat: entities refer to each other by id, and each stands in the graph once."""
    graph = json.loads((unpacked_crate / CRATE_FILE).read_bytes())["@graph"]
    described = [entity["@id"] for entity in graph]
    assert len(described) == len(set(described))
    referred = {name for entity in graph for value in entity.values() for name in ids(value)}
    assert referred - set(described) == {"https://w3id.org/ro/crate/1.1"}
    assert all(
        entity["@type"] and (entity.get("description") or entity.get("name"))
        for entity in graph[1:]
    )


def test_the_projects_citation_is_valid_and_says_the_same():
    # As every reader of the format does: a day is text, whatever YAML makes of it.
    document = yaml.load((ROOT / "CITATION.cff").read_bytes(), yaml.BaseLoader)
    validator = jsonschema.Draft7Validator(CFF, format_checker=jsonschema.FormatChecker())
    validator.validate(document)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(document | {"cff-version": "0"})
    assert (document["title"], document["license"], document["version"]) == (
        PROJECT,
        LICENSE,
        __version__,
    )
    assert document["authors"] == [{"name": AUTHORS}] and AUTHORS in (ROOT / "LICENSE").read_text(
        encoding="utf-8"
    )
