"""Sets of tasks by name, as data: `sets.yaml` in the folder of the bank."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from pydantic import Field, TypeAdapter, ValidationError

from fluency.common.errors import UserError
from fluency.common.paths import TASKS
from fluency.core.config_files import explain, read_yaml
from fluency.core.part import Part

SETS = "sets.yaml"
PILOT = "pilot-20"
ALL = "all"


class TaskSet(Part):
    """The ids of a set, and what it is."""

    words: str
    tasks: list[str] = Field(min_length=1)


_SETS = TypeAdapter(dict[str, TaskSet])


def task_sets(root: Path = TASKS) -> dict[str, TaskSet]:
    """The sets by name, none where the bank has no such file; UserError names the key that is wrong."""
    path = Path(root) / SETS
    if not path.is_file():
        return {}
    try:
        sets = _SETS.validate_python(read_yaml(path))
    except ValidationError as error:
        raise explain(error, [path]) from None
    for name, found in sets.items():
        if len(set(found.tasks)) < len(found.tasks):
            raise UserError("a task stands twice in this set", where=f"{path}: {name}", hint="name each once")
    return sets


def ids_wanted(wanted: str | Sequence[str], there: Collection[str], root: Path = TASKS) -> list[str]:
    """The ids that a study's `tasks` asks for: `all` of those there, those of a set by name, or the ids themselves.

    UserError for a set that is not known and for a task that is not there.
    """
    if wanted == ALL:
        return list(there)
    where = "tasks"
    if isinstance(wanted, str):
        sets = task_sets(root)
        if wanted not in sets:
            raise UserError(
                "there is no set of tasks of this name",
                where=f"tasks: {wanted}",
                hint=f"there are: {', '.join([*sets, ALL])}; tasks by id are a list, as in `tasks: [one, two]`",
            )
        where, wanted = f"tasks: {wanted}", sets[wanted].tasks
    for name in wanted:
        if name not in there:
            raise UserError("there is no such task", where=f"{where}: {name}", hint=f"there are: {', '.join(there)}")
    return list(wanted)


def set_of(ids: Collection[str], root: Path = TASKS) -> str:
    """The name of the set that holds exactly these tasks, however they were asked for; empty if none does."""
    return next((name for name, found in task_sets(root).items() if set(found.tasks) == set(ids)), "")
