"""docs/tasks.md, from the task bank."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from fluency.core.shells import SHELLS
from fluency.core.tasks import ALL, CATEGORIES, Task, load_tasks, task_sets
from fluency.report.markdown import table

PAGE = "docs/tasks.md"
UNDECLARED = "not declared"
_SETS = """\
# The tasks

<!-- Written by `python -m tools.pages` from tasks/. -->

For those who choose the tasks of a study. `tasks/<id>/task.yaml` has each task's prompt and origin. *Lean* and
*difficulty*, here in a few words, are what its author expected before any result.

## Sets

A study names a set in its configuration (`tasks: demanding`). A report concludes about "tasks like these", so the set
decides what it says:

- `easy-20`: questions of one step, for small models and for a first look; the default and the demo ask it. Chosen from
  26 candidates by what two embedded models passed in both shells together.
- `pilot-20`: everyday requests of four categories; [the method](method.md#the-task-bank) says where they come from.
- `full-60`: the twenty, and forty more written by the same rules.
- `demanding`: requests as short and natural (17 to 73 words), for which one must know a standard (CODEOWNERS,
  SemVer, JSON merge patch, CSV, systemd units, server-sent events, `/proc`), combine several steps, or change files and
  leave the rest as it is. Chosen by their difficulty, never by a difference between the shells. A gap in them does not
  mean a gap in everyday work.
- `full`: all of them. The mix does not represent anyone's work.

Seven of the demanding tasks change files: `filled-templates`, `fiscal-folders`, `link-targets`, `newest-unpacked`,
`patch-release`, `slug-names` and `toml-key-in-place`. They too are judged by what the command prints: a listing or hashes
of what it changed.

Before any study, strong authors (a large language model that may think before it answers) wrote one command for each
task and shell without seeing a reference. Right at this first shot:

| set | authors | Bash | PowerShell |
|---|---:|---|---|
| `full-60` | 3 | 55, 57, 58 of 60 | 60, 60, 60 of 60 |
| `demanding`, without twelve later ones | 4 | 49, 50, 50, 50 of 56 | 54, 50, 52, 48 of 56 |

Strong models are near the ceiling of the sixty, so most studies of them there can only end with *cannot tell*. Three of
the ten Bash failures printed the right lines and ended with exit status 1; the prompt now says that the status counts.
Of the 56, forty were right in all eight answers. The embedded 1.5B model, asked each of them once in Bash, passed none.

### Balance
"""


def task_page(tasks: Sequence[Task]) -> str:
    """The whole page as Markdown."""
    return "\n".join([_SETS, balance_table(tasks), *_listed(tasks)]) + "\n"


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
    """Tasks of each set by lean and category."""
    rows = []
    for name, chosen in task_sets().items():
        own = [task for task in tasks if task.id in set(chosen.tasks)]
        counts = Counter((lean, task.category) for task in own for lean in (_lean(task), ALL))
        for lean in dict.fromkeys([*sorted(lean for lean, _ in counts if lean != ALL), ALL]):
            numbers = [counts[lean, category] for category in CATEGORIES]
            rows.append([name, lean, *numbers, sum(numbers)])
    return table(["set", "lean", *CATEGORIES, ALL], rows, "ll" + "r" * (len(CATEGORIES) + 1))


def _lean(task: Task) -> str:
    return SHELLS[task.lean].short_title if task.lean in SHELLS else task.lean or UNDECLARED


def pages() -> dict[str, str]:
    """The page, of the project's own tasks."""
    tasks = [task for task in load_tasks() if not task.private]
    return {PAGE: task_page(tasks)}
