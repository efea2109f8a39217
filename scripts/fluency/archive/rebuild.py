"""Make the upper layers of an archive anew from the lower ones, and compare the bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from fluency.archive.archived_study import ArchivedStudy
from fluency.archive.contents import config_name, registration_name
from fluency.archive.findings import Findings
from fluency.archive.registration import deviations
from fluency.common.canonical import canonical_json
from fluency.common.errors import UserError
from fluency.common.files import pretty_json, sha256_file
from fluency.core.cells import Cell
from fluency.core.gather import CellRecords
from fluency.core.records import ProcessFact
from fluency.core.table import Row, read_table, write_table
from fluency.core.tasks import Task
from fluency.world import World

LOCK = "envs/requirements.lock"
MOMENT = frozenset(
    {"version", "commit", "dirty", "config_files", "lock_sha256", "versions", "registration", "deviations"}
)
"""What provenance.json says of the moment it was written, and not of the records."""


class Remembering:
    """A task that works out each right answer once: an archive asks for the same one in hundreds of cells."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._known: dict[tuple[str, str], Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._task, name)

    def expected(self, world: World, processes: Sequence[ProcessFact] = ()) -> Any:
        """`Task.expected`, remembered by world and processes."""
        key = world.sha256, canonical_json([fact.model_dump() for fact in processes])
        if key not in self._known:
            self._known[key] = self._task.expected(world, processes)
        return deepcopy(self._known[key])


def rebuild_score(
    opened: ArchivedStudy, findings: Findings, cell: Cell, task: Remembering, records: CellRecords
) -> None:
    """Judge a cell anew; its score must come out the same, byte for byte."""
    from fluency.scoring.score_cell import score_cell

    if records.generation is None or records.execution is None or records.score is None:
        return
    where = f"results/scores/{cell.path}.json"
    try:
        # The worlds are the archive's own: their link to this checkout's generator is checked apart.
        made = score_cell(
            task,  # type: ignore[arg-type]
            records.generation,
            records.execution,
            opened.world,
            seeds=opened.study.seeds,
            conditions=opened.study.conditions,
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
    text = canonical_json(value)
    return text if len(text) <= 60 else text[:57] + "..."


def rebuild_products(opened: ArchivedStudy, findings: Findings, rows: Sequence[Row]) -> set[str]:
    """Make table, provenance, report, figures and explorer anew; returns the names of the files compared."""
    provenance = _provenance(opened, findings)

    def table(path: Path) -> None:
        write_table(path, list(rows))

    def report(path: Path) -> None:
        write_report(path, read_table(opened.products / "cells.csv"), opened.study, opened.tasks, provenance)

    def explorer(path: Path) -> None:
        frame = read_table(opened.products / "cells.csv")
        write_explorer(path, frame, opened.study, opened.tasks, opened.read_again)

    from fluency.report.explorer import write_explorer
    from fluency.report.writer import write_report

    compared = set()
    if provenance is not None:
        named = provenance.get("config_files")
        compared = {
            f"results/{opened.study.study}/provenance.json",
            LOCK,
            *map(config_name, named if isinstance(named, dict) else ()),
        }
    steps: dict[str, tuple[str, Callable[[Path], None]]] = {"table": ("cells.csv", table)}
    if provenance is not None and (opened.products / "cells.csv").is_file():
        steps |= {"report": ("report.md", report), "explorer": ("explorer.html", explorer)}
    for layer, (name, write) in steps.items():
        if (opened.products / name).is_file():
            compared |= _rebuild(opened, findings, layer, name, write)
    return compared


def _rebuild(
    opened: ArchivedStudy, findings: Findings, layer: str, name: str, write: Callable[[Path], None]
) -> set[str]:
    """Write a product into an empty folder and hold every file that appears there against the archived one."""
    names = set()
    with TemporaryDirectory(prefix="fluency-rebuild-") as folder:
        try:
            write(Path(folder) / name)
        except UserError as error:
            where = f"results/{opened.study.study}/{name}"
            findings.check(False, where, f"it cannot be made anew: {error.what}", kind="products", layer=layer)
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file():
                part = path.relative_to(folder).as_posix()
                archived = opened.products / part
                same = archived.is_file() and archived.read_bytes() == path.read_bytes()
                where = f"results/{opened.study.study}/{part}"
                findings.check(same, where, "made anew it has other bytes", kind="products", layer=layer)
                names.add(where)
    return names


def _provenance(opened: ArchivedStudy, findings: Findings) -> dict[str, Any] | None:
    """The archived provenance, held against the records, the study, the lock and the registration."""
    from fluency.core.provenance import collect_provenance

    where = f"results/{opened.study.study}/provenance.json"
    path = opened.root / where
    if not path.is_file():
        return None
    data = path.read_bytes()
    try:
        stated = json.loads(data)
        canonical = pretty_json(stated).encode() == data and isinstance(stated, dict)
    except (ValueError, RecursionError):
        canonical = False
    if not findings.check(canonical, where, "it is not in the form provenance is written in", kind="products"):
        return None
    pipeline = SimpleNamespace(
        study=opened.study.model_copy(update={"preregistration": None}),
        tasks=opened.tasks,
        cells=opened.cells,
        files=[],
    )
    made = json.loads(pretty_json(collect_provenance(pipeline, [], opened.results, opened.read_again)))  # type: ignore[arg-type]
    for key in sorted((made.keys() | stated.keys()) - MOMENT):
        same = made.get(key) == stated.get(key)
        findings.check(same, where, f"`{key}` is not what the records say", kind="products", layer="table")
    _moment(opened, findings, where, stated)
    return stated


def _moment(opened: ArchivedStudy, findings: Findings, where: str, stated: dict[str, Any]) -> None:
    """What provenance says of files: config and lock are the archived ones, the registration is followed so far."""
    files = opened.unpacked.manifest.files
    for name, digest in _configs(stated).items():
        held = name in files and files[name].sha256 == digest
        findings.check(held, name, f"it is not the file that {where} names", kind="files")
    lock = files.get(LOCK)
    same = lock is not None and stated.get("lock_sha256") == lock.sha256
    findings.check(same, LOCK, f"it is not the file that {where} names", kind="files")
    if stated.get("commit") != opened.unpacked.manifest.commit:
        findings.remark(where, f"the table was made at commit {stated.get('commit')}, the archive later")
    if opened.study.preregistration:
        _registration(opened, findings, where, stated)


def _configs(stated: dict[str, Any]) -> dict[str, str]:
    """The configuration files a study was read from, as the archive names them, and their hashes."""
    named = stated.get("config_files")
    return {config_name(name): digest for name, digest in named.items()} if isinstance(named, dict) else {}


def _registration(opened: ArchivedStudy, findings: Findings, where: str, stated: dict[str, Any]) -> None:
    """The deviations the report states are those this checkout finds, if its code is the archive's."""
    name = registration_name(opened.study.preregistration or "")
    path = opened.root / name
    if not findings.check(path.is_file(), name, "the archive does not hold the registration", kind="files"):
        return
    same = (stated.get("registration") or {}).get("sha256") == sha256_file(path)
    findings.check(same, name, f"it is not the file that {where} names", kind="files")
    with findings.noting_errors(name):
        found = deviations(opened.study, opened.tasks, path, world_for=opened.world)
        layers = ("registration", "request", "score", "sandbox", "report")
        other = next((layer for layer in layers if layer not in findings.layers), None)
        what = f"the stated deviations are not those found ({'; '.join(found) or 'none'})"
        findings.check(stated.get("deviations") == found, where, what, kind="files", layer=other)
