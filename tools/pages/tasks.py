"""The tables of docs/tasks.md, from the task bank."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from fluency.common.paths import ROOT
from fluency.core.shells import SHELLS
from fluency.core.task_world import planned
from fluency.core.tasks import ALL, CATEGORIES, Task, load_tasks, task_sets
from fluency.report.markdown import table
from tools.pages import filled

PAGE = "docs/tasks.md"
UNDECLARED = "not declared"


def _listed(tasks: Sequence[Task]) -> Iterator[str]:
    sets = sorted(task_sets().items(), key=lambda named: len(named[1].tasks))
    for category in CATEGORIES:
        yield f"\n## {category.replace('-', ' ').capitalize()}\n"
        rows = []
        for task in (task for task in tasks if task.category == category):
            smallest = next((name for name, found in sets if task.id in found.tasks), "none")
            rows.append([f"`{task.id}`", smallest, _lean(task), _in_a_few_words(task)])
        yield table(["task", "set", "lean", "difficulty"], rows, "llll")


def _in_a_few_words(task: Task) -> str:
    return re.split(r"[:;,.(]", " ".join((task.difficulty or UNDECLARED).split()))[0].strip()


def balance_table(tasks: Sequence[Task]) -> str:
    """Tasks of each set by lean and category, and how many change files or processes."""
    rows, seed = [], 11
    changing = {task.id for task in tasks if task.state(*planned(task, seed))}
    for name, chosen in task_sets().items():
        own = [task for task in tasks if task.id in set(chosen.tasks)]
        counts = Counter((lean, task.category) for task in own for lean in (_lean(task), ALL))
        for lean in dict.fromkeys([*sorted(lean for lean, _ in counts if lean != ALL), ALL]):
            numbers = [counts[lean, category] for category in CATEGORIES]
            number = sum(task.id in changing and lean in (_lean(task), ALL) for task in own)
            rows.append([name, lean, *numbers, sum(numbers), number])
    titles = ["set", "lean", *CATEGORIES, ALL, "changing"]
    return table(titles, rows, "ll" + "r" * (len(CATEGORIES) + 2))


def _lean(task: Task) -> str:
    return (
        SHELLS[task.lean].short_title
        if task.lean and task.lean in SHELLS
        else task.lean or UNDECLARED
    )


def pages() -> dict[str, str]:
    """The page, with the tables of the project's own tasks."""
    tasks = [task for task in load_tasks() if not task.private]
    page = filled((ROOT / PAGE).read_text(encoding="utf-8"), "balance", balance_table(tasks))
    return {PAGE: filled(page, "tasks", "\n".join(_listed(tasks)))}
