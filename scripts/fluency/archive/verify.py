"""All checks of an archive, in order, and the commands that print and open what was verified."""

from __future__ import annotations

import os
import time
import webbrowser
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from fluency.archive.archived_study import (
    IMAGE_FILE,
    STATED,
    ArchivedStudy,
    read_archived_study,
    write_opened,
)
from fluency.archive.cell_chain import check_cell, is_result_plausible
from fluency.archive.findings import VerifyReport
from fluency.archive.manifest import MANIFEST_NAME
from fluency.archive.pack import (
    LOCK_FILE,
    PROJECT_FILES,
    README_FILE,
    how_complete,
    product_names,
    table_text,
)
from fluency.archive.registration import is_about_code, with_registration
from fluency.archive.unpack import UnpackedArchive, unpacked
from fluency.archive.world_files import world_folder
from fluency.common.clock import parse_time
from fluency.common.errors import UserError
from fluency.common.git import blob_name, day_of, files_at
from fluency.common.paths import ARCHIVES
from fluency.common.terminal import print_lines
from fluency.core.code_hashes import code_hashes
from fluency.core.provenance import Provenance, ProvenanceCollector
from fluency.core.records import CONTROL_FILE, ControlRun
from fluency.core.table import Row
from fluency.core.task_world import world_for
from fluency.execution.image_content import SOURCES, content_sha256
from fluency.scoring.verdict import judge


def verify(archive: Path, record: Path | None = None) -> int:
    """Verify an archive and print what was found; 0: PROVEN, 1: ALTERED, 3: NOT CHECKED.

    Args:
        record: the decision record that must name this very file.
    """
    text = record.read_text(encoding="utf-8", errors="replace") if record else ""
    if record and "\n- SHA-256 of the archive: " not in text:
        what, hint = "it names no archive's SHA-256", "name a record that `make decision` wrote"
        raise UserError(what, where=str(record), hint=hint)
    report = verify_archive(archive)
    if record:
        what = f"it is not the archive that {record} is based on"
        report.check(archive.name, f"- SHA-256 of the archive: `{report.sha256}`" in text, what)
    print_lines(report.lines())
    return report.exit_code


def open_archive(archive: Path, into: Path | None = None, *, verbose: bool = False) -> int:
    """Verify an archive, make its report and explorer again, and open them on a screen.

    Of an altered archive nothing is written. The exit code is the verification's.
    """
    with unpacked(archive) as files:
        report, archived = verify_unpacked(files)
        print_lines(report.lines() if verbose or report.exit_code else report.lines()[-1:])
        if archived is None or report.altered:
            return report.exit_code
        folder = into or ARCHIVES / "opened" / archive.name.removesuffix(".tar.zst")
        written = write_opened(archived, folder)
    print("Report:   {}\nExplorer: {}".format(*written))
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        for path in written:
            webbrowser.open(path.resolve().as_uri())
    return report.exit_code


def verify_archive(path: Path) -> VerifyReport:
    """Check an archive file; ArchiveError where it is refused altogether (see unpack.py)."""
    with unpacked(path) as archive:
        return verify_unpacked(archive)[0]


def verify_unpacked(archive: UnpackedArchive) -> tuple[VerifyReport, ArchivedStudy | None]:
    """Check evidence and scores. Returns the study too; None if it cannot be read."""
    start, manifest = time.monotonic(), archive.manifest
    same = frozenset(stage for stage, _ in code_hashes().items() & manifest.code.items())
    report = VerifyReport(archive.path, archive.sha256, manifest, same)
    for finding in archive.problems:
        report.add("ALTERED", finding.where, finding.what)
    report.checked["evidence"] = len(manifest.files) + 1
    archived = None
    with report.collecting_errors():
        check_commit(archive, report)
        archived = read_archived_study(archive)
        check_worlds(archived, report)
        check_image(archived, report)
        rows = check_cells(archived, report)
        check_control(archived, report)
        check_complete(archived, report, rows)
        check_unexpected_files(archived, report)
    report.seconds = time.monotonic() - start
    return report, archived


def check_commit(archive: UnpackedArchive, report: VerifyReport) -> None:
    """Its day is possible, and its files of the project are the stated commit's."""
    manifest, where = archive.manifest, MANIFEST_NAME
    report.check(
        where,
        parse_time(manifest.utc_date) <= datetime.now(UTC) + timedelta(days=1),
        f"its day, {manifest.utc_date}, has not come yet",
    )
    if manifest.dirty:
        report.add("note", where, "made with uncommitted changes, which no commit holds")
        return
    there = files_at(manifest.commit)
    if not there:
        report.add(
            "note",
            where,
            f"git does not know commit {manifest.commit} here, so its files were not compared",
        )
        return
    report.check(
        where,
        (day_of(manifest.commit) or "") <= manifest.utc_date,
        "its day is before its commit's",
    )
    for name in archive.places:
        path = PROJECT_FILES.get(name, name)
        if path in there and name != README_FILE:
            report.check(
                name,
                blob_name(archive.read(name)) == there[path],
                "it is not the file of the stated commit",
            )


def check_worlds(archived: ArchivedStudy, report: VerifyReport) -> None:
    """Each world gives its hash, and the generator makes the same."""
    for task in archived.tasks:
        for seed in archived.study.seeds:
            world = archived.world(task, seed)
            folder = world_folder(world)
            report.check(folder, world.seed == seed, "it is of another seed")
            if task.id in archived.judged_here and "score" in report.same_code:
                report.check(
                    folder,
                    world_for(task, seed).sha256 == world.sha256,
                    f"the generator makes another world for {task.id}",
                )


