"""All checks of an archive, in order."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fluency.archive.archived_study import (
    IMAGE_FILE,
    ArchivedStudy,
    check_yaml,
    read_archived_study,
    same_worlds,
)
from fluency.archive.cell_chain import check_cell, is_archived_image
from fluency.archive.code_hashes import RULES, code_hashes
from fluency.archive.crate import CRATE_FILE
from fluency.archive.findings import VerifyReport
from fluency.archive.manifest import MANIFEST_NAME, Manifest
from fluency.archive.pack import IMAGE, PROJECT_FILES, STUDY_FILE, Coverage, registration_name
from fluency.archive.private_part import (
    HELD_OUT,
    belongs_to_private_task,
    hidden_tasks,
    hidden_tasks_json,
    world_folders,
)
from fluency.archive.rebuild import LOCK, rebuild_products, rebuild_score
from fluency.archive.registration import siblings
from fluency.archive.unpack import UnpackedArchive, unpacked
from fluency.archive.untrusted_json import as_record
from fluency.archive.world_files import WORLD_INDEX
from fluency.common.canonical import canonical_json
from fluency.common.errors import UserError
from fluency.common.files import sha256, sha256_file
from fluency.common.git import export, file_at, in_history
from fluency.common.paths import ROOT, TASKS
from fluency.common.terminal import log_line
from fluency.common.words import plural
from fluency.core.config_files import merge, read_yaml
from fluency.core.records import CONTROL_FILE
from fluency.core.study import Study
from fluency.core.table import PRODUCTS, RECORD_TYPES, CellRecords, Row
from fluency.core.tasks import ALL, task_sets
from fluency.execution.image_content import SOURCES, content_sha256
from fluency.execution.protocol import PROTOCOL

PRICES = "prices/policies.yaml"


def verify_archive(path: Path, *, private: Path | None = None) -> VerifyReport:
    """Check an archive file; ArchiveError where it is refused altogether (see tar_format.py).

    private: the part that holds the files of private tasks.
    """
    gc.disable()  # each collection would walk through all records, which hold no cycles: a sixth of the time
    try:
        with unpacked(path, private=private) as archive:
            return verify_unpacked(archive)[0]
    finally:
        gc.enable()


def verify_unpacked(archive: UnpackedArchive) -> tuple[VerifyReport, ArchivedStudy | None]:
    """Check hashes, completeness, schemas and links, then rebuild everything from the records.

    Returns the study too; None where it cannot be read.
    """
    start, manifest = time.monotonic(), archive.manifest
    log_line(f"unpacked {len(manifest.files):,} files")
    ours = code_hashes()
    same = {stage for stage in ours if manifest.code.get(stage) == ours[stage]}
    same |= (
        {"registration"} if same == ours.keys() else set()
    )  # a registration is about every stage
    report = VerifyReport(archive.path, archive.sha256, manifest, frozenset(same))
    for finding in archive.problems:
        report.add_problem(finding.where, finding.what)
    report.checked["hashes"] = len(manifest.files) + 1
    _check_code(manifest, report)
    archived, accounted_for = None, set[str]()
    with report.collecting_errors():
        archived = read_archived_study(archive)
        accounted_for = _verify(archived, report)
    report.unchecked_files = sorted(manifest.files.keys() - accounted_for - archive.absent)
    report.seconds = time.monotonic() - start
    return report, archived


def _check_code(manifest: Manifest, report: VerifyReport) -> None:
    """The code it states is that of its commit, where git knows it. Earlier rules gave other hashes of other stages."""
    if manifest.dirty:
        return
    with TemporaryDirectory(prefix="fluency-commit-") as folder:
        root = Path(folder)
        if not export(manifest.commit, root):
            what = f"git does not know commit {manifest.commit} here: whether its code is the stated one was not checked"
            report.add_note(MANIFEST_NAME, what)
            return
        same_rules = all(
            (root / n).is_file() and sha256_file(root / n) == sha256_file(ROOT / n) for n in RULES
        )
        for stage, digest in code_hashes(manifest.environment, root).items():
            if same_rules or stage in report.same_code_stages:
                what = (
                    f"the code it states for `{stage}` is not that of its commit {manifest.commit}"
                )
                report.check(manifest.code.get(stage) == digest, MANIFEST_NAME, what, "code")


def _verify(archived: ArchivedStudy, report: VerifyReport) -> set[str]:
    """All checks after the hashes; returns the files of which more than the hash was checked."""
    accounted_for = {STUDY_FILE, WORLD_INDEX, *check_config(archived, report)}
    for check in (check_worlds, check_tasks, check_prices, check_image):
        accounted_for |= check(archived, report)
    rows, used = _check_cells(archived, report)
    log_line(
        f"checked {report.checked['links']:,} links, rescored {report.checked['scores']:,} cells"
    )
    accounted_for |= used | check_control(archived, report)
    check_complete(archived, report, rows)
    accounted_for |= check_hidden_tasks(archived, report, rows)
    accounted_for |= rebuild_products(archived, report, rows)
    if archived.study.preregistration:
        own = archived.root / registration_name(archived.study.preregistration)
        accounted_for.add(registration_name(own.name))
        with suppress(UserError):  # `rebuild_products` names it
            accounted_for |= {registration_name(path.name) for path in siblings(own)}
    check_unexpected_files(archived, report, accounted_for)
    log_line(f"rebuilt {report.checked['products']} products")
    return accounted_for


def check_config(archived: ArchivedStudy, report: VerifyReport) -> list[str]:
    """The study is what its configuration files give; returns their names. An older archive states no order."""
    manifest, study = archived.unpacked.manifest, archived.study
    files = manifest.config or [
        "config.yaml",
        *sorted(name for name in manifest.files if name.startswith("config/")),
    ]
    where, what = STUDY_FILE, f"it is not the study that {', '.join(files)} give"
    try:
        values: dict[str, Any] = {}
        for name in files:
            check_yaml(archived.unpacked, name)
            values = merge(values, read_yaml(archived.root / name))
        derived = as_record(Study, values | {"confirm": study.confirm}, ", ".join(files))
        # What the files leave out follows from the defaults of the code that made the archive.
        holds = _agree(values, derived.model_dump(mode="json"), study.model_dump(mode="json"))
        holds = holds and (derived == study or "gather" not in report.same_code_stages)
    except UserError as error:
        holds, where, what = False, error.where, error.what
    report.check(holds, where, what, "files", None if manifest.config else "archive")
    return files


def _agree(named: Any, derived: Any, stated: Any) -> bool:
    """Whether two studies have the same values for all that configuration files name."""
    if isinstance(named, dict) and isinstance(derived, dict) and isinstance(stated, dict):
        keys = named.keys() & derived.keys() & stated.keys()
        return all(_agree(named[key], derived[key], stated[key]) for key in keys)
    if isinstance(named, list) and isinstance(derived, list) and isinstance(stated, list):
        return len(derived) == len(stated) and all(map(_agree, named, derived, stated))
    return bool(derived == stated)


def check_worlds(archived: ArchivedStudy, report: VerifyReport) -> set[str]:
    """Each world gives its hash; for runnable tasks this checkout's generator makes the same."""
    files, used = archived.unpacked.manifest.files, set[str]()
    for task in archived.open_tasks.values():
        with report.collecting_errors(f"tasks/{task.id}"):
            for seed in archived.study.seeds:
                world = archived.world(task, seed)
                folder = archived.index[task.id][str(seed)]
                used.add(folder)
                report.check(
                    world.seed == seed, folder, f"it is not the world of seed {seed}", "worlds"
                )
            if task.id in archived.runnable:
                what = f"the generator makes other worlds for {task.id}"
                report.check(same_worlds(archived, task), "worlds", what, "worlds", "score")
    names = (
        {name for name in files if name.startswith("worlds/")}
        - archived.unpacked.absent
        - {WORLD_INDEX}
    )
    for name in sorted(name for name in names if name.rpartition("/")[0] not in used):
        report.check(False, name, "it belongs to no world of the study", "worlds")
    return names


