"""Judge archived executions again, and compare scores, control, table and provenance."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pandas as pd

from fluency.archive.archived_study import STATED, ArchivedStudy
from fluency.archive.cell_chain import is_archived_image, is_result_plausible
from fluency.archive.code_hashes import code_sha256
from fluency.archive.findings import VerifyReport
from fluency.archive.pack import config_name, registration_name
from fluency.archive.registration import deviations, registered
from fluency.common.errors import UserError
from fluency.core.provenance import Provenance
from fluency.core.records import CONTROL_FILE, Control, ControlRun, Execution, Generation, Score
from fluency.core.shells import EXTRA_CONDITIONS
from fluency.core.study import Cell
from fluency.core.table import COLUMNS, CellRecords, Row, to_frame
from fluency.core.tasks import Task
from fluency.scoring.score_cell import score_cell
from fluency.scoring.verdict import judge

MARKS = (
    *("passed", "structural_pass", "exit_ok", "content_ok", "lenient_passed"),
    *(condition.score_field for condition in EXTRA_CONDITIONS),
)
COPIED = ("model", "shell", "task", "trial", "status", *MARKS, "worlds_passed", "worlds_run")
"""Columns that are in the records as they are in the table; others a version may word differently."""
LOCK = "envs/requirements.lock"
TABLE = "cells.csv"


def rescored(
    archived: ArchivedStudy, task: Task, generation: Generation, execution: Execution
) -> Score:
    """Score an execution by this checkout's code in the archived world."""
    return score_cell(
        task,
        generation,
        execution,
        archived.world,
        code_sha256=code_sha256("score"),
        seeds=archived.study.seeds,
        conditions=archived.study.conditions,
    )


def check_score(
    archived: ArchivedStudy, report: VerifyReport, cell: Cell, task: Task, records: CellRecords
) -> None:
    """Judge a cell again: by the same code its score is the same, by other code its marks are."""
    if records.generation is None or records.execution is None or records.score is None:
        return
    where = f"results/scores/{cell.path}.json"
    if task.id not in archived.judged_here:
        what = "its code or check is not this checkout's, so its cells were not judged"
        report.add("NOT CHECKED", f"tasks/{task.id}", what, "scores")
        return
    try:
        made = rescored(archived, task, records.generation, records.execution)
    except UserError as error:
        report.check(False, where, f"it cannot be judged: {error.what}", "scores", "score")
        return
    kept = {"task_sha256": records.score.task_sha256, "provenance": records.score.provenance}
    same = made.model_copy(update=kept) == records.score
    if "score" not in report.same_code:
        same = _marks(made) == _marks(records.score)
    what = f"judged again it is {_verdict(made)}, archived as {_verdict(records.score)}"
    report.check(same, where, what, "scores", "score")


def _marks(score: Score) -> list[object]:
    worlds = [(run.seed, run.condition, run.reading, run.passed) for run in score.worlds]
    return [score.cell, score.not_measured, sorted(worlds), *(getattr(score, m) for m in MARKS)]


def _verdict(score: Score) -> str:
    return {True: "passed", False: "failed", None: "not measured"}[score.passed] + (
        f" ({score.failure_class}: {score.why[:80]})" if score.passed is False else ""
    )


def check_control(archived: ArchivedStudy, report: VerifyReport) -> None:
    """The control ran each task's first commands in the archived image, and is judged like a cell."""
    where = f"{archived.products}/{CONTROL_FILE}"
    with report.collecting_errors():
        control = archived.control
        if control is not None:
            _check_control(archived, report, control, where)


def _check_control(
    archived: ArchivedStudy, report: VerifyReport, control: Control, where: str
) -> None:
    wanted = {
        (task.id, shell, kind, command)
        for task in archived.tasks
        for shell in set(archived.study.shells) - control.not_measured.keys()
        for kind, commands in (("reference", task.references), ("wrong", task.wrong))
        for command in commands.get(shell, [])[:1]
    }
    ran = [(run.task, run.shell, run.kind, run.command) for run in control.runs]
    same = set(ran) == wanted and len(ran) == len(wanted)
    what = "its runs are not the tasks' first commands"
    if not report.check(same, where, what, "links", "control"):
        return
    same = is_archived_image(archived, control.image)
    report.check(same, where, "its image is not the one in results/image.json", "links")
    limits = archived.study.sandbox.limits
    for run in control.runs:
        there = set(run.results) == {str(seed) for seed in archived.study.seeds} and all(
            is_result_plausible(result, limits.timeout_s[run.shell], limits.output_bytes)
            for result in run.results.values()
        )
        what = f"{run.task}, {run.shell}: its results contradict the study"
        if report.check(there, where, what, "links") and run.task in archived.judged_here:
            same = _control_passes(archived, run) == run.passed
            what = f"{run.task}, {run.shell}, {run.kind}: judged again it ends differently"
            report.check(same, where, what, "scores", "score")


