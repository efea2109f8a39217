"""All checks of an archive, in order."""

from __future__ import annotations

import gc
import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from fluency.archive.archived_study import (
    IMAGE_FILE,
    ArchivedStudy,
    check_yaml,
    read_archived_study,
)
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
    IMAGE,
    LOCK_FILE,
    PRICES_FILE,
    PROJECT_FILES,
    STUDY_FILE,
    Coverage,
    product_names,
    registration_name,
)
from fluency.archive.registration import siblings
from fluency.archive.unpack import UnpackedArchive, unpacked
from fluency.archive.world_files import WORLD_DOCUMENTS, WORLD_INDEX
from fluency.common.clock import parse_time
from fluency.common.errors import ArchiveError, UserError
from fluency.common.git import blob_name, day_of, files_at, git
from fluency.common.terminal import log_line
from fluency.core.config_files import merge, read_yaml
from fluency.core.provenance import ProvenanceCollector
from fluency.core.records import CONTROL_FILE
from fluency.core.schema import first_problem
from fluency.core.study import validate_study
from fluency.core.table import RECORD_TYPES, CellRecords, Row
from fluency.core.task_world import world_for
from fluency.core.tasks import ALL, SETS, resolve_task_ids, task_folders
from fluency.execution.image_content import SOURCES, content_sha256

MAX_CONFIG = 20


def verify_archive(path: Path) -> VerifyReport:
    """Check an archive file; ArchiveError where it is refused altogether (see tar_format.py)."""
    gc.disable()  # each collection would walk through all records, which hold no cycles
    try:
        with unpacked(path) as archive:
            return verify_unpacked(archive)[0]
    finally:
        gc.enable()


def verify_unpacked(archive: UnpackedArchive) -> tuple[VerifyReport, ArchivedStudy | None]:
    """Check evidence and scores. Returns the study too; None if it cannot be read."""
    start, manifest = time.monotonic(), archive.manifest
    ours = code_hashes()
    same = frozenset(stage for stage in ours if manifest.code.get(stage) == ours[stage])
    report = VerifyReport(archive.path, archive.sha256, manifest, same)
    for finding in archive.problems:
        report.add("ALTERED", finding.where, finding.what)
    report.checked["hashes"] = len(manifest.files) + 1
    archived = None
    with report.collecting_errors():
        check_commit(archive, report)
        archived = read_archived_study(archive)
        _verify(archived, report)
    report.seconds = time.monotonic() - start
    return report, archived


def _verify(archived: ArchivedStudy, report: VerifyReport) -> None:
    expected = {STUDY_FILE, WORLD_INDEX, *PROJECT_FILES.values(), IMAGE_FILE}
    expected |= check_config(archived, report)
    check_tasks(archived, report)
    expected |= check_worlds(archived, report)
    check_image(archived, report)
    rows, collector, used = _check_cells(archived, report)
    log_line(
        f"checked {report.checked['links']:,} links, judged {report.checked['scores']:,} cells"
    )
    with report.collecting_errors():
        if archived.control:
            check_control(archived, report, archived.control)
    check_complete(archived, report, rows)
    check_table(archived, report, rows)
    with report.collecting_errors():
        try:
            made = collector.provenance(archived.tasks, [], archived.start_up_s)
        except ValidationError as error:
            raise ArchiveError(first_problem(error), where="results") from None
        check_provenance(archived, report, made)
    check_unexpected_files(archived, report, expected | used)


def check_commit(archive: UnpackedArchive, report: VerifyReport) -> None:
    """Its day is possible, and its files of the project are the stated commit's."""
    manifest, where = archive.manifest, MANIFEST_NAME
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    is_past = parse_time(manifest.utc_date) <= tomorrow
    report.check(is_past, where, f"its day, {manifest.utc_date}, has not come yet", "links")
    if manifest.dirty:
        report.add("note", where, "made with uncommitted changes, which no commit holds")
        return
    there = files_at(manifest.commit)
    if not there:
        what = f"git does not know commit {manifest.commit} here, so its files were not compared"
        report.add("note", where, what)
        return
    is_later = (day_of(manifest.commit) or "") <= manifest.utc_date
    report.check(is_later, where, "its day is before that of its commit", "links")
    names = {name: path for path, name in PROJECT_FILES.items()}
    names |= {name: name for name in manifest.files if name.startswith(("sandbox/", "tasks/"))}
    for name, path in names.items():
        if name in manifest.files and path in there:
            same = archive.holds(name) and blob_name(archive.read(name)) == there[path]
            report.check(same, name, "it is not the file of the stated commit", "links")


def check_config(archived: ArchivedStudy, report: VerifyReport) -> set[str]:
    """The study is what its configuration files give; returns their names."""
    names, root = archived.unpacked.manifest.config, archived.unpacked.root
    where, what = STUDY_FILE, f"it is not the study that {', '.join(names[:MAX_CONFIG])} give"
    values: dict[str, Any] = {}
    same = False
    try:
        if len(set(names)) == len(names) <= MAX_CONFIG:
            for name in names:
                check_yaml(archived.unpacked.read(name), name)
                values = merge(values, read_yaml(root / name))
            values["confirm"] = archived.study.confirm
            same = validate_study(values, [root / name for name in names]) == archived.study
    except UserError as error:
        where, what = error.where.replace(f"{root}/", ""), error.what
    report.check(same, where, what, "links", "gather")
    return set(names)


