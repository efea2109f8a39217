"""docs/tasks.md, from the task bank."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from fluency.core.shells import DESIGN_SHELLS, SHELLS
from fluency.core.tasks import CATEGORIES, NEUTRAL, Task, load_tasks, task_sets
from fluency.report.markdown import table

PAGE = "docs/tasks.md"
UNDECLARED = "not declared"
_SETS = """
A study names a set in its configuration (`tasks: demanding`). A report concludes about "tasks like these", so the set
decides what it says:

- `easy-20`: questions of one step, for small models and for a first look; the default and the demo ask it. Chosen from
  26 candidates by what two embedded models passed in both shells together.
- `pilot-20`: everyday requests of four categories; [method.md](method.md#the-task-bank) says where they come from.
- `full-60`: the twenty, and forty more written by the same rules.
- `demanding`: requests as short and natural (17 to 73 words), for which one must know a standard (CODEOWNERS, SemVer,
  JSON merge patch, CSV, systemd units, server-sent events, `/proc`), combine several steps, or change files and leave
  the rest as it is. Chosen by their difficulty, never by a difference between the shells. A gap in them is no gap in
  everyday work.
- `full`: all of them. The mix is no sample of anyone's work.

Seven of the demanding tasks change files: `filled-templates`, `fiscal-folders`, `link-targets`, `newest-unpacked`,
`patch-release`, `slug-names` and `toml-key-in-place`. They are judged, as all are, by what the command prints: here a
listing or hashes of what it changed.

Before any study, strong authors (a large language model that may think before it answers) wrote one command for each
task and shell without seeing a reference. Right at this first shot:

| set | authors | Bash | PowerShell |
|---|---:|---|---|
| `full-60` | 3 | 55, 57, 58 of 60 | 60, 60, 60 of 60 |
| `demanding`, without twelve later ones | 4 | 49, 50, 50, 50 of 56 | 54, 50, 52, 48 of 56 |

Strong models are thus near the ceiling of the sixty, and most studies of them there can only end with *cannot tell*.
Three of the ten Bash failures had printed the right lines and ended with exit status 1; the prompt now says that the
status counts. Of the 56, forty were right in all eight answers. The embedded 1.5B model, asked each of them once in
Bash, passed none.

All wrong outputs that the [output mutants](checks.md#mutation-testing) try are rejected, in every set.
"""


def task_page(tasks: Sequence[Task]) -> str:
    """The whole page as Markdown."""
    return "\n".join(_lines(tasks)) + "\n"


def _lines(tasks: Sequence[Task]) -> Iterator[str]:
    yield "# The tasks\n"
    yield "<!-- Written by `python -m tools.pages` from tasks/. -->\n"
    yield "`tasks/<id>/task.yaml` has each task's prompt and origin. *Lean* and *difficulty*, here in a few words,"
    yield "are what its author expected before any result."
    yield "\n## Sets\n"
    yield f"{sets_table(tasks)}\n{_SETS}".rstrip()
    yield f"\n### Balance\n\n{balance_table(tasks)}"
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


def sets_table(tasks: Sequence[Task]) -> str:
    """The sets by size and by lean."""
    leans = [*(SHELLS[shell].short_title for shell in DESIGN_SHELLS), NEUTRAL, UNDECLARED]
    rows = []
    for name, chosen in task_sets().items():
        own = [task for task in tasks if task.id in set(chosen.tasks)]
        if not own:
            continue
        leaning = Counter(map(_lean, own))
        rows.append([f"`{name}`", len(own), *(leaning[lean] for lean in leans)])
    return table(["set", "tasks", *leans], rows, "l" + "r" * 5)


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


def pages() -> dict[str, str]:
    """The page, of the project's own tasks."""
    tasks = [task for task in load_tasks() if not task.private]
    return {PAGE: task_page(tasks)}
