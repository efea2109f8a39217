"""Rescore; rebuild table, provenance and products; compare."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pandas as pd
from pydantic import ValidationError

from fluency.analysis.descriptive import asking_order
from fluency.archive.archived_study import ArchivedStudy
from fluency.archive.code_hashes import code_sha256
from fluency.archive.findings import VerifyReport
from fluency.archive.pack import config_name, registration_name
from fluency.archive.registration import deviations, registered
from fluency.archive.untrusted_json import parse_untrusted
from fluency.common.errors import UserError
from fluency.common.files import sha256_file
from fluency.core.provenance import Provenance, Registered, collect_provenance, parse_provenance
from fluency.core.records import EARLIER_CLASS, Execution, Generation, Score
from fluency.core.schema import first_problem
from fluency.core.shells import EXTRA_CONDITIONS
from fluency.core.study import Cell
from fluency.core.table import CellRecords, Row, write_table
from fluency.core.tasks import Task
from fluency.report.report import write_products
from fluency.scoring.score_cell import score_cell

_OUTCOMES = (
    "passed",
    "structural_pass",
    "exit_ok",
    "content_ok",
    "lenient_passed",
    "no_unix_tools_passed",
)
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


def rescored(
    archived: ArchivedStudy, task: Task, generation: Generation, execution: Execution
) -> Score:
    """The score by this checkout's code in the archived worlds: a rescoring changes the judge, never what a command
    met. Whether this checkout's generator makes the same worlds is checked apart.
    """
    code, seeds, conditions = code_sha256("score"), archived.study.seeds, archived.study.conditions
    return score_cell(
        task,
        generation,
        execution,
        archived.world,
        code_sha256=code,
        seeds=seeds,
        conditions=conditions,
    )


def rebuild_score(
    archived: ArchivedStudy, report: VerifyReport, cell: Cell, task: Task, records: CellRecords
) -> None:
    """Score a cell again; its score must come out the same."""
    if records.generation is None or records.execution is None or records.score is None:
        return
    where = f"results/scores/{cell.path}.json"
    try:
        made = rescored(archived, task, records.generation, records.execution)
    except UserError as error:
        report.check(False, where, f"it cannot be rescored: {error.what}", "scores", "score")
        return
    kept: dict[str, Any] = {
        key: getattr(records.score, key) for key in ("schema_version", "task_sha256")
    }
    same_code = "score" in report.same_code_stages
    if not same_code:
        kept["provenance"] = records.score.provenance
        if (
            EARLIER_CLASS.get(made.failure_class or "") == records.score.failure_class
        ):  # a finer word for the same
            kept["failure_class"] = records.score.failure_class
    made = made.model_copy(update=kept)
    what = "" if made == records.score else _difference(made, records.score)
    if what and not same_code and _outcome(made) == _outcome(records.score):
        what = f"it passes or fails as archived, and other code words it otherwise ({what})"
        report.add_unproven(where, what, "wording")
        what = ""
    report.check(not what, where, f"rescored it comes out otherwise ({what})", "scores", "score")


def _outcome(score: Score) -> dict[str, object]:
    """What a score says of passing, of the cell and of each world, without classes and reasons."""
    worlds = {
        (world.seed, world.condition, world.reading): (
            world.passed,
            world.exit_ok,
            world.structural,
            world.content,
        )
        for world in score.worlds
    }
    marks = {
        name: getattr(score, name) for name in ("cell", "request_key", "not_measured", *_MARKS)
    }
    return marks | {"worlds": worlds}


def _difference(made: Score, archived: Score) -> str:
    new, old = (score.model_dump(mode="json") for score in (made, archived))
    for key in new:
        if new[key] != old.get(key):
            texts = (json.dumps(value, ensure_ascii=False) for value in (new[key], old.get(key)))
            return "{}: {}, archived {}".format(
                key, *(text if len(text) <= 60 else text[:57] + "..." for text in texts)
            )
    return "in its form"


def rebuild_products(
    archived: ArchivedStudy, report: VerifyReport, rows: Sequence[Row]
) -> set[str]:
    """Rebuild table, provenance, report, figures and explorer; returns the names of the files compared."""
    provenance, compared = None, set[str]()
    with report.collecting_errors():
        provenance = check_provenance(archived, report)
    if provenance is not None:
        compared = {
            f"results/{archived.study.study}/provenance.json",
            LOCK,
            *map(config_name, provenance.config_files),
        }
    table = archived.products / TABLE
    if table.is_file():
        compared |= _rebuild(
            archived, report, "gather", lambda folder: write_table(folder / TABLE, list(rows))
        )
    shown = [archived.products / name for name in ("report.md", "explorer.html")]
    if provenance is not None and table.is_file() and any(path.is_file() for path in shown):
        view, frame = archived.view(provenance), archived.table()
        for model in (model.alias for model in archived.study.models):
            order = asking_order(frame[frame["model"] == model], model, archived.study)
            if order.state == "departed":
                what = f"{model} was not asked in the planned order: {sum(order.late.values())} answers are late"
                report.add_note(f"results/{archived.study.study}/{TABLE}", what)
        compared |= _rebuild(
            archived, report, "report", lambda folder: write_products(view, frame, folder)
        )
    return compared


def _rebuild(
    archived: ArchivedStudy, report: VerifyReport, stage: str, write: Callable[[Path], None]
) -> set[str]:
    """Write products into an empty folder and compare each with the archived one."""
    names, start = set(), f"results/{archived.study.study}"
    with TemporaryDirectory(prefix="fluency-rebuild-") as folder:
        try:
            write(Path(folder))
        except UserError as error:
            report.check(False, start, f"it cannot be rebuilt: {error.what}", "products", stage)
        for path in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
            part = path.relative_to(folder).as_posix()
            theirs, where, what = (
                archived.products / part,
                f"{start}/{part}",
                "rebuilt it has other bytes",
            )
            names.add(where)
            same = theirs.is_file() and sha256_file(theirs) == sha256_file(path)
            if part != TABLE:
                report.check(same, where, what, "products", stage)
                continue
            differs = "" if same else table_difference(theirs.read_bytes(), path.read_bytes())
            report.check(
                differs in ("", "words"),
                where,
                what,
                "table",
                None if differs == "records" else stage,
            )
            if differs == "words":
                report.check(False, where, what, "wording", stage)
    return names


def table_difference(archived: bytes, made: bytes) -> Literal["records", "numbers", "words"]:
    """In what the table of other code differs from the rebuilt one: in what is copied from the records, or less."""
    one, two = _columns(archived), _columns(made)
    shared = one.keys() & two.keys()
    differ = {name for name in shared.union(COPIED) if one.get(name) != two.get(name)}
    if differ & {*COPIED, *_MARKS}:
        return "records"
    return "numbers" if differ - WORDS else "words"


def _columns(data: bytes) -> dict[str, list[str]]:
    """A table's columns as texts; none where it is no table."""
    try:
        frame = pd.read_csv(
            io.BytesIO(data), dtype=str, keep_default_na=False, encoding_errors="replace"
        )
    except ValueError:
        return {}
    return {str(name): list(frame[name]) for name in frame.columns}


