"""Make the upper layers of an archive anew from the lower ones, and compare the bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fluency.archive.archived_study import ArchivedStudy
from fluency.archive.contents import config_name, registration_name
from fluency.archive.findings import Findings
from fluency.archive.registration import deviations
from fluency.common.errors import UserError
from fluency.common.files import pretty_json, sha256_file
from fluency.core.cells import Cell
from fluency.core.collect import collect_provenance, start_up_times
from fluency.core.gather import CellRecords
from fluency.core.provenance import Provenance, parse_provenance
from fluency.core.records import Row
from fluency.core.table import read_table, write_table
from fluency.core.tasks import Task
from fluency.report.explorer import write_explorer
from fluency.report.writer import write_report
from fluency.scoring.score_cell import score_cell

LOCK = "envs/requirements.lock"
MOMENT = frozenset(
    {"version", "commit", "dirty", "config_files", "lock_sha256", "versions", "registration", "deviations"}
)
"""What provenance.json says of the moment it was written, and not of the records."""


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
        findings.check(False, where, f"it cannot be judged anew: {error.what}", kind="scores", layer="score")
        return
    kept: dict[str, Any] = {key: getattr(records.score, key) for key in ("schema_version", "task_sha256")}
    if "score" not in findings.layers:
        kept["provenance"] = records.score.provenance
    made = made.model_copy(update=kept)
    if made == records.score:
        findings.check(True, where, "", kind="scores")
    else:
        what = _difference(made.model_dump(mode="json"), records.score.model_dump(mode="json"))
        findings.check(False, where, f"judged anew it comes out otherwise ({what})", kind="scores", layer="score")


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
    provenance = _provenance(archived, findings)

    def table(path: Path) -> None:
        write_table(path, list(rows))

    def report(path: Path) -> None:
        write_report(path, read_table(archived.products / "cells.csv"), archived.study, archived.tasks, provenance)

    def explorer(path: Path) -> None:
        frame = read_table(archived.products / "cells.csv")
        write_explorer(path, frame, archived.study, archived.tasks, archived.read_again)

    compared: set[str] = set()
    if provenance is not None:
        compared = {f"results/{archived.study.study}/provenance.json", LOCK, *map(config_name, provenance.config_files)}
    steps: dict[str, tuple[str, Callable[[Path], None]]] = {"table": ("cells.csv", table)}
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
                same = held.is_file() and held.read_bytes() == path.read_bytes()
                where = f"results/{archived.study.study}/{part}"
                findings.check(same, where, "made anew it has other bytes", kind="products", layer=layer)
                names.add(where)
    return names


def _provenance(archived: ArchivedStudy, findings: Findings) -> Provenance | None:
    """The archived provenance, held against the records, the study, the lock and the registration."""
    where = f"results/{archived.study.study}/provenance.json"
    path = archived.root / where
    if not path.is_file():
        return None
    data = path.read_bytes()
    try:
        stated = parse_provenance(data)
        canonical = pretty_json(json.loads(data)).encode() == data
    except ValueError:
        canonical = False
    if not findings.check(canonical, where, "it is not in the form provenance is written in", kind="products"):
        return None
    start_up = start_up_times(archived.results)
    made = collect_provenance(
        archived.study, archived.tasks, archived.cells, [], archived.read_again, start_up_s=start_up
    )
    if stated.schema_version == 1:
        made = made.in_schema_1()
    for key in sorted(Provenance.model_fields.keys() - MOMENT):
        same = getattr(made, key) == getattr(stated, key)
        findings.check(same, where, f"`{key}` is not what the records say", kind="products", layer="table")
    _moment(archived, findings, where, stated)
    return stated


def _moment(archived: ArchivedStudy, findings: Findings, where: str, stated: Provenance) -> None:
    """What provenance says of files: config and lock are the archived ones, the registration is followed so far."""
    files = archived.unpacked.manifest.files
    for name, digest in stated.config_files.items():
        held = config_name(name) in files and files[config_name(name)].sha256 == digest
        findings.check(held, config_name(name), f"it is not the file that {where} names", kind="files")
    lock = files.get(LOCK)
    same = lock is not None and stated.lock_sha256 == lock.sha256
    findings.check(same, LOCK, f"it is not the file that {where} names", kind="files")
    if stated.commit != archived.unpacked.manifest.commit:
        findings.remark(where, f"the table was made at commit {stated.commit}, the archive later")
    if archived.study.preregistration:
        _registration(archived, findings, where, stated)
    else:
        holds = stated.registration is None and not stated.deviations
        findings.check(holds, where, "it names a registration, the study none", kind="files")


def _registration(archived: ArchivedStudy, findings: Findings, where: str, stated: Provenance) -> None:
    """The deviations the report states are those this checkout finds, if its code is the archive's."""
    name = registration_name(archived.study.preregistration or "")
    path = archived.root / name
    if not findings.check(path.is_file(), name, "the archive does not hold the registration", kind="files"):
        return
    same = stated.registration is not None and stated.registration.sha256 == sha256_file(path)
    findings.check(same, name, f"it is not the file that {where} names", kind="files")
    with findings.noting_errors(name):
        found = deviations(archived.study, archived.tasks, path, world_for=archived.world)
        layers = ("registration", "request", "score", "sandbox", "report")
        other = next((layer for layer in layers if layer not in findings.layers), None)
        what = f"the stated deviations are not those found ({'; '.join(found) or 'none'})"
        findings.check(stated.deviations == found, where, what, kind="files", layer=other)
