"""Verify an archive: offline, without a key, without an engine, and without running anything out of it."""

from __future__ import annotations

import time
from pathlib import Path

from fluency.archive.archived_study import ArchivedStudy
from fluency.archive.completeness import (
    check_complete,
    check_image,
    check_name,
    check_prices,
    check_reader_files,
    check_strays,
    check_tasks,
    check_unnamed,
    check_worlds,
)
from fluency.archive.contents import STUDY_FILE, registration_name
from fluency.archive.evidence_chain import EvidenceChain
from fluency.archive.findings import Findings
from fluency.archive.held_out_check import check_held_out
from fluency.archive.manifest import MANIFEST_NAME, Manifest
from fluency.archive.rebuild import rebuild_products, rebuild_score
from fluency.archive.study_reader import read_archived_study
from fluency.archive.unpack import unpacked
from fluency.archive.verify_report import VerifyReport
from fluency.archive.world_files import WORLD_INDEX
from fluency.common.git import git_state
from fluency.common.terminal import log_line
from fluency.core.records import ImageInfo
from fluency.core.stage_code import layer_hashes, layer_hashes_with
from fluency.core.study import Cell
from fluency.core.table import RECORD_TYPES, CellRecords, Row


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
    ours = layer_hashes()
    return frozenset(layer for layer in ours if manifest.code.get(layer) == ours[layer])


def _check_code(manifest: Manifest, findings: Findings) -> None:
    """Where the stated commit is the one checked out, its code must be the stated code, by the stated libraries."""
    commit, dirty = git_state()
    if commit is None or commit != manifest.commit or dirty or manifest.dirty:
        return
    for layer, digest in layer_hashes_with(manifest.environment).items():
        what = f"the code it states for `{layer}` is not that of commit {commit}, which is checked out"
        findings.check(manifest.code.get(layer) == digest, MANIFEST_NAME, what, kind="code")


def _verify(archived: ArchivedStudy, findings: Findings) -> set[str]:
    """All checks behind the hashes; returns the files that something else than their hash vouches for."""
    vouched = {STUDY_FILE, WORLD_INDEX}
    check_name(archived.unpacked, findings)
    vouched |= check_worlds(archived, findings)
    vouched |= check_tasks(archived, findings)
    vouched |= check_prices(archived, findings)
    vouched |= check_reader_files(archived, findings)
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
            chain.check(cell, tasks[cell.task], records)
            if cell.task in archived.trusted:
                rebuild_score(archived, findings, cell, tasks[cell.task], records)
            elif records.score is not None or cell in archived.stated_rows:
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
