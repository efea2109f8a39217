"""Read an unpacked archive into study and tasks, within bounds: whoever made it may have meant harm."""

from __future__ import annotations

import yaml
from pydantic import ValidationError

from fluency.archive.archived_study import ArchivedStudy, json_of
from fluency.archive.contents import STUDY_FILE
from fluency.archive.private_part import HELD_OUT, read_held_out
from fluency.archive.task_trust import trusted_tasks
from fluency.archive.unpack import UnpackedArchive
from fluency.common.canonical import hashes_to
from fluency.common.errors import ArchiveError, UserError
from fluency.core.held_out import HeldOutTask
from fluency.core.schema import first_problem
from fluency.core.study import Study
from fluency.core.tasks import Task, load_task

MAX_TASK_BYTES = 256 << 10
MAX_TASK_DEPTH = 12
MAX_TASKS = 200
MAX_CELLS = 50_000


def read_archived_study(archive: UnpackedArchive, *, trust_tasks: bool = False) -> ArchivedStudy:
    """The archive's study and tasks; ArchiveError when they cannot be read or are not the manifest's."""
    study = _study(archive)
    names = sorted({name.split("/")[1] for name in archive.manifest.files if name.startswith("tasks/")})
    if len(names) > MAX_TASKS:
        raise ArchiveError(f"it holds {len(names):,} tasks; {MAX_TASKS} are read", where=STUDY_FILE)
    size = len(names) * len(study.models) * len(study.shells) * study.trials
    if size > MAX_CELLS:
        raise ArchiveError(f"it is a study of {size:,} cells; {MAX_CELLS:,} are read", where=STUDY_FILE)
    held = read_held_out(archive.root) if archive.manifest.held_out else None
    absent = {name.split("/")[1] for name in archive.absent if name.startswith("tasks/")}
    facts = {fact.id: fact for fact in held.tasks} if held else {}
    if unknown := absent - facts.keys():
        raise ArchiveError(f"it does not describe the task {min(unknown)}", where=HELD_OUT)
    tasks = [HeldOutTask.of(facts[name]) if name in absent else _task(archive, name) for name in names]
    if not isinstance(study.tasks, str) and set(study.tasks) != set(names):
        raise ArchiveError("the archived tasks are not those of the study", where=STUDY_FILE)
    runnable, edited = (
        ({task.id: task for task in tasks if task.id not in absent}, frozenset())
        if trust_tasks
        else trusted_tasks(archive, tasks)
    )
    tasks = [runnable.get(task.id, task) for task in tasks]
    return ArchivedStudy(archive, study, tasks, frozenset(runnable), edited, held)


def _study(archive: UnpackedArchive) -> Study:
    value = json_of(archive.root, STUDY_FILE)
    try:
        study = Study.model_validate(value)
    except ValidationError as error:
        raise ArchiveError(first_problem(error), where=STUDY_FILE) from None
    if not hashes_to(value, archive.manifest.study_sha256) or study.study != archive.manifest.study:
        raise ArchiveError("it is not the study whose hash the manifest states", where=STUDY_FILE)
    return study


def _task(archive: UnpackedArchive, name: str) -> Task:
    where = f"tasks/{name}/task.yaml"
    path = archive.root / where
    try:
        if path.stat().st_size > MAX_TASK_BYTES:
            raise ArchiveError(f"it is larger than {MAX_TASK_BYTES:,} bytes", where=where)
        _check_yaml(path.read_bytes(), where)
        return load_task(path.parent)
    except (OSError, yaml.YAMLError, RecursionError) as error:
        raise ArchiveError(f"the task cannot be read: {type(error).__name__}", where=where) from None
    except ArchiveError:
        raise
    except UserError as error:
        raise ArchiveError(error.what, where=error.where.replace(f"{archive.root}/", "")) from None


def _check_yaml(data: bytes, where: str) -> None:
    """ArchiveError for small files that take without end: aliases name endless content, nesting costs its square."""
    depth = 0
    for event in yaml.parse(data, yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent):
            raise ArchiveError("it holds YAML aliases", where=where)
        if depth > MAX_TASK_DEPTH:
            raise ArchiveError(f"it nests deeper than {MAX_TASK_DEPTH} levels", where=where)
