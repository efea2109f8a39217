"""All checks of an archive, in order."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from fluency.archive.archived_study import IMAGE_FILE, ArchivedStudy, read_archived_study, same_worlds
from fluency.archive.code_hashes import code_hashes
from fluency.archive.crate import CRATE_FILE
from fluency.archive.evidence_chain import EvidenceChain
from fluency.archive.findings import Findings, VerifyReport
from fluency.archive.manifest import MANIFEST_NAME, Manifest, archive_name
from fluency.archive.pack import IMAGE, PROJECT_FILES, STUDY_FILE, registration_name
from fluency.archive.private_part import HELD_OUT, held_out_document, held_out_tasks, of_private_task, stated_folders
from fluency.archive.rebuild import rebuild_products, rebuild_score
from fluency.archive.unpack import UnpackedArchive, unpacked
from fluency.archive.world_files import WORLD_INDEX
from fluency.common.canonical import canonical_json
from fluency.common.files import sha256, sha256_file
from fluency.common.git import file_at, git_state, in_history
from fluency.common.paths import ROOT, TASKS
from fluency.common.terminal import log_line
from fluency.common.words import plural
from fluency.core.held_out import HeldOutTask
from fluency.core.records import ImageInfo
from fluency.core.study import Cell
from fluency.core.table import PRODUCTS, RECORD_TYPES, CellRecords, Row
from fluency.core.tasks import ALL, Task, task_sets
from fluency.execution.image_content import SOURCES, content_sha256
from fluency.execution.protocol import PROTOCOL


def check_held_out(archived: ArchivedStudy, findings: Findings, rows: Sequence[Row]) -> set[str]:
    """Only private tasks are held out; where their files are at hand, what stands for them is made anew from these.

    Where they are not, says how many cells nothing but hashes vouches for. Returns the files vouched for.
    """
    held, absent = archived.held, archived.unpacked.absent
    if held is None:
        return set()
    ids = {fact.id for fact in held.tasks}
    private = {task.id for task in held_out_tasks(archived.tasks, archived.study)}
    findings.check(ids == private, HELD_OUT, "its tasks are not the archive's private ones", kind="files")
    for name in archived.unpacked.manifest.held_out:
        if name not in archived.unpacked.manifest.files or not of_private_task(name, ids):
            findings.check(False, MANIFEST_NAME, f"it holds out {name}, which is of no private task", kind="files")
    for name in sorted(ids):
        what = f"{name} is a task of the project and cannot be held out"
        findings.check(not (TASKS / name).is_dir(), HELD_OUT, what, kind="files")
    cells = [cell for cell in archived.cells if cell.task in ids]
    same = sorted(archived.stated_rows) == sorted(cells) and len(held.rows) == len(cells)
    findings.check(same, HELD_OUT, "its rows are not those of the private tasks' cells", kind="files")
    index = {task: worlds for task, worlds in archived.index.items() if task in ids}
    same = stated_folders(held) == index
    findings.check(same, HELD_OUT, f"its worlds are not those of {WORLD_INDEX}", kind="files")
    if absent:
        findings.cannot_tell(
            HELD_OUT,
            f"held out: {plural(len(cells), 'cell')} of {plural(len(ids), 'private task')} vouched for by hash only "
            f"({plural(len(absent), 'file')}); give TASKS_PRIVATE= and the private part (PRIVATE=file) to check them",
            "judgement",
        )
        return set()
    tasks = [task for task in archived.tasks if task.id in ids]
    with findings.noting_errors(HELD_OUT):
        made = held_out_document(tasks, archived.study, rows, archived.world)
        same = made == (archived.root / HELD_OUT).read_bytes()
        findings.check(same, HELD_OUT, "made anew from the private part it has other bytes", kind="files")
    return {HELD_OUT}


def check_name(archive: UnpackedArchive, findings: Findings) -> None:
    """A renamed archive is still one, but the name carries day and commit."""
    m = archive.manifest
    wanted = archive_name(m.study, m.utc_date, m.commit, dirty=m.dirty, partial=m.partial)
    if archive.path.name != wanted:
        findings.remark(archive.path.name, f"by its manifest the archive is named {wanted}")


def check_worlds(archived: ArchivedStudy, findings: Findings) -> set[str]:
    """Each world gives its hash; for trusted tasks this checkout's generator makes the same."""
    used = set(archived.unpacked.absent)
    for task in archived.tasks:
        if isinstance(task, HeldOutTask):
            continue
        with findings.noting_errors(f"tasks/{task.id}"):
            for seed in archived.study.seeds:
                world = archived.world(task, seed)
                folder = archived.index[task.id][str(seed)]
                used |= {name for name in archived.unpacked.manifest.files if name.startswith(f"{folder}/")}
                findings.check(world.seed == seed, folder, f"it is not the world of seed {seed}", kind="worlds")
            if task.id in archived.trusted:
                same = same_worlds(archived, task)
                what = f"the generator makes other worlds for {task.id}"
                findings.check(same, "worlds", what, kind="worlds", layer="score")
    stray = {n for n in archived.unpacked.manifest.files if n.startswith("worlds/")} - used - {WORLD_INDEX}
    for name in sorted(stray):
        findings.check(False, name, "it belongs to no world of the study", kind="worlds")
    return used


