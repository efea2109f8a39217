"""Rescore; rebuild table, provenance and products; compare."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fluency.archive.archived_study import ArchivedStudy
from fluency.archive.code_hashes import code_sha256
from fluency.archive.findings import Findings, Truth
from fluency.archive.pack import config_name, registration_name
from fluency.archive.registration import deviations, registered
from fluency.archive.untrusted_json import untrusted_json
from fluency.common.errors import ArchiveError, UserError
from fluency.common.files import pretty_json, sha256_file
from fluency.core.provenance import Provenance, Registered, collect_provenance, parse_provenance
from fluency.core.records import EARLIER_CLASS, Score
from fluency.core.shells import EXTRA_CONDITIONS
from fluency.core.study import Cell
from fluency.core.table import CellRecords, Row, read_table, write_table
from fluency.core.tasks import Task
from fluency.report.report import write_products
from fluency.scoring.score_cell import score_cell

_OUTCOMES = ("passed", "structural_pass", "exit_ok", "content_ok", "lenient_passed", "no_unix_tools_passed")
_MARKS = (
    *_OUTCOMES,
    *(c.score_field for c in EXTRA_CONDITIONS if c.score_field not in _OUTCOMES),
)
COPIED = ("model", "shell", "task", "trial", "status", *_OUTCOMES, "worlds_passed", "worlds_run")
"""Columns that stand in the records as they stand in the table, whatever code laid it."""
WORDS = frozenset({"reason", "failure_class", "why", "made_of", "commands", "side_effects"})
"""Columns that a version may put otherwise."""


def judgement_of(score: Score) -> dict[str, object]:
    """What a score says of passing, of the cell and of each world, without classes and reasons."""
    worlds = {
        (world.seed, world.condition, world.reading): (world.passed, world.exit_ok, world.structural, world.content)
        for world in score.worlds
    }
    return {name: getattr(score, name) for name in ("cell", "request_key", "not_measured", *_MARKS)} | {
        "worlds": worlds
    }


def table_difference(archived: bytes, made: bytes) -> tuple[Truth, bool]:
    """In what the table of other code differs from the one made anew, and whether that contradicts the records."""
    one, two = _rows(archived), _rows(made)
    shared = set(one[0]) & set(two[0]) if one and two else set()
    copied = set(COPIED) | (shared & set(_MARKS))
    if _part(one, copied) != _part(two, copied):
        return "judgement", True
    return ("words" if _part(one, shared - WORDS) == _part(two, shared - WORDS) else "judgement"), False


def _rows(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8", "replace"), newline="")))


def _part(rows: list[dict[str, str]], columns: set[str]) -> list[dict[str, str | None]]:
    return [{name: row.get(name) for name in columns} for row in rows]


LOCK = "envs/requirements.lock"
MOMENT = frozenset(
    {"version", "commit", "dirty", "config_files", "lock_sha256", "versions", "registration", "deviations"}
)
"""What provenance.json says of the moment it was written, and not of the records."""
COUNTED = frozenset(
    {
        "worlds",
        "conditions",
        "limits",
        "images",
        "engines",
        "sampling",
        "spent_usd",
        "first_answer_utc",
        "started_utc",
        "ended_utc",
    }
)
"""What it gathers from the records of all cells."""


def check_provenance(archived: ArchivedStudy, findings: Findings) -> Provenance | None:
    """The archived provenance, held against the records, the study, the lock and the registration."""
    where = f"results/{archived.study.study}/provenance.json"
    path = archived.root / where
    if not path.is_file():
        return None
    data = path.read_bytes()
    try:
        canonical = pretty_json(untrusted_json(data, where)).encode() == data
        stated = parse_provenance(data)
    except (ValueError, ArchiveError):
        canonical = False
    if not findings.check(canonical, where, "it is not in the form provenance is written in", kind="facts"):
        return None
    file = archived.image_file
    made = collect_provenance(
        archived.study,
        archived.tasks,
        archived.cells,
        [],
        archived.read_again,
        start_up_s=file.start_up_s if file else {},
    )
    if stated.schema_version == 1:
        made = made.in_schema_1()
    # Older code did not write every field; this checkout's code writes them all.
    written = stated.model_fields_set if "gather" not in findings.layers else Provenance.model_fields.keys()
    for key in sorted(written - MOMENT):
        same = getattr(made, key) == getattr(stated, key)
        if not same and archived.held_out and key in COUNTED:
            findings.cannot_tell(where, f"`{key}` counts the cells that are held out, too", "evidence")
        else:
            findings.check(same, where, f"`{key}` is not what the records say", kind="facts", layer="gather")
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
    with findings.noting_errors(name):
        own = registered(archived.study.preregistration or "", path)
        what = f"it is not the registration that {where} describes"
        findings.check(_as_far_as_stated(own, stated.registration, findings), name, what, kind="files")
        found = deviations(
            archived.study, archived.tasks, path, stated.first_answer_utc, world_for=archived.known_world
        )
        what = f"the stated deviations are not those found ({'; '.join(found) or 'none'})"
        findings.check(stated.deviations == found, where, what, kind="files", layer="registration")


def _as_far_as_stated(own: Registered, stated: Registered | None, findings: Findings) -> bool:
    """Whether all that is stated of the registration stands in its file; older code stated less."""
    if stated is None or not {"path", "sha256"} <= stated.model_fields_set:
        return False
    named = stated.model_fields_set if "registration" not in findings.layers else Registered.model_fields.keys()
    return all(getattr(own, key) == getattr(stated, key) for key in named)


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
            code_sha256=code_sha256("score"),
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

    compared: set[str] = set()
    if provenance is not None:
        compared = {f"results/{archived.study.study}/provenance.json", LOCK, *map(config_name, provenance.config_files)}
    table = archived.products / TABLE
    if table.is_file():
        compared |= _rebuild(archived, findings, "gather", lambda folder: write_table(folder / TABLE, list(rows)))
    shown = [archived.products / name for name in ("report.md", "explorer.html")]
    if provenance is not None and table.is_file() and any(path.is_file() for path in shown):
        view, frame = archived.view(provenance), read_table(table)
        compared |= _rebuild(archived, findings, "report", lambda folder: write_products(view, frame, folder))
    return compared


def _rebuild(archived: ArchivedStudy, findings: Findings, layer: str, write: Callable[[Path], None]) -> set[str]:
    """Write products into an empty folder and compare each with the archived one."""
    names = set()
    with TemporaryDirectory(prefix="fluency-rebuild-") as folder:
        try:
            write(Path(folder))
        except UserError as error:
            where = f"results/{archived.study.study}"
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
