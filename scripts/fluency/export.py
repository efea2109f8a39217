"""A study's cells table for other programs: CSV with a data dictionary (Data Package).

`FORMATS` takes further writers: `fluency_inspect.logs` adds Inspect AI's logs, which need another
environment.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fluency.archive.manifest import SUFFIX
from fluency.archive.unpack import unpacked
from fluency.archive.verify import verified_view
from fluency.common.errors import UserError
from fluency.common.files import pretty_json, write_atomic
from fluency.common.paths import ROOT
from fluency.common.terminal import log_line, print_lines
from fluency.core.described import Described
from fluency.core.loaded_study import LoadedStudy
from fluency.core.study import Cell, Study
from fluency.core.study_view import StudyView
from fluency.core.table import Row, columns_of, write_table

EXPORTS = ROOT / "exports"
CSV, PACKAGE = "cells.csv", "datapackage.json"


def main(name: str, archive: Path | None, files: Sequence[str], into: Path | None) -> None:
    """Print the names of the files that an export in the format `name` wrote."""
    if archive and files:
        raise UserError("two studies are named", where="ARCHIVE, CONFIG", hint="name one of them")
    if archive:
        written = export_archive(archive, name, into)
    else:
        loaded = LoadedStudy(None, files)
        study = loaded.study.study
        origin = f"the study {study} as it stands"
        written = export_study(loaded.view(), study, origin, name, into)
    print_lines(map(str, written))


def export_archive(archive: Path, format: str, into: Path | None) -> list[Path]:
    """Export the study of an archive, as this checkout recomputes it; ArchiveError if altered."""
    with unpacked(archive) as files:
        view, report = verified_view(files)
        origin = f"{archive.name}, SHA-256 {files.sha256}, {report.verdict()}"
        return export_study(view, archive.name.removesuffix(SUFFIX), origin, format, into)


def export_study(
    view: StudyView, name: str, origin: str, format: str, into: Path | None
) -> list[Path]:
    """Write a study in a format; the files written.

    Args:
        name: the study's, in paths.
        origin: says where it is from.
        into: an empty folder; else one below `exports/`.
    """
    if format not in FORMATS:
        hint = f"there are: {', '.join(FORMATS)}; and inspect by `make export FORMAT=inspect`"
        raise UserError("unknown format", where=f"FORMAT={format}", hint=hint)
    folder = into or EXPORTS / name / format
    check_empty(folder)
    return FORMATS[format](view, name, origin, folder)


def check_empty(folder: Path) -> None:
    """UserError if a path to write to is a file, or a folder with files."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        hint = "remove it, or name another with INTO="
        raise UserError("there is something already", where=str(folder), hint=hint)


def write_csv(view: StudyView, name: str, origin: str, folder: Path) -> list[Path]:
    """Write `cells.csv`, byte for byte the study's own table, and `datapackage.json`."""
    rows = view.rows()
    if not any(row.status == "measured" for row in rows):
        log_line(f"Nothing of the study {view.study.study} is measured: no row has a result.")
    write_table(folder / CSV, rows)
    write_atomic(folder / PACKAGE, pretty_json(data_package(view.study, origin)))
    return [folder / CSV, folder / PACKAGE]


FORMATS: dict[str, Callable[[StudyView, str, str, Path], list[Path]]] = {"csv": write_csv}


def data_package(study: Study, origin: str) -> dict[str, Any]:
    """The descriptor of a tabular Data Package (Frictionless, version 1)."""
    columns, described = columns_of(study), Row.model_json_schema(schema_generator=Described)
    return {
        "profile": "tabular-data-package",
        "name": study.study,
        "description": f"One row a cell: model, shell, task, trial. From {origin}.",
        "resources": [
            {
                "profile": "tabular-data-resource",
                "name": "cells",
                "path": CSV,
                "format": "csv",
                "mediatype": "text/csv",
                "encoding": "utf-8",
                "schema": {
                    "fields": [_field(name, described) for name in columns],
                    "primaryKey": [n for n in Cell.__dataclass_fields__ if n in columns],
                    "missingValues": [""],
                },
            }
        ],
    }


def _field(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A column as a field of a Table Schema, from the JSON Schema of a row."""
    found = schema["properties"][name]
    kind = next(form for form in found.get("anyOf", [found]) if form.get("type") != "null")
    field = {"name": name, "type": kind["type"], "description": found["description"]}
    if kind["type"] == "boolean":
        field |= {"trueValues": ["True"], "falseValues": ["False"]}
    enum = {"enum": kind["enum"]} if "enum" in kind else {}
    return field | {"constraints": {"required": name in schema["required"]} | enum}