def check_tasks(archived: ArchivedStudy, report: VerifyReport) -> set[str]:
    """They are the set's that the study names. A task whose code is not this project's is not run: its scores stay
    unproven.
    """
    used, named = set[str](), archived.study.tasks
    if isinstance(named, str) and named != ALL:
        known, what = task_sets().get(named), f"the archived tasks are not those of the set {named}"
        same = known is not None and set(known.tasks) == {task.id for task in archived.tasks}
        report.check(same, STUDY_FILE, what, "files", "report")
    for name in archived.open_tasks:
        where = f"tasks/{name}"
        if name not in archived.runnable:
            what = "it is not this checkout's task; its code was not run, its scores were not made again"
            report.add_unproven(where, what, "scores")
        elif name in archived.text_changed:
            what = "its text is not this checkout's; its code and its check are, so its scores were made again"
            report.add_unproven(where, what, "files")
        else:
            used |= {
                file for file in archived.unpacked.manifest.files if file.startswith(f"{where}/")
            }
    return used


def check_prices(archived: ArchivedStudy, report: VerifyReport) -> set[str]:
    """The prices are those that the requests were made with: this checkout's, or its commit's."""
    manifest, table = archived.unpacked.manifest, "scripts/fluency/generation/policies.yaml"
    if PRICES in manifest.files:
        stated = manifest.files[PRICES].sha256
        at_commit = file_at(manifest.commit, table) if in_history(manifest.commit) else None
        same = stated == sha256_file(ROOT / table) or (
            at_commit is not None and stated == sha256(at_commit)
        )
        report.check(
            same, PRICES, "it is not the price table of this checkout", "files", "generate"
        )
    return {PRICES}