def _control_passes(archived: ArchivedStudy, run: ControlRun) -> bool:
    task = archived.task_of[run.task]
    return all(
        judge(task, result, task.expected(archived.world(task, int(seed)), result.processes)).passed
        for seed, result in run.results.items()
    )


def check_table(archived: ArchivedStudy, report: VerifyReport, rows: Sequence[Row]) -> None:
    """`cells.csv` says what the records say.

    The header line is compared before the file is parsed, and no more rows than there are cells
    are: a line of commas would otherwise become millions of columns.
    """
    where = f"{archived.products}/{TABLE}"
    if not archived.unpacked.holds(where):
        return
    made = to_frame(list(rows)).to_csv(index=False, lineterminator="\n")
    with report.collecting_errors(where):
        theirs = archived.unpacked.read(where)
        same, what = theirs == made.encode(), "it does not say what the records say"
        if not same and "gather" not in report.same_code:
            same = theirs.startswith(f"{','.join(COLUMNS)}\n".encode())
            what = "it has other columns than this version's"
            same = same and _copied(theirs, len(rows)) == _copied(made.encode(), len(rows))
        report.check(same, where, what, "table", "gather")


def _copied(table: bytes, rows: int) -> dict[str, list[str]]:
    """A table's copied columns as texts; empty where it cannot be read."""
    try:
        frame = pd.read_csv(
            io.BytesIO(table), dtype=str, keep_default_na=False, nrows=rows + 1, usecols=COPIED
        )
    except ValueError:
        return {}
    return {name: list(frame[name]) for name in COPIED}


def check_provenance(archived: ArchivedStudy, report: VerifyReport, made: Provenance) -> None:
    """provenance.json says what the records say, and names the archived files."""
    where, files = f"{archived.products}/provenance.json", archived.unpacked.manifest.files
    stated = archived.stated_provenance()
    if stated is None:
        return
    for key in sorted(Provenance.model_fields.keys() - {*STATED, "registration"}):
        same = getattr(made, key) == getattr(stated, key)
        report.check(same, where, f"`{key}` is not what the records say", "links", "gather")
    digests: dict[str, Any] = {LOCK: stated.lock_sha256}
    digests |= {config_name(name): digest for name, digest in stated.config_files.items()}
    for name, digest in digests.items():
        same = name in files and files[name].sha256 == digest
        report.check(same, name, f"it is not the file that {where} names", "links")
    if set(archived.unpacked.manifest.config) != digests.keys() - {LOCK}:
        report.check(False, where, "its configuration files are not the archive's", "links")
    if stated.commit != archived.unpacked.manifest.commit:
        what = f"the table was made at commit {stated.commit}, the archive later"
        report.add("note", where, what)
    _check_registration(archived, report, where, stated)


def _check_registration(
    archived: ArchivedStudy, report: VerifyReport, where: str, stated: Provenance
) -> None:
    """What is stated of the registration is in it, and the deviations are those found here."""
    path = archived.study.preregistration
    if path is None:
        holds = stated.registration is None and not stated.deviations
        report.check(holds, where, "it names a registration, the study none", "links")
        return
    name = registration_name(path)
    file = archived.unpacked.root / name
    with report.collecting_errors(name):
        own, theirs = registered(path, file), stated.registration
        without: dict[str, Any] = {"siblings": {}}
        same = theirs is not None and theirs.model_copy(update=without) == own.model_copy(
            update=without
        )
        same = same and theirs is not None and theirs.siblings.items() <= own.siblings.items()
        report.check(same, name, f"it is not the registration that {where} describes", "links")
        if own.among:
            report.add("note", name, f"it is {own.among}")
        if len(report.same_code) < len(report.manifest.code):
            what = "the deviations are stated; only the code of the archive can find them again"
            report.add("note", name, what)
            return
        first = stated.first_answer_utc
        found = deviations(archived.study, archived.tasks, file, first, archived.world)
        what = f"the stated deviations are not those found ({'; '.join(found) or 'none'})"
        report.check(stated.deviations == found, where, what, "links")
