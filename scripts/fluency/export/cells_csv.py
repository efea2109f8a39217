"""The cells table as CSV with its data dictionary, a Data Package (Frictionless, version 1) that names each column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fluency.common.files import pretty_json, write_atomic
from fluency.core.table import Row, write_table
from fluency.export.source import Source

TABLE, PACKAGE = "cells.csv", "datapackage.json"


def write(source: Source, folder: Path) -> list[Path]:
    """Write `cells.csv`, byte for byte the study's own table, and `datapackage.json`; empty fields are unknown."""
    write_table(folder / TABLE, source.rows())
    write_atomic(folder / PACKAGE, pretty_json(data_package(source)))
    return [folder / TABLE, folder / PACKAGE]


def data_package(source: Source) -> dict[str, Any]:
    """The package's descriptor: the table, its key, and of each column type, meaning and what values it may take."""
    return {
        "profile": "tabular-data-package",
        "name": source.study.study,
        "title": f"Cells of the study {source.study.study}",
        "description": f"One row a cell: model, shell, task, trial. From {source.origin}.",
        "resources": [
            {
                "profile": "tabular-data-resource",
                "name": "cells",
                "path": TABLE,
                "format": "csv",
                "mediatype": "text/csv",
                "encoding": "utf-8",
                "schema": {
                    "fields": fields(),
                    "primaryKey": ["model", "shell", "task", "trial"],
                    "missingValues": [""],
                },
            }
        ],
    }


def fields() -> list[dict[str, Any]]:
    """The columns of the table in order, as fields of a Table Schema."""
    schema = Row.model_json_schema(mode="validation")
    return [_field(name, found, name in schema["required"]) for name, found in schema["properties"].items()]


def _field(name: str, found: dict[str, Any], required: bool) -> dict[str, Any]:
    kind = next(form for form in found.get("anyOf", [found]) if form.get("type") != "null")
    field: dict[str, Any] = {"name": name, "type": kind["type"], "description": found["description"]}
    if kind["type"] == "boolean":
        field |= {"trueValues": ["True"], "falseValues": ["False"]}
    constraints = ({"required": True} if required else {}) | ({"enum": kind["enum"]} if "enum" in kind else {})
    return field | ({"constraints": constraints} if constraints else {})