def check_image(archived: ArchivedStudy, report: VerifyReport) -> None:
    """The sources that the image was built from are those in the archive."""
    if file := archived.image_file:
        folder = archived.unpacked.extracted(f"sandbox/{name}" for name in SOURCES) / "sandbox"
        report.check(
            "sandbox",
            content_sha256.__wrapped__(folder) == file.image.content_sha256,
            "the archived sources are not those the image was built from",
            "image",
        )


def check_cells(archived: ArchivedStudy, report: VerifyReport) -> list[Row]:
    """Check each cell's records, links and score, and the provenance; returns the rows."""
    rows, collector = list[Row](), ProvenanceCollector(archived.study)
    for cell in archived.cells:
        with report.collecting_errors(cell.path):
            records = archived.records(cell)
            collector.add(records)
            rows.append(archived.row(cell, records))
            check_cell(archived, report, cell, records)
    check_provenance(archived, report, archived.collected(collector))
    return rows


def check_provenance(archived: ArchivedStudy, report: VerifyReport, made: Provenance) -> None:
    """provenance.json says what records and registration say, and names the archived files.

    Code that changed after the registration, or after the table was made, contradicts nothing.
    """
    where, manifest = f"{archived.products}/provenance.json", archived.unpacked.manifest
    stated = archived.stated_provenance
    if stated is None:
        return
    study, tasks = archived.study, archived.tasks
    made = with_registration(made, study, tasks, archived.registration, archived.world)
    for key in sorted(Provenance.model_fields.keys() - {*STATED}):
        report.check(
            where,
            getattr(made, key) == getattr(stated, key),
            f"`{key}` is not what the records say",
            "gather",
        )
    own, theirs = made.registration, stated.registration
    if own and theirs and theirs.siblings.items() <= own.siblings.items():
        # Others may have been registered after the table was made.
        theirs = theirs.model_copy(update={"siblings": own.siblings})
    report.check(where, own == theirs, "its registration is not the archived one")
    if own and own.among:
        report.add("note", where, f"the registration is {own.among}")
    deviations = {*made.deviations, *stated.deviations}
    if of_code := sorted(filter(is_about_code, deviations)):
        report.add("note", where, f"code differs from the registered: {'; '.join(of_code)}")
    found, said = ({*one.deviations} - {*of_code} for one in (made, stated))
    report.check(
        where,
        found == said,
        f"the stated deviations are not those found ({'; '.join(sorted(found)) or 'none'})",
        "generate",
    )
    if stated.commit != manifest.commit:
        report.add(
            "note", where, f"the table was made at commit {stated.commit}, the archive later"
        )
    elif LOCK_FILE in manifest.files:
        report.check(
            LOCK_FILE,
            manifest.files[LOCK_FILE].sha256 == stated.lock_sha256,
            f"it is not the file that {where} names",
        )


def check_control(archived: ArchivedStudy, report: VerifyReport) -> None:
    """It ran each task's first commands in the archived image, and is judged like a cell."""
    control, study = archived.control, archived.study
    if control is None:
        return
    check = partial(report.check, f"{archived.products}/{CONTROL_FILE}")
    wanted = [
        (task.id, shell, kind, command)
        for task in archived.tasks
        for shell in study.shells
        for kind, commands in (("reference", task.references), ("wrong", task.wrong))
        for command in commands.get(shell, [])[:1]
        if shell not in control.not_measured
    ]
    ran = ((run.task, run.shell, run.kind, run.command) for run in control.runs)
    same = sorted(ran) == sorted(wanted)
    if not check(same, "its runs are not the tasks' first commands", "control"):
        return
    check(archived.is_its_image(control.image), "its image is not the one in results/image.json")
    limits = study.sandbox.limits
    for run in control.runs:
        name = f"{run.task}, {run.shell}"
        same = set(run.results) == set(map(str, study.seeds)) and all(
            is_result_plausible(result, limits.timeout_s[run.shell], limits.output_bytes)
            for result in run.results.values()
        )
        check(same, f"{name}: its results contradict the study")
        if same and run.task in archived.judged_here:
            check(
                _passes(archived, run) == run.passed,
                f"{name}, {run.kind}: judged again it ends differently",
                "score",
                "scores",
            )


def _passes(archived: ArchivedStudy, run: ControlRun) -> bool:
    task = archived.task_of[run.task]
    return all(
        judge(task, result, task.expected(archived.world(task, int(seed)), result.processes)).passed
        for seed, result in run.results.items()
    )


def check_complete(archived: ArchivedStudy, report: VerifyReport, rows: Sequence[Row]) -> None:
    """Manifest and table are what the records say, and no file is left out."""
    manifest, products = archived.unpacked.manifest, archived.products
    for key, made in how_complete(rows).items():
        report.check(
            MANIFEST_NAME,
            getattr(manifest, key) == made,
            f"`{key}` is not what the study and its records say",
        )
    table = f"{products}/cells.csv"
    needed = [*PROJECT_FILES]
    if not manifest.partial:
        needed += [table, f"{products}/provenance.json"]
        needed += [f"{products}/{CONTROL_FILE}"] * archived.study.control
    if any(name.startswith("results/executions/") for name in manifest.files):
        needed.append(IMAGE_FILE)
    for name in needed:
        report.check(name, name in manifest.files, "the archive does not hold it")
    if table in archived.unpacked.places:  # compared as bytes, never parsed
        report.check(
            table,
            archived.unpacked.read(table) == table_text(rows).encode(),
            "it does not say what the records say",
            "gather",
        )


def check_unexpected_files(archived: ArchivedStudy, report: VerifyReport) -> None:
    """Only products, evidence and notes for the reader are in an archive."""
    unread = archived.unpacked.unread
    known = {*PROJECT_FILES, README_FILE, *product_names(archived.study, unread)}
    for name in sorted(unread - known):
        report.check(name, name.startswith("sandbox/"), "nothing in the study names it")
