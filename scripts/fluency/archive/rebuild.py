"""Make the upper layers of an archive anew from the lower ones, and compare the bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fluency.archive.archived_study import ArchivedStudy
from fluency.archive.contents import config_name
from fluency.archive.findings import Findings, Truth
from fluency.archive.judgement import judgement_of, table_difference
from fluency.archive.provenance_check import LOCK, check_provenance
from fluency.common.errors import UserError
from fluency.common.files import sha256_file
from fluency.core.records import EARLIER_CLASS, read_control
from fluency.core.study import Cell
from fluency.core.table import CellRecords, Row, read_table, write_table
from fluency.core.tasks import Task
from fluency.report.explorer import write_explorer
from fluency.report.writer import write_report
from fluency.scoring.score_cell import score_cell

TABLE = "cells.csv"


def rebuild_score(archived: ArchivedStudy, findings: Findings, cell: Cell, task: Task, records: CellRecords) -> None:
    """Judge a cell anew; its score must come out the same, byte for byte."""
    if records.generation is None or records.execution is None or records.score is None:
        return
    where = f"results/scores/{cell.path}.json"
    try:
        # The worlds are the archive's own: their link to this checkout's generator is checked apart.
        made = score_cell(
            task,
            records.generation,
            records.execution,
            archived.world,
            seeds=archived.study.seeds,
            conditions=archived.study.conditions,
        )
    except UserError as error:
        what = f"it cannot be judged anew: {error.what}"
        findings.check(False, where, what, kind="scores", layer="score", truth="judgement")
        return
    kept: dict[str, Any] = {key: getattr(records.score, key) for key in ("schema_version", "task_sha256")}
    if "score" not in findings.layers:
        kept["provenance"] = records.score.provenance
        if (
            EARLIER_CLASS.get(made.failure_class or "") == records.score.failure_class
        ):  # a finer word for the same judgement
            kept["failure_class"] = records.score.failure_class
    made = made.model_copy(update=kept)
    same = made == records.score
    what = "" if same else _difference(made.model_dump(mode="json"), records.score.model_dump(mode="json"))
    if not same and "score" not in findings.layers and judgement_of(made) == judgement_of(records.score):
        what = f"it passes or fails as archived, and other code words it otherwise ({what})"
        findings.cannot_tell(where, what, "words")
        same = True
    what = f"judged anew it comes out otherwise ({what})"
    findings.check(same, where, what, kind="scores", layer="score", truth="judgement")


def _difference(made: dict[str, Any], archived: dict[str, Any]) -> str:
    for key in made:
        if made[key] != archived.get(key):
            return f"{key}: {_short(made[key])}, archived {_short(archived.get(key))}"
    return "in its form"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def rebuild_products(archived: ArchivedStudy, findings: Findings, rows: Sequence[Row]) -> set[str]:
    """Make table, provenance, report, figures and explorer anew; returns the names of the files compared."""
    provenance = None
    with findings.noting_errors():
        provenance = check_provenance(archived, findings)

    def table(path: Path) -> None:
        write_table(path, list(rows))

    def report(path: Path) -> None:
        frame, control = read_table(archived.products / "cells.csv"), read_control(archived.products)
        write_report(path, frame, archived.study, archived.shown_tasks, provenance, control)

    def explorer(path: Path) -> None:
        frame = read_table(archived.products / "cells.csv")
        write_explorer(path, frame, archived.study, archived.shown_tasks, archived.read_again)

    compared: set[str] = set()
    if provenance is not None:
        compared = {f"results/{archived.study.study}/provenance.json", LOCK, *map(config_name, provenance.config_files)}
    steps: dict[str, tuple[str, Callable[[Path], None]]] = {"table": (TABLE, table)}
    if provenance is not None and (archived.products / "cells.csv").is_file():
        steps |= {"report": ("report.md", report), "explorer": ("explorer.html", explorer)}
    for layer, (name, write) in steps.items():
        if (archived.products / name).is_file():
            compared |= _rebuild(archived, findings, layer, name, write)
    return compared


def _rebuild(
    archived: ArchivedStudy, findings: Findings, layer: str, name: str, write: Callable[[Path], None]
) -> set[str]:
    """Write a product into an empty folder and hold every file that appears there against the archived one."""
    names = set()
    with TemporaryDirectory(prefix="fluency-rebuild-") as folder:
        try:
            write(Path(folder) / name)
        except UserError as error:
            where = f"results/{archived.study.study}/{name}"
            findings.check(False, where, f"it cannot be made anew: {error.what}", kind="products", layer=layer)
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file():
                part = path.relative_to(folder).as_posix()
                held = archived.products / part
                same = held.is_file() and sha256_file(held) == sha256_file(path)
                where = f"results/{archived.study.study}/{part}"
                made_by: str | None = layer
                truth: Truth = "words"
                if part == TABLE and not same:
                    truth, contradicts = table_difference(
                        held.read_bytes() if held.is_file() else b"", path.read_bytes()
                    )
                    made_by = None if contradicts else layer
                kind, what = "table" if part == TABLE else "products", "made anew it has other bytes"
                findings.check(same, where, what, kind=kind, layer=made_by, truth=truth)
                names.add(where)
    return names