def check_image(archived: ArchivedStudy, report: VerifyReport) -> set[str]:
    """The sources that the image was built from are those in the archive."""
    file = None
    with report.collecting_errors():
        file = archived.image_file
    if file is None:
        return set()
    # An earlier image was built from other sources, and its hash says from which. `identity.py` went with protocol 8.
    folder = archived.root / "sandbox"
    sources = tuple(
        name for name in (*SOURCES, "identity.py") if archived.unpacked.holds(f"sandbox/{name}")
    )
    hashes = [content_sha256(folder, sources, protocol) for protocol in (PROTOCOL, 7)]
    # At protocol 2 the shells were not yet part of the hash.
    oldest = {"protocol": 2} | {name: sha256_file(folder / name) for name in sources}
    same = file.image.content_sha256 in (*hashes, sha256(canonical_json(oldest)))
    report.check(
        same,
        "sandbox",
        "the archived sources are not those the image was built from",
        "files",
        "image",
    )
    return {f"sandbox/{name}" for name in sources} | {IMAGE_FILE}


def _check_cells(archived: ArchivedStudy, report: VerifyReport) -> tuple[list[Row], set[str]]:
    """Every cell's records, links, score and row; and the names of the records and answers."""
    rows, used = list[Row](), set[str]()
    for cell in archived.cells:
        records = CellRecords(None, None, None)
        with report.collecting_errors():
            records = archived.records(cell)
            if task := archived.open_tasks.get(cell.task):
                check_cell(archived, report, cell, task, records)
                if cell.task in archived.runnable:
                    rebuild_score(archived, report, cell, task, records)
            elif any(records):
                report.check(
                    False, cell.path, "it has records though its task is held out", "links"
                )
            if cell.task not in archived.runnable and (
                records.score is not None or cell in archived.declared_rows
            ):
                report.not_rescored[cell.task] += 1
        stages = [stage for stage, record in zip(RECORD_TYPES, records, strict=True) if record]
        used |= {f"results/{stage}/{cell.path}.json" for stage in stages}
        if records.generation:
            key = records.generation.answer.request_key
            used.add(f"answers/{key[:2]}/{key}.json")
        with report.collecting_errors(cell.path):
            rows.append(archived.row(cell, records))
    return rows, used


def check_control(archived: ArchivedStudy, report: VerifyReport) -> set[str]:
    """The control ran the first reference and wrong command of each task that is shown, in the archived image."""
    name = f"results/{archived.study.study}/{CONTROL_FILE}"
    control = None
    with report.collecting_errors():
        control = archived.control
    if control is not None:
        wanted = {
            (task.id, shell, kind, command)
            for task in archived.open_tasks.values()
            if archived.study.show_private or not task.private
            for shell in set(archived.study.shells) - control.not_measured.keys()
            for kind, commands in (("reference", task.references), ("wrong", task.wrong))
            for command in commands.get(shell, [])[:1]
        }
        ran = [(run.task, run.shell, run.kind, run.command) for run in control.runs]
        same = set(ran) == wanted and len(ran) == len(wanted)
        report.check(same, name, "its runs are not the tasks' first commands", "files", "control")
        report.check(
            is_archived_image(archived, control.image),
            name,
            f"its image is not in {IMAGE_FILE}",
            "files",
        )
    return {name}


