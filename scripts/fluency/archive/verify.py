"""All checks of an archive, in order."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from fluency.archive.archived_study import IMAGE_FILE, ArchivedStudy, read_archived_study
from fluency.archive.cell_chain import check_cell
from fluency.archive.code_hashes import code_hashes
from fluency.archive.findings import VerifyReport
from fluency.archive.judge_again import (
    check_control,
    check_provenance,
    check_score,
    check_table,
)
from fluency.archive.manifest import MANIFEST_NAME
from fluency.archive.pack import (
    LOCK_FILE,
    PRICES_FILE,
    PROJECT_FILES,
    README_FILE,
    missing_cells,
    product_names,
    unmeasured_shells,
)
from fluency.archive.unpack import UnpackedArchive, unpacked
from fluency.archive.world_files import world_folder
from fluency.common.clock import parse_time
from fluency.common.errors import ArchiveError
from fluency.common.git import blob_name, day_of, files_at
from fluency.common.terminal import log_line
from fluency.core.provenance import ProvenanceCollector
from fluency.core.records import CONTROL_FILE
from fluency.core.schema import first_problem
from fluency.core.table import Row
from fluency.core.task_world import world_for
from fluency.execution.image_content import SOURCES, content_sha256


def verify_archive(path: Path) -> VerifyReport:
    """Check an archive file; ArchiveError where it is refused altogether (see tar_format.py)."""
    with unpacked(path) as archive:
        return verify_unpacked(archive)[0]


def verify_unpacked(archive: UnpackedArchive) -> tuple[VerifyReport, ArchivedStudy | None]:
    """Check evidence and scores. Returns the study too; None if it cannot be read."""
    start, manifest = time.monotonic(), archive.manifest
    ours = code_hashes()
    same = frozenset(stage for stage in ours if manifest.code.get(stage) == ours[stage])
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
        check_table(archived, report, rows)
        check_unexpected_files(archived, report)
    report.seconds = time.monotonic() - start
    return report, archived


def check_commit(archive: UnpackedArchive, report: VerifyReport) -> None:
    """Its day is possible, and its files of the project are the stated commit's."""
    manifest, where = archive.manifest, MANIFEST_NAME
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    is_past = parse_time(manifest.utc_date) <= tomorrow
    report.check(where, is_past, f"its day, {manifest.utc_date}, has not come yet")
    if manifest.dirty:
        report.add("note", where, "made with uncommitted changes, which no commit holds")
        return
    there = files_at(manifest.commit)
    if not there:
        what = f"git does not know commit {manifest.commit} here, so its files were not compared"
        report.add("note", where, what)
        return
    is_later = (day_of(manifest.commit) or "") <= manifest.utc_date
    report.check(where, is_later, "its day is before its commit's")
    packed = {name: path for path, name in PROJECT_FILES.items()}
    for name in archive.places:
        path = packed.get(name, name)
        if path in there and name.startswith(("sandbox/", "tasks/", *packed)):
            same = blob_name(archive.read(name)) == there[path]
            report.check(name, same, "it is not the file of the stated commit")


def check_worlds(archived: ArchivedStudy, report: VerifyReport) -> None:
    """Each world gives its hash, and the generator makes the same."""
    for task in archived.tasks:
        for seed in archived.study.seeds:
            world = archived.world(task, seed)
            check = partial(report.check, world_folder(world))
            check(world.seed == seed, "it is of another seed")
            if task.id in archived.judged_here and "score" in report.same_code:
                same = world_for(task, seed).sha256 == world.sha256
                check(same, f"the generator makes another world for {task.id}")


def check_image(archived: ArchivedStudy, report: VerifyReport) -> None:
    """The sources that the image was built from are those in the archive."""
    if file := archived.image_file:
        folder = archived.unpacked.extracted(f"sandbox/{name}" for name in SOURCES) / "sandbox"
        same = content_sha256.__wrapped__(folder) == file.image.content_sha256
        what = "the archived sources are not those the image was built from"
        report.check("sandbox", same, what, "image")


def check_cells(archived: ArchivedStudy, report: VerifyReport) -> list[Row]:
    """Check each cell's records, links and score, and the provenance; returns the rows."""
    rows, collector = list[Row](), ProvenanceCollector(archived.study)
    for cell in archived.cells:
        with report.collecting_errors(cell.path):
            records = archived.records(cell)
            collector.add(records)
            rows.append(archived.row(cell, records))
            check_cell(archived, report, cell, records)
            check_score(archived, report, cell, records)
    links, judged = report.checked["evidence"], report.checked["scores"]
    log_line(f"checked {links:,} links, judged {judged:,} cells")
    try:
        made = collector.provenance(archived.tasks, [], archived.start_up_s)
    except ValidationError as error:
        raise ArchiveError(first_problem(error), where="results") from None
    check_provenance(archived, report, made)
    return rows


def check_complete(archived: ArchivedStudy, report: VerifyReport, rows: list[Row]) -> None:
    """The manifest's state of the study is what the records say, and no file is left out."""
    manifest = archived.unpacked.manifest
    check = partial(report.check, MANIFEST_NAME)
    same = manifest.cells == len(archived.cells)
    check(same, "`cells` is not the size of the design")
    same = sorted(manifest.missing) == sorted(missing_cells(rows))
    check(same, "`missing` is not what the records say")
    same = manifest.not_measured == unmeasured_shells(rows)
    check(same, "`not_measured` is not in the records")
    needed = [LOCK_FILE, PRICES_FILE]
    if not manifest.partial:
        needed += [f"{archived.products}/{name}" for name in ("cells.csv", "provenance.json")]
        needed += [f"{archived.products}/{CONTROL_FILE}"] * archived.study.control
    if any(name.startswith("results/executions/") for name in manifest.files):
        needed.append(IMAGE_FILE)
    for name in needed:
        report.check(name, name in manifest.files, "the archive does not hold it")


def check_unexpected_files(archived: ArchivedStudy, report: VerifyReport) -> None:
    """Only products, evidence and notes for the reader are in an archive."""
    unread = archived.unpacked.unread
    known = {*PROJECT_FILES.values(), README_FILE, *product_names(archived.study, unread)}
    for name in sorted(unread - known):
        report.check(name, name.startswith("sandbox/"), "nothing in the study names it")