def check_tasks(archived: ArchivedStudy, findings: Findings) -> set[str]:
    """They are the set's that the study names. A task whose code is not this project's is not run: its judgements
    stay unproven.
    """
    used = set()
    named = archived.study.tasks
    if isinstance(named, str) and named != ALL:
        known = task_sets().get(named)
        same = known is not None and set(known.tasks) == {task.id for task in archived.tasks}
        what = f"the archived tasks are not those of the set {named}"
        findings.check(same, STUDY_FILE, what, kind="files", layer="report")
    for task in archived.tasks:
        where = f"tasks/{task.id}"
        if isinstance(task, HeldOutTask):
            continue
        if task.id not in archived.trusted:
            what = "it is not this checkout's task; its code was not run, its scores were not made anew"
            findings.cannot_tell(where, what, "judgement")
        elif task.id in archived.edited:
            what = "its text is not this checkout's; its code and its check are, so its scores were made anew"
            findings.cannot_tell(where, what, "evidence")
        else:
            used |= {name for name in archived.unpacked.manifest.files if name.startswith(f"{where}/")}
    return used


def check_prices(archived: ArchivedStudy, findings: Findings) -> set[str]:
    """The prices, held against the table that the requests were made with: this checkout's, or its commit's."""
    used: set[str] = set()
    manifest = archived.unpacked.manifest
    table = "scripts/fluency/generation/policies.yaml"
    name = "prices/policies.yaml"
    if name in manifest.files:
        stated = manifest.files[name].sha256
        at_commit = file_at(manifest.commit, table) if in_history(manifest.commit) else None
        same = stated == sha256_file(ROOT / table) or (at_commit is not None and stated == sha256(at_commit))
        findings.check(same, name, "it is not the price table of this checkout", kind="files", layer="generate")
        used.add(name)
    return used


def check_image(archived: ArchivedStudy, findings: Findings) -> tuple[ImageInfo | None, set[str]]:
    """The image every command ran in, and the sources it was built from."""
    file = None
    with findings.noting_errors():
        file = archived.image_file
    if file is None:
        return None, set()
    image = file.image
    folder, files = archived.root / "sandbox", archived.unpacked.manifest.files
    # An earlier image was built from other sources, and its hash says from which. `identity.py` went with protocol 8.
    names = (*SOURCES, "identity.py")
    sources = tuple(name for name in names if f"sandbox/{name}" in files and (folder / name).is_file())
    hashes = [content_sha256(folder, sources, protocol) for protocol in (PROTOCOL, 7)]
    hashes.append(_content_sha256_at_protocol_2(folder, sources))
    same = image.content_sha256 in hashes
    what = "the archived sources are not those the image was built from"
    findings.check(same, "sandbox", what, kind="files", layer="image")
    return image, {f"sandbox/{name}" for name in sources} | {IMAGE_FILE}