def check_complete(archived: ArchivedStudy, report: VerifyReport, rows: Sequence[Row]) -> None:
    """What the manifest says of the study's state is what the records say, and no file is left out."""
    manifest = archived.unpacked.manifest
    coverage = Coverage(list(rows))
    missing = coverage.missing
    stated = (
        f"{len(manifest.missing)} missing cells, there are {len(missing)}: {', '.join(missing[:3])}"
    )
    for holds, what in (
        (manifest.cells == len(archived.cells), "`cells` is not the size of the design"),
        (sorted(manifest.missing) == sorted(missing), f"it states {stated}"),
        (manifest.partial == bool(manifest.missing), "`partial` contradicts `missing`"),
        (
            manifest.not_measured == coverage.not_measured,
            "`not_measured` is not what the records say",
        ),
        (
            manifest.image_included == (IMAGE in manifest.files),
            "`image_included` is not what the archive holds",
        ),
    ):
        report.check(holds, MANIFEST_NAME, what, "files")
    products = [*PRODUCTS, *([CONTROL_FILE] if archived.study.control else [])]
    needed = ["config.yaml", LOCK, PRICES]
    needed += (
        [] if manifest.partial else [f"results/{archived.study.study}/{name}" for name in products]
    )
    if any(name.startswith("results/executions/") for name in manifest.files):
        needed += [IMAGE_FILE, "sandbox/Dockerfile"]
    for name in needed:
        report.check(name in manifest.files, name, "the archive does not hold it", "files")


def check_hidden_tasks(
    archived: ArchivedStudy, report: VerifyReport, rows: Sequence[Row]
) -> set[str]:
    """Only private tasks are held out; where their files are at hand, what stands for them is rebuilt from these.

    Where they are not, says of how many cells only hashes are known. Returns the files accounted for.
    """
    hidden, absent = archived.hidden, archived.unpacked.absent
    if hidden is None:
        return set()
    ids = {fact.id for fact in hidden.tasks}
    private = {task.id for task in hidden_tasks(archived.tasks, archived.study)}
    report.check(ids == private, HELD_OUT, "its tasks are not the archive's private ones", "files")
    for name in archived.unpacked.manifest.held_out:
        if name not in archived.unpacked.manifest.files or not belongs_to_private_task(name, ids):
            report.check(
                False, MANIFEST_NAME, f"it holds out {name}, which is of no private task", "files"
            )
    for name in sorted(ids):
        what = f"{name} is a task of the project and cannot be held out"
        report.check(not (TASKS / name).is_dir(), HELD_OUT, what, "files")
    cells = [cell for cell in archived.cells if cell.task in ids]
    same = sorted(archived.declared_rows) == sorted(cells) and len(hidden.rows) == len(cells)
    report.check(same, HELD_OUT, "its rows are not those of the private tasks' cells", "files")
    same = world_folders(hidden) == {
        task: worlds for task, worlds in archived.index.items() if task in ids
    }
    report.check(same, HELD_OUT, f"its worlds are not those of {WORLD_INDEX}", "files")
    if absent:
        what = f"held out: {plural(len(cells), 'cell')} of {plural(len(ids), 'private task')} checked by hash only"
        advice = "give TASKS_PRIVATE= and the private part (PRIVATE=file) to check them"
        report.add_unproven(HELD_OUT, f"{what} ({plural(len(absent), 'file')}); {advice}", "scores")
        return set()
    tasks = [task for task in archived.tasks if task.id in ids]
    with report.collecting_errors(HELD_OUT):
        same = hidden_tasks_json(
            tasks, archived.study, rows, archived.world
        ) == archived.unpacked.read(HELD_OUT)
        report.check(same, HELD_OUT, "rebuilt from the private part it has other bytes", "files")
    return {HELD_OUT}


def check_unexpected_files(
    archived: ArchivedStudy, report: VerifyReport, accounted_for: set[str]
) -> None:
    """Files that nothing in the archive names: allowed are notes for the reader, and what is unproven anyway."""
    damaged = {finding.where for finding in report.problems}
    unfinished = (
        set()
        if (archived.products / "provenance.json").is_file()
        else {*PROJECT_FILES.values(), "config/"}
    )
    allowed = (
        "README.md",
        "CITATION.cff",
        CRATE_FILE,
        HELD_OUT,
        "logs/",
        "image/",
        "sandbox/",
        "tasks/",
        *unfinished,
    )
    records = (*(f"results/{stage}/" for stage in RECORD_TYPES), "answers/")
    for name in sorted(
        archived.unpacked.manifest.files.keys() - accounted_for - archived.unpacked.absent - damaged
    ):
        if name.startswith(f"results/{archived.study.study}/"):
            report.check(False, name, "it is none of the study's products", "products", "report")
        elif not name.startswith(allowed):
            what = (
                "it belongs to no cell of the study"
                if name.startswith(records)
                else "nothing in the archive names it"
            )
            report.check(False, name, what, "files")
