"""docs/schemas/ and the tables of docs/data.md, from the models of the records.

A schema is JSON Schema 2020-12 as pydantic states it. What it cannot state (a known shell, a time
that exists, that the bytes are the one form this project writes) `make verify` checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fluency.archive.archived_study import ImageFile
from fluency.archive.manifest import Manifest
from fluency.common.files import pretty_json
from fluency.common.paths import ROOT
from fluency.core.described import Described
from fluency.core.provenance import Provenance
from fluency.core.records import Answer, Control, Execution, Generation, Score
from fluency.core.schema import RECORD_SCHEMA, FrozenModel
from fluency.core.study import Study
from fluency.core.table import Row
from fluency.core.tasks import Task
from tools.pages import filled

FOLDER, PAGE = "docs/schemas", "docs/data.md"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
SCHEMAS: dict[str, tuple[type[FrozenModel], str]] = {
    "manifest": (Manifest, "`MANIFEST.json`"),
    "study": (Study, "`study.json`"),
    "task": (Task, "`tasks/<id>/task.yaml`, read as YAML"),
    "answer": (Answer, "`answer` in `answers/<first two digits>/<request hash>.json`"),
    "generation": (Generation, "`results/generations/<cell>.json`"),
    "execution": (Execution, "`results/executions/<cell>.json`"),
    "score": (Score, "`results/scores/<cell>.json`"),
    "row": (Row, "a row of `results/<study>/cells.csv`, empty fields being null"),
    "provenance": (Provenance, "`results/<study>/provenance.json`"),
    "control": (Control, "`results/<study>/control.json`"),
    "image": (ImageFile, "`results/images/<shell>.json`"),
}
"""Name of a schema -> its model, and the files that are of it."""


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of a kind of record, of its present version."""
    model, _ = SCHEMAS[name]
    head = {"$schema": DIALECT, "$id": f"urn:agent-shell-fluency-eval:{name}:{RECORD_SCHEMA}"}
    return head | model.model_json_schema(schema_generator=Described)


def columns() -> Iterator[tuple[str, str, str]]:
    """Name, type and meaning of each column of the table, in order."""
    kinds = {"string": "text", "integer": "whole number", "boolean": "True or False"}
    for name, found in schema_of("row")["properties"].items():
        forms = [form["type"] for form in found.get("anyOf", [found]) if form.get("type") != "null"]
        yield name, kinds.get(forms[0], forms[0]), found["description"]


def schema_list() -> str:
    """A table of the schemas as Markdown."""
    rows = [
        f"| [{name}](schemas/{name}.schema.json) | {where} |"
        for name, (_, where) in SCHEMAS.items()
    ]
    return "\n".join(["| schema | what is of it |", "|---|---|", *rows])


def dictionary() -> str:
    """The data dictionary as Markdown."""
    rows = [f"| `{name}` | {kind} | {text} |" for name, kind, text in columns()]
    return "\n".join(["| column | type | meaning |", "|---|---|---|", *rows])


def pages() -> dict[str, str]:
    """Every schema, and the page with its tables."""
    made = {f"{FOLDER}/{name}.schema.json": pretty_json(schema_of(name)) for name in SCHEMAS}
    page = filled((ROOT / PAGE).read_text(encoding="utf-8"), "schemas", schema_list())
    return made | {PAGE: filled(page, "columns", dictionary())}
