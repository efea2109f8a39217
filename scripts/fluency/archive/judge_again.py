"""Judge archived executions again, and compare scores, control, table and provenance."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from fluency.archive.archived_study import STATED, ArchivedStudy
from fluency.archive.cell_chain import is_archived_image, is_result_plausible
from fluency.archive.code_hashes import code_sha256
from fluency.archive.findings import VerifyReport
from fluency.archive.pack import LOCK_FILE, REGISTRATIONS, table_text
from fluency.archive.registration import is_about_code, with_registration
from fluency.common.errors import UserError
from fluency.core.provenance import Provenance
from fluency.core.records import CONTROL_FILE, ControlRun, Execution, Generation, Score
from fluency.core.shells import EXTRA_CONDITIONS
from fluency.core.study import Cell
from fluency.core.table import CellRecords, Row
from fluency.core.tasks import Task
from fluency.scoring.score_cell import score_cell
from fluency.scoring.verdict import judge

MARKS = (
    *("passed", "exit_ok", "content_ok", "not_measured", "structural_pass", "lenient_passed"),
    *(condition.score_field for condition in EXTRA_CONDITIONS),
)
"""Fields of a score that say whether something passes; the others put it into words."""


def rescored(
    archived: ArchivedStudy, task: Task, generation: Generation, execution: Execution
) -> Score:
    """Score an execution by this checkout's code in the archived world."""
    code = code_sha256("score")
    return score_cell(archived.study, task, generation, execution, archived.world, code)


def check_score(
    archived: ArchivedStudy, report: VerifyReport, cell: Cell, records: CellRecords
) -> None:
    """Judge a cell again: by the same code its score is the same, by other code its marks are."""
    generation, execution, stated = records
    if generation is None or execution is None or stated is None:
        return
    if cell.task not in archived.judged_here:
        what = "its code or check is not this checkout's, so its cells were not judged"
        report.add("NOT CHECKED", f"tasks/{cell.task}", what, "scores")
        return
    check = partial(
        report.check, f"results/scores/{cell.path}.json", stage="score", aspect="scores"
    )
    try:
        made = rescored(archived, archived.task_of[cell.task], generation, execution)
    except UserError as error:
        check(False, f"it cannot be judged: {error.what}")
        return
    kept = {"task_sha256": stated.task_sha256, "provenance": stated.provenance}
    same = made.model_copy(update=kept) == stated
    if stated.provenance != made.provenance or "score" not in report.same_code:
        same = _marks(made) == _marks(stated)
    check(same, f"judged again it is {_in_words(made)}, archived as {_in_words(stated)}")


def _marks(score: Score) -> list[object]:
    worlds = [(run.seed, run.condition, run.reading, run.passed) for run in score.worlds]
    return [sorted(worlds), *(getattr(score, mark) for mark in MARKS)]


def _in_words(score: Score) -> str:
    if score.passed is None:
        return "not measured"
    return "passed" if score.passed else f"failed ({score.failure_class}: {score.why[:80]})"


def check_control(archived: ArchivedStudy, report: VerifyReport) -> None:
    """It ran each task's first commands in the archived image, and is judged like a cell."""
    control, study = archived.control, archived.study
    if control is None:
        return
    check = partial(report.check, f"{archived.products}/{CONTROL_FILE}")
    wanted = {
        (task.id, shell, kind, command)
        for task in archived.tasks
        for shell in set(study.shells) - control.not_measured.keys()
        for kind, commands in (("reference", task.references), ("wrong", task.wrong))
        for command in commands.get(shell, [])[:1]
    }
    ran = [(run.task, run.shell, run.kind, run.command) for run in control.runs]
    same = set(ran) == wanted and len(ran) == len(wanted)
    if not check(same, "its runs are not the tasks' first commands", "control"):
        return
    same = is_archived_image(archived, control.image)
    check(same, "its image is not the one in results/image.json")
    limits = study.sandbox.limits
    seeds = {str(seed) for seed in study.seeds}
    for run in control.runs:
        same = set(run.results) == seeds and all(
            is_result_plausible(result, limits.timeout_s[run.shell], limits.output_bytes)
            for result in run.results.values()
        )
        name = f"{run.task}, {run.shell}"
        if check(same, f"{name}: its results contradict the study") and (
            run.task in archived.judged_here
        ):
            same = _control_passes(archived, run) == run.passed
            what = f"{name}, {run.kind}: judged again it ends differently"
            check(same, what, "score", "scores")


def _control_passes(archived: ArchivedStudy, run: ControlRun) -> bool:
    task = archived.task_of[run.task]
    return all(
        judge(task, result, task.expected(archived.world(task, int(seed)), result.processes)).passed
        for seed, result in run.results.items()
    )


def check_table(archived: ArchivedStudy, report: VerifyReport, rows: Sequence[Row]) -> None:
    """`cells.csv` is what this code makes of the records: compared as bytes, never parsed."""
    where = f"{archived.products}/cells.csv"
    if where in archived.unpacked.places:
        same = archived.unpacked.read(where) == table_text(rows).encode()
        report.check(where, same, "it does not say what the records say", "gather")


def check_provenance(archived: ArchivedStudy, report: VerifyReport, made: Provenance) -> None:
    """provenance.json says what the records say, and names the archived files."""
    where, manifest = f"{archived.products}/provenance.json", archived.unpacked.manifest
    stated = archived.stated_provenance
    if stated is None:
        return
    for key in sorted(Provenance.model_fields.keys() - {*STATED}):
        same = getattr(made, key) == getattr(stated, key)
        report.check(where, same, f"`{key}` is not what the records say", "gather")
    if stated.commit != manifest.commit:
        what = f"the table was made at commit {stated.commit}, the archive later"
        report.add("note", where, what)
    elif LOCK_FILE in manifest.files:
        same = manifest.files[LOCK_FILE].sha256 == stated.lock_sha256
        report.check(LOCK_FILE, same, f"it is not the file that {where} names")
    _check_registration(archived, report, where, stated)


def _check_registration(
    archived: ArchivedStudy, report: VerifyReport, where: str, stated: Provenance
) -> None:
    """What is stated of the registration is in it, and the deviations are those found here.

    Code that changed after the registration, or after the table was made, contradicts nothing.
    """
    path, theirs = archived.registration, stated.registration
    made = Provenance(first_answer_utc=stated.first_answer_utc)
    made = with_registration(made, archived.study, archived.tasks, path, archived.world)
    if path and (own := made.registration):
        name = f"{REGISTRATIONS}/{path.name}"
        same = theirs is not None and (
            theirs.siblings.items() <= own.siblings.items()
            and theirs.model_copy(update={"siblings": own.siblings}) == own
        )
        report.check(name, same, f"it is not the registration that {where} describes")
        held = {file.name for file in path.parent.iterdir()}
        for other in sorted(held - {path.name, *own.siblings}):
            report.check(f"{REGISTRATIONS}/{other}", False, "nothing in the study names it")
        if own.among:
            report.add("note", name, f"it is {own.among}")
        if of_code := sorted(filter(is_about_code, {*made.deviations, *stated.deviations})):
            report.add("note", name, f"code differs from the registered: {'; '.join(of_code)}")
    else:
        report.check(where, theirs is None, "it names a registration, the study none")
    found, said = (
        [deviation for deviation in one.deviations if not is_about_code(deviation)]
        for one in (made, stated)
    )
    what = f"the stated deviations are not those found ({'; '.join(found) or 'none'})"
    report.check(where, found == said, what, "generate")
