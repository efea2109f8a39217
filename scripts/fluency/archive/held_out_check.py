"""What an archive says of its private tasks, held against its files as far as they are there."""

from __future__ import annotations

from collections.abc import Sequence

from fluency.archive.archived_study import ArchivedStudy
from fluency.archive.findings import Findings
from fluency.archive.manifest import MANIFEST_NAME
from fluency.archive.private_part import HELD_OUT, held_out_document, held_out_tasks, of_private_task, stated_folders
from fluency.archive.world_files import WORLD_INDEX
from fluency.common.paths import TASKS
from fluency.common.words import plural
from fluency.core.table import Row


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