def _content_sha256_at_protocol_2(folder: Path, sources: Sequence[str]) -> str:
    """The hash of an image's sources as it was made when the shells were not yet part of it."""
    return sha256(canonical_json({"protocol": 2} | {name: sha256_file(folder / name) for name in sources}))


def check_strays(archived: ArchivedStudy, findings: Findings, used: set[str]) -> None:
    """Records and answers that belong to no cell of the study."""
    folders = (*(f"results/{stage}/" for stage in RECORD_TYPES), "answers/")
    damaged = {problem.where for problem in findings.problems}
    for name in archived.unpacked.manifest.files:
        if name.startswith(folders) and name not in used | archived.unpacked.absent and name not in damaged:
            findings.check(False, name, "it belongs to no cell of the study", kind="files")


def check_unnamed(archived: ArchivedStudy, findings: Findings, vouched: set[str]) -> None:
    """Files that nothing in the archive names: allowed are notes for the reader, and what is unproven anyway."""
    damaged = {finding.where for finding in findings.problems}
    unfinished = set() if (archived.products / "provenance.json").is_file() else {*PROJECT_FILES.values(), "config/"}
    allowed = ("README.md", "CITATION.cff", CRATE_FILE, HELD_OUT, "logs/", "image/", "sandbox/", "tasks/", *unfinished)
    for name in archived.unpacked.manifest.files:
        if name in vouched | archived.unpacked.absent or name in damaged or name.startswith(allowed):
            continue
        own = name.startswith(f"results/{archived.study.study}/")
        what = "it is none of the study's products" if own else "nothing in the archive names it"
        findings.check(
            False, name, what, kind="files", layer="report" if own else None, truth="words" if own else "evidence"
        )


def check_complete(archived: ArchivedStudy, findings: Findings, rows: list[Row]) -> None:
    """What the manifest says of the study's state is what the records say."""
    manifest = archived.unpacked.manifest
    missing = [Cell(r.model, r.shell, r.task, r.trial).path for r in rows if r.status == "missing"]
    unmeasured = {f"{r.model}/{r.shell}": r.reason or "" for r in rows if r.status == "not_measured"}
    findings.check(
        manifest.cells == len(archived.cells), MANIFEST_NAME, "`cells` is not the size of the design", kind="files"
    )
    what = f"it states {len(manifest.missing)} missing cells, there are {len(missing)}: {', '.join(missing[:3])}"
    findings.check(sorted(manifest.missing) == sorted(missing), MANIFEST_NAME, what, kind="files")
    findings.check(
        manifest.partial == bool(manifest.missing), MANIFEST_NAME, "`partial` contradicts `missing`", kind="files"
    )
    findings.check(
        manifest.not_measured == unmeasured, MANIFEST_NAME, "`not_measured` is not what the records say", kind="files"
    )
    held = IMAGE in manifest.files
    what = "`image_included` is not what the archive holds"
    findings.check(manifest.image_included == held, MANIFEST_NAME, what, kind="files")
    for name in PRODUCTS:
        where = f"results/{archived.study.study}/{name}"
        holds = where in manifest.files or manifest.partial
        findings.check(holds, where, "the archive does not hold it", kind="files")


def verify_archive(path: Path, *, trust_tasks: bool = False, private: Path | None = None) -> VerifyReport:
    """Check hashes, completeness, schemas and links, then make every layer anew from the one below it.

    ArchiveError when the file is refused altogether (see tar_reader.py). With `trust_tasks` the archive's own task
    code is run where it differs from this checkout's; without, such cells' scores stay unproven. `private` is the part
    that holds the files of private tasks; without it their cells are vouched for by their hashes only.
    """
    start = time.monotonic()
    with unpacked(Path(path), private=private) as archive:
        log_line(f"unpacked {len(archive.manifest.files):,} files")
        findings = Findings(_same_layers(archive.manifest), problems=list(archive.problems))
        findings.checked["hashes"] = len(archive.manifest.files) + 1
        _check_code(archive.manifest, findings)
        vouched: set[str] = set()
        with findings.noting_errors():
            archived = read_archived_study(archive, trust_tasks=trust_tasks)
            vouched = _verify(archived, findings)
        return VerifyReport(
            path=Path(path),
            sha256=archive.sha256,
            manifest=archive.manifest,
            problems=list(dict.fromkeys(findings.problems)),
            unproven=findings.unproven,
            remarks=findings.remarks,
            by_hash_only=sorted(archive.manifest.files.keys() - vouched - archive.absent),
            checked=findings.checked,
            not_judged=findings.not_judged,
            seconds=time.monotonic() - start,
        )