def check_tasks(archived: ArchivedStudy, report: VerifyReport) -> None:
    """The tasks of a study that names a set are the set's, here or at its commit."""
    wanted, manifest = archived.study.tasks, archived.unpacked.manifest
    if not isinstance(wanted, str):
        return
    try:
        here = set(resolve_task_ids(wanted, task_folders()))
    except UserError:
        here = set()
    there = set() if manifest.dirty else set_at(manifest.commit, wanted)
    if archived.task_of.keys() not in (here, there):
        what = f"its {len(archived.tasks)} tasks are not this checkout's `{wanted}` ({len(here)})"
        report.add("NOT CHECKED", STUDY_FILE, what)


def set_at(commit: str, name: str) -> set[str]:
    """The tasks of a set at a commit; empty where git lacks it."""
    files = files_at(commit)
    if name == ALL:
        return {path.split("/")[1] for path in files if re.fullmatch("tasks/[^/]+/task.yaml", path)}
    sets = yaml.safe_load(git("show", f"{commit}:tasks/{SETS}") or b"") if files else None
    return set(sets[name]["tasks"]) if sets and name in sets else set()


def check_worlds(archived: ArchivedStudy, report: VerifyReport) -> set[str]:
    """Each world gives its hash, and the generator makes the same; returns their files."""
    used = set[str]()
    for task in archived.tasks:
        with report.collecting_errors(f"tasks/{task.id}"):
            for seed in archived.study.seeds:
                folder, world = archived.index[task.id][str(seed)], archived.world(task, seed)
                used |= {f"{folder}/{name}" for name in ("tree.tar", *WORLD_DOCUMENTS)}
                report.check(world.seed == seed, folder, "it is of another seed", "worlds")
                if task.id in archived.judged_here and "score" in report.same_code:
                    same = world_for(task, seed).sha256 == world.sha256
                    what = f"the generator makes another world for {task.id}"
                    report.check(same, folder, what, "worlds")
    return used


def check_image(archived: ArchivedStudy, report: VerifyReport) -> None:
    """The sources that the image was built from are those in the archive."""
    with report.collecting_errors():
        file = archived.image_file
        if file is None:
            return
        same = all(archived.unpacked.holds(f"sandbox/{name}") for name in SOURCES)
        folder = archived.unpacked.root / "sandbox"
        same = same and content_sha256.__wrapped__(folder) == file.image.content_sha256
        what = "the archived sources are not those the image was built from"
        report.check(same, "sandbox", what, "links", "image")


def _check_cells(
    archived: ArchivedStudy, report: VerifyReport
) -> tuple[list[Row], ProvenanceCollector, set[str]]:
    """Check each cell's records, links, score and row; returns the files that they are in."""
    rows, used = list[Row](), set[str]()
    collector = ProvenanceCollector(archived.study)
    for cell in archived.cells:
        task, records = archived.task_of[cell.task], CellRecords(None, None, None)
        with report.collecting_errors():
            records = archived.records(cell)
            check_cell(archived, report, cell, task, records)
            check_score(archived, report, cell, task, records)
        collector.add(records)
        stages = [stage for stage, record in zip(RECORD_TYPES, records, strict=True) if record]
        used |= {f"results/{stage}/{cell.path}.json" for stage in stages}
        if records.generation:
            key = records.generation.answer.request_key
            used.add(f"answers/{key[:2]}/{key}.json")
        with report.collecting_errors(cell.path):
            rows.append(archived.row(cell, records))
    return rows, collector, used


def check_complete(archived: ArchivedStudy, report: VerifyReport, rows: list[Row]) -> None:
    """The manifest's state of the study is what the records say, and no file is left out."""
    manifest, coverage = archived.unpacked.manifest, Coverage(rows)
    missing = coverage.missing
    for holds, what in (
        (manifest.cells == len(archived.cells), "`cells` is not the size of the design"),
        (sorted(manifest.missing) == sorted(missing), "`missing` is not what the records say"),
        (manifest.partial == bool(manifest.missing), "`partial` contradicts `missing`"),
        (manifest.not_measured == coverage.not_measured, "`not_measured` is not in the records"),
        (manifest.image_included == (IMAGE in manifest.files), "`image_included` is wrong"),
    ):
        report.check(holds, MANIFEST_NAME, what, "links")
    needed = ["config.yaml", LOCK_FILE, PRICES_FILE]
    if not manifest.partial:
        needed += [f"{archived.products}/{name}" for name in ("cells.csv", "provenance.json")]
        needed += [f"{archived.products}/{CONTROL_FILE}"] * archived.study.control
    if any(name.startswith("results/executions/") for name in manifest.files):
        needed += [IMAGE_FILE, "sandbox/Dockerfile"]
    for name in needed:
        report.check(name in manifest.files, name, "the archive does not hold it", "links")


def check_unexpected_files(
    archived: ArchivedStudy, report: VerifyReport, expected: set[str]
) -> None:
    """Only products, evidence and notes for the reader are in an archive."""
    if archived.study.preregistration:
        own = archived.unpacked.root / registration_name(archived.study.preregistration)
        expected = expected | {registration_name(own.name)}
        with report.collecting_errors():
            expected |= {registration_name(path.name) for path in siblings(own)}
    tasks = tuple(f"tasks/{task.id}/" for task in archived.tasks)
    files = archived.unpacked.manifest.files
    known = {*expected, "README.md", IMAGE, *product_names(archived.study, files)}
    damaged = {finding.where for finding in report.altered}
    for name in sorted(files.keys() - known - damaged):
        if not name.startswith(("sandbox/", *tasks)):
            report.check(False, name, "nothing in the study names it", "links")
