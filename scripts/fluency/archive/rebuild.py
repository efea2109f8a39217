"""Rescore; rebuild table, provenance and products; compare."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pandas as pd

from fluency.archive.archived_study import ArchivedStudy
from fluency.archive.code_hashes import code_sha256
from fluency.archive.findings import Findings
from fluency.archive.pack import config_name, registration_name
from fluency.archive.registration import deviations, registered
from fluency.archive.untrusted_json import parse_untrusted
from fluency.common.errors import UserError
from fluency.common.files import sha256_file
from fluency.core.provenance import Provenance, Registered, collect_provenance, parse_provenance
from fluency.core.records import EARLIER_CLASS, Score
from fluency.core.shells import EXTRA_CONDITIONS
from fluency.core.study import Cell
from fluency.core.table import CellRecords, Row, read_table, write_table
from fluency.core.tasks import Task
from fluency.report.report import write_products
from fluency.scoring.score_cell import score_cell

_OUTCOMES = ("passed", "structural_pass", "exit_ok", "content_ok", "lenient_passed", "no_unix_tools_passed")
_MARKS = (*_OUTCOMES, *(c.score_field for c in EXTRA_CONDITIONS if c.score_field not in _OUTCOMES))
COPIED = ("model", "shell", "task", "trial", "status", *_OUTCOMES, "worlds_passed", "worlds_run")
"""Columns that are in the records as they are in the table, made by any code."""
WORDS = frozenset({"reason", "failure_class", "why", "made_of", "commands", "side_effects"})
"""Columns that a version may put otherwise."""
LOCK = "envs/requirements.lock"
TABLE = "cells.csv"
# fmt: off
AT_WRITING = frozenset(
    {"version", "commit", "dirty", "config_files", "lock_sha256", "versions", "registration", "deviations"}
)
"""What provenance.json says of the moment it was written, and not of the records."""
COUNTED = frozenset({
    "worlds", "conditions", "limits", "images", "engines", "sampling", "spent_usd", "first_answer_utc", "started_utc",
    "ended_utc",
})
"""What it gathers from the records of all cells."""
# fmt: on


def rebuild_score(archived: ArchivedStudy, findings: Findings, cell: Cell, task: Task, records: CellRecords) -> None:
    """Score a cell again; its score must come out the same."""
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
        findings.check(False, where, f"it cannot be rescored: {error.what}", "scores", "score")
        return
    kept: dict[str, Any] = {key: getattr(records.score, key) for key in ("schema_version", "task_sha256")}
    same_code = "score" in findings.same_code_stages
    if not same_code:
        kept["provenance"] = records.score.provenance
        if EARLIER_CLASS.get(made.failure_class or "") == records.score.failure_class:  # a finer word for the same
            kept["failure_class"] = records.score.failure_class
    made = made.model_copy(update=kept)
    same = made == records.score
    what = "" if same else _difference(made.model_dump(mode="json"), records.score.model_dump(mode="json"))
    if not same and not same_code and _outcome(made) == _outcome(records.score):
        what = f"it passes or fails as archived, and other code words it otherwise ({what})"
        findings.add_unproven(where, what, "wording")
        same = True
    findings.check(same, where, f"rescored it comes out otherwise ({what})", "scores", "score")


def _outcome(score: Score) -> dict[str, object]:
    """What a score says of passing, of the cell and of each world, without classes and reasons."""
    worlds = {
        (world.seed, world.condition, world.reading): (world.passed, world.exit_ok, world.structural, world.content)
        for world in score.worlds
    }
    marks = {name: getattr(score, name) for name in ("cell", "request_key", "not_measured", *_MARKS)}
    return marks | {"worlds": worlds}


def _difference(made: dict[str, Any], archived: dict[str, Any]) -> str:
    key = next((key for key in made if made[key] != archived.get(key)), None)
    return "in its form" if key is None else f"{key}: {_short(made[key])}, archived {_short(archived.get(key))}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def rebuild_products(archived: ArchivedStudy, findings: Findings, rows: Sequence[Row]) -> set[str]:
    """Rebuild table, provenance, report, figures and explorer; returns the names of the files compared."""
    provenance, compared = None, set[str]()
    with findings.collecting_errors():
        provenance = check_provenance(archived, findings)
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


def _rebuild(archived: ArchivedStudy, findings: Findings, stage: str, write: Callable[[Path], None]) -> set[str]:
    """Write products into an empty folder and compare each with the archived one."""
    names, start = set(), f"results/{archived.study.study}"
    with TemporaryDirectory(prefix="fluency-rebuild-") as folder:
        try:
            write(Path(folder))
        except UserError as error:
            findings.check(False, start, f"it cannot be rebuilt: {error.what}", "products", stage)
        for path in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
            part = path.relative_to(folder).as_posix()
            theirs, where, what = archived.products / part, f"{start}/{part}", "rebuilt it has other bytes"
            names.add(where)
            same = theirs.is_file() and sha256_file(theirs) == sha256_file(path)
            if part != TABLE:
                findings.check(same, where, what, "products", stage)
                continue
            differs = "" if same else table_difference(theirs.read_bytes(), path.read_bytes())
            findings.check(differs in ("", "words"), where, what, "table", None if differs == "records" else stage)
            if differs == "words":
                findings.check(False, where, what, "wording", stage)
    return names


def table_difference(archived: bytes, made: bytes) -> Literal["records", "numbers", "words"]:
    """In what the table of other code differs from the rebuilt one: in what is copied from the records, or less."""
    one, two = _columns(archived), _columns(made)
    shared = one.keys() & two.keys()

    def differ(columns: Collection[str]) -> bool:
        return any(one.get(name) != two.get(name) for name in columns)

    if differ({*COPIED, *shared.intersection(_MARKS)}):
        return "records"
    return "numbers" if differ(shared - WORDS) else "words"


def _columns(data: bytes) -> dict[str, list[str]]:
    """A table's columns as texts; none where it is no table."""
    try:
        frame = pd.read_csv(io.BytesIO(data), dtype=str, keep_default_na=False, encoding_errors="replace")
    except ValueError:
        return {}
    return {str(name): list(frame[name]) for name in frame.columns}