def _same_layers(manifest: Manifest) -> frozenset[str]:
    """The stages whose code is the archive's, and `registration` if all are: a registration is about every stage."""
    ours = code_hashes()
    same = {stage for stage in ours if manifest.code.get(stage) == ours[stage]}
    return frozenset(same | ({"registration"} if same == ours.keys() else set()))


def _check_code(manifest: Manifest, findings: Findings) -> None:
    """Where the stated commit is the one checked out, its code must be the stated code, by the stated libraries."""
    commit, dirty = git_state()
    if commit is None or commit != manifest.commit or dirty or manifest.dirty:
        return
    for layer, digest in code_hashes(manifest.environment).items():
        what = f"the code it states for `{layer}` is not that of commit {commit}, which is checked out"
        findings.check(manifest.code.get(layer) == digest, MANIFEST_NAME, what, kind="code")


def _verify(archived: ArchivedStudy, findings: Findings) -> set[str]:
    """All checks behind the hashes; returns the files that something else than their hash vouches for."""
    vouched = {STUDY_FILE, WORLD_INDEX}
    check_name(archived.unpacked, findings)
    vouched |= check_worlds(archived, findings)
    vouched |= check_tasks(archived, findings)
    vouched |= check_prices(archived, findings)
    image, found = check_image(archived, findings)
    vouched |= found
    rows, used = _cells(archived, findings, image)
    log_line(
        f"followed {findings.checked.get('links', 0):,} links, judged {findings.checked.get('scores', 0):,} cells anew"
    )
    vouched |= used
    check_complete(archived, findings, rows)
    vouched |= check_held_out(archived, findings, rows)
    vouched |= rebuild_products(archived, findings, rows)
    if archived.study.preregistration:
        vouched.add(registration_name(archived.study.preregistration))
    check_unnamed(archived, findings, vouched)
    log_line(f"made {findings.checked.get('products', 0)} products anew")
    return vouched


def _cells(archived: ArchivedStudy, findings: Findings, image: ImageInfo | None) -> tuple[list[Row], set[str]]:
    """Every cell's records, links, score and row."""
    chain = EvidenceChain(archived, findings, image)
    tasks = {task.id: task for task in archived.tasks}
    rows: list[Row] = []
    used: set[str] = set()
    for cell in archived.cells:
        records = CellRecords(None, None, None)
        with findings.noting_errors():
            records = archived.records(cell)
            task = tasks[cell.task]
            if isinstance(task, Task):
                chain.check(cell, task, records)
                if cell.task in archived.trusted:
                    rebuild_score(archived, findings, cell, task, records)
            elif any(records):
                findings.check(False, cell.path, "it has records though its task is held out", kind="links")
            if cell.task not in archived.trusted and (records.score is not None or cell in archived.stated_rows):
                findings.not_judged[cell.task] = findings.not_judged.get(cell.task, 0) + 1
        used |= _names(cell, records)
        with findings.noting_errors(cell.path):
            rows.append(archived.row(cell, records))
    check_strays(archived, findings, used)
    return rows, used


def _names(cell: Cell, records: CellRecords) -> set[str]:
    names = {f"results/{stage}/{cell.path}.json" for stage, record in zip(RECORD_TYPES, records, strict=True) if record}
    if records.generation:
        key = records.generation.answer.request_key
        names.add(f"answers/{key[:2]}/{key}.json")
    return names
