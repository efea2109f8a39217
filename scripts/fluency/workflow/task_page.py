"""docs/tasks.md and the balance in docs/method.md: `python -m fluency.workflow.task_page` writes them from the bank.

What a task's author declared stands beside what was observed, so that the two can be held against each other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from fluency.common.files import write_atomic
from fluency.common.paths import ROOT
from fluency.core.shells import DESIGN_SHELLS, SHELLS
from fluency.core.tasks import CATEGORIES, NEUTRAL, Task, load_tasks, task_sets
from fluency.report.markdown import table
from fluency.workflow.observed import ObservedStudy, observed_studies
from fluency.workflow.task_edges import edges

PAGE = ROOT / "docs" / "tasks.md"
METHOD = ROOT / "docs" / "method.md"
PLACE = re.compile(r"(<!-- bank: balance -->\n).*?(<!-- end -->)", re.S)
UNDECLARED = "not declared"


def task_page(tasks: Sequence[Task], studies: Sequence[ObservedStudy]) -> str:
    """The whole page as Markdown."""
    return "\n".join(_lines(tasks, studies)) + "\n"


def _lines(tasks: Sequence[Task], studies: Sequence[ObservedStudy]) -> Iterator[str]:
    yield "# The tasks\n"
    yield "<!-- Written by `python -m fluency.workflow.task_page` from tasks/ and the archives in example/. -->\n"
    yield "What each task asks stands in `tasks/<id>/task.yaml`. *Lean* and *difficulty* are its author's words, before"
    yield "any result. The last columns are what the studies in `example/` observed: passes of measured trials in each"
    yield "shell, by study and model (`example`: five trials, `bank`: one). A model that passes nothing, or everything,"
    yield "says nothing of a task. A star marks a task whose prompt has changed since; the words around every prompt"
    yield "may have, too."
    observed = _observed(tasks, studies)
    sets = {name: set(found.tasks) for name, found in task_sets().items()}
    for category in CATEGORIES:
        own = [task for task in tasks if task.category == category]
        yield f"\n## {category.replace('-', ' ').capitalize()}\n"
        heads = ["task", "sets", "origin", "lean", "difficulty", *observed]
        rows = [
            [
                f"`{task.id}`",
                ", ".join(name for name, ids in sets.items() if task.id in ids) or "none",
                task.provenance,
                _lean(task),
                " ".join((task.difficulty or UNDECLARED).split()),
                *(column.get(task.id, "-") for column in observed.values()),
            ]
            for task in own
        ]
        yield table(heads, rows, "lllll" + "r" * (len(heads) - 5))
    yield from edges(tasks, studies)


def _observed(tasks: Sequence[Task], studies: Sequence[ObservedStudy]) -> dict[str, dict[str, str]]:
    """A column a study and model: its head -> task -> the counts of each shell."""
    present = {task.id: task.prompt_sha256 for task in tasks}
    columns = {}
    for seen in studies:
        shells = " / ".join(SHELLS[shell].short_title for shell in seen.study.shells)
        for model in seen.study.models:
            columns[f"{seen.study.study}, {model.alias}: {shells}"] = {
                task: " / ".join(f"{passes} of {of}" if of else "-" for passes, of in counts.values())
                + ("" if seen.prompts[task] == present[task] else " *")
                for task, counts in seen.rates(model.alias, list(present)).items()
            }
    return columns


def balance_table(tasks: Sequence[Task]) -> str:
    """Tasks of each set by lean and category."""
    rows = []
    for name, chosen in task_sets().items():
        own = [task for task in tasks if task.id in set(chosen.tasks)]
        counts = Counter((_lean(task), task.category) for task in own)
        for lean in (*(SHELLS[shell].short_title for shell in DESIGN_SHELLS), NEUTRAL, UNDECLARED):
            numbers = [counts[lean, category] for category in CATEGORIES]
            if sum(numbers):
                rows.append([name, lean, *numbers, sum(numbers)])
    return table(["set", "lean", *CATEGORIES, "all"], rows, "ll" + "r" * (len(CATEGORIES) + 1))


def _lean(task: Task) -> str:
    return SHELLS[task.lean].short_title if task.lean in SHELLS else task.lean or UNDECLARED


def with_balance(text: str, tasks: Sequence[Task]) -> str:
    """A page with the balance in its marked place."""
    return PLACE.sub(lambda found: f"{found[1]}{balance_table(tasks)}\n{found[2]}", text)


def main() -> None:
    """Write both, of the project's own tasks."""
    tasks = [task for task in load_tasks() if not task.private]
    write_atomic(PAGE, task_page(tasks, observed_studies()))
    write_atomic(METHOD, with_balance(METHOD.read_text(encoding="utf-8"), tasks))


if __name__ == "__main__":
    main()