def check_provenance(archived: ArchivedStudy, findings: Findings) -> Provenance | None:
    """The archived provenance, compared with the records, the study, the lock and the registration."""
    where = f"results/{archived.study.study}/provenance.json"
    if not archived.unpacked.holds(where):
        return None
    data, file = archived.unpacked.read(where), archived.image_file
    parse_untrusted(data, where)
    start_up_s = file.start_up_s if file else {}
    try:
        stated = parse_provenance(data)
        study, records = archived.study, archived.records
        made = collect_provenance(study, archived.tasks, archived.cells, [], records, start_up_s=start_up_s)
    except ValueError as error:
        findings.check(False, where, f"it or what the records give is no provenance: {error}", "facts")
        return None
    if stated.schema_version == 1:
        made = made.in_schema_1()
    # Older code did not write every field; this checkout's code writes them all.
    written = stated.model_fields_set if "gather" not in findings.same_code_stages else Provenance.model_fields.keys()
    for key in sorted(written - AT_WRITING):
        same = getattr(made, key) == getattr(stated, key)
        if not same and archived.held_out and key in COUNTED:
            findings.add_unproven(where, f"`{key}` counts the cells of the private part, too", "facts")
        else:
            findings.check(same, where, f"`{key}` is not what the records say", "facts", "gather")
    _check_files(archived, findings, where, stated)
    return stated


def _check_files(archived: ArchivedStudy, findings: Findings, where: str, stated: Provenance) -> None:
    """What provenance says of files: config and lock are the archived ones, and the registration is."""
    files = archived.unpacked.manifest.files
    digests = {config_name(name): digest for name, digest in stated.config_files.items()} | {LOCK: stated.lock_sha256}
    for name, digest in digests.items():
        same = name in files and files[name].sha256 == digest
        findings.check(same, name, f"it is not the file that {where} names", "files")
    order = archived.unpacked.manifest.config
    same = not order or set(order) == digests.keys() - {LOCK}
    findings.check(same, where, "its configuration files are not the archive's", "files")
    if stated.commit != archived.unpacked.manifest.commit:
        findings.add_note(where, f"the table was made at commit {stated.commit}, the archive later")
    if archived.study.preregistration:
        _check_registration(archived, findings, where, stated)
    else:
        holds = stated.registration is None and not stated.deviations
        findings.check(holds, where, "it names a registration, the study none", "files")


def _check_registration(archived: ArchivedStudy, findings: Findings, where: str, stated: Provenance) -> None:
    """The deviations the report states are those this checkout finds, if its code is the archive's."""
    name = registration_name(archived.study.preregistration or "")
    path = archived.root / name
    if not findings.check(path.is_file(), name, "the archive does not hold the registration", "files"):
        return
    with findings.collecting_errors(name):
        own = registered(archived.study.preregistration or "", path)
        what = f"it is not the registration that {where} describes"
        findings.check(_is_as_stated(own, stated.registration, findings), name, what, "files")
        found = deviations(
            archived.study, archived.tasks, path, stated.first_answer_utc, world_for=archived.world_or_hash
        )
        what = f"the stated deviations are not those found ({'; '.join(found) or 'none'})"
        findings.check(stated.deviations == found, where, what, "files", "registration")


def _is_as_stated(own: Registered, stated: Registered | None, findings: Findings) -> bool:
    """Whether all that is stated of the registration stands in its file; older code stated less."""
    if stated is None or not {"path", "sha256"} <= stated.model_fields_set:
        return False
    same_code = "registration" in findings.same_code_stages
    named = Registered.model_fields.keys() if same_code else stated.model_fields_set
    return all(getattr(own, key) == getattr(stated, key) for key in named)