def check_provenance(archived: ArchivedStudy, report: VerifyReport) -> Provenance | None:
    """The archived provenance, compared with the records, the study, the lock and the registration."""
    where, study = f"results/{archived.study.study}/provenance.json", archived.study
    if not archived.unpacked.holds(where):
        return None
    data, file = archived.unpacked.read(where), archived.image_file
    parse_untrusted(data, where)
    start_up_s = file.start_up_s if file else {}
    try:
        stated = parse_provenance(data)
        made = collect_provenance(
            study, archived.tasks, archived.cells, [], archived.records, start_up_s=start_up_s
        )
    except ValueError as error:
        why = first_problem(error) if isinstance(error, ValidationError) else error
        report.check(False, where, f"it or what the records give is no provenance: {why}", "facts")
        return None
    if stated.schema_version == 1:
        made = made.in_schema_1()
    # Older code did not write every field; this checkout's code writes them all.
    written = (
        stated.model_fields_set
        if "gather" not in report.same_code_stages
        else Provenance.model_fields.keys()
    )
    for key in sorted(written - AT_WRITING):
        same = getattr(made, key) == getattr(stated, key)
        if not same and key in COUNTED and len(archived.open_tasks) < len(archived.tasks):
            report.add_unproven(
                where, f"`{key}` counts the cells of the private part, too", "facts"
            )
        else:
            report.check(same, where, f"`{key}` is not what the records say", "facts", "gather")
    _check_files(archived, report, where, stated)
    return stated


def _check_files(
    archived: ArchivedStudy, report: VerifyReport, where: str, stated: Provenance
) -> None:
    """What provenance says of files: config and lock are the archived ones, and the registration is."""
    files = archived.unpacked.manifest.files
    digests = {config_name(name): digest for name, digest in stated.config_files.items()} | {
        LOCK: stated.lock_sha256
    }
    for name, digest in digests.items():
        same = name in files and files[name].sha256 == digest
        report.check(same, name, f"it is not the file that {where} names", "files")
    order = archived.unpacked.manifest.config
    same = not order or set(order) == digests.keys() - {LOCK}
    report.check(same, where, "its configuration files are not the archive's", "files")
    if stated.commit != archived.unpacked.manifest.commit:
        report.add_note(where, f"the table was made at commit {stated.commit}, the archive later")
    if archived.study.preregistration:
        _check_registration(archived, report, where, stated)
    else:
        holds = stated.registration is None and not stated.deviations
        report.check(holds, where, "it names a registration, the study none", "files")


def _check_registration(
    archived: ArchivedStudy, report: VerifyReport, where: str, stated: Provenance
) -> None:
    """The deviations the report states are those this checkout finds, if its code is the archive's."""
    name = registration_name(archived.study.preregistration or "")
    path = archived.root / name
    if not report.check(
        path.is_file(), name, "the archive does not hold the registration", "files"
    ):
        return
    with report.collecting_errors(name):
        own, theirs = registered(archived.study.preregistration or "", path), stated.registration
        given = theirs.model_fields_set if theirs else set()  # older code stated less
        named = (
            Registered.model_fields.keys() if "registration" in report.same_code_stages else given
        )
        same = {"path", "sha256"} <= given and all(
            getattr(own, key) == getattr(theirs, key) for key in named if key != "siblings"
        )
        report.check(same, name, f"it is not the registration that {where} describes", "files")
        there = (
            not theirs or theirs.siblings.items() <= own.siblings.items()
        )  # one may have come since
        report.check(
            there, name, f"registrations that {where} names are not in the archive", "files"
        )
        if own.among:
            report.add_note(name, f"it is {own.among}")
        first, world_for = stated.first_answer_utc, archived.world_or_hash
        found = deviations(archived.study, archived.tasks, path, first, world_for=world_for)
        what = f"the stated deviations are not those found ({'; '.join(found) or 'none'})"
        report.check(stated.deviations == found, where, what, "files", "registration")
