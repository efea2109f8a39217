"""docs/tasks.md and the balance in docs/method.md, from the task bank and the archives in example/.

What a task's author declared is listed next to what was observed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from fluency.common.paths import ROOT
from fluency.core.shells import DESIGN_SHELLS, SHELLS
from fluency.core.tasks import CATEGORIES, NEUTRAL, Task, load_tasks, task_sets
from fluency.report.markdown import table
from tools.pages.observed import ObservedStudy, observed_studies

PAGE, METHOD = "docs/tasks.md", "docs/method.md"
PLACE = re.compile(r"(<!-- bank: balance -->\n).*?(<!-- end -->)", re.S)
UNDECLARED = "not declared"
Found = dict[str, tuple[int, int]]
"""Task -> passes and measured trials of one model in one shell."""
_TEXT = """
One trial says little about a task: after 0 of 1 its pass rate may be anything up to 95 % (one-sided 95 % bound), after
0 of 5 up to 45 %, and after 1 of 1 anything above 5 %. All trials of a model together say more: 0 of 60 passes bound
its mean rate over these tasks by 4.9 %, 0 of 100 by 3.0 %.

A task can distinguish two shells only for a model that sometimes passes it and sometimes does not. For a model that
passes nothing, no number of trials changes that. Its failures show what it lacks: a command that ends with an error,
prints nothing or prints lines of another form never reached the traps of the task. `silent-wrong`, a wrong output in
the right form, is the failure that the traps cause. The bank can measure a model if that is its most frequent failure
and its pass rate lies between 10 and 90 % (otherwise the report says *cannot tell*).
"""
_SETS = """
A study names a set in its configuration (`tasks: demanding`). Each lean was declared before any result. Wrong
outputs are all killed, in every set ([checks.md](checks.md#mutation-testing)).

A report concludes about "tasks like these". What that means depends on the set:

- `easy-20`: questions of one step, for small models and for a first look; the default and the demo use it. Chosen from
  26 candidates by what two embedded models passed in both shells together.
- `pilot-20`: everyday requests of four categories; [method.md](method.md#the-task-bank) says where they come from.
- `full-60`: the twenty, and forty more written by the same rules.
- `demanding`: requests as short and natural (17 to 72 words), for which one must know a standard (CODEOWNERS, SemVer,
  JSON merge patch, CSV, cargo's rules, server-sent events, link headers, `/proc`) or combine several steps. They were
  chosen by their difficulty, never by a difference between the shells. A gap in them is no gap in everyday work.
- `full-116`: the sixty and the demanding ones. The mix is no sample of anybody's work.

Before any study, strong authors (a large language model that may think before it answers) wrote one command for each
task and shell without seeing a reference. Right at this first shot:

| set | authors | Bash | PowerShell |
|---|---:|---|---|
| `full-60` | 3 | 55, 57, 58 of 60 | 60, 60, 60 of 60 |
| `demanding` | 4 | 49, 50, 50, 50 of 56 | 54, 50, 52, 48 of 56 |

So strong models are near the ceiling of the sixty, and most studies of them there can only end with *cannot tell*.
Three of the ten Bash failures had printed the right lines and ended with exit status 1; the prompt now says that the
status counts. Forty of the demanding tasks were right in all eight answers; the other
sixteen can tell such models and the shells apart. The set is for strong models: the embedded 1.5B model, asked each
task once in Bash, passed 0 of 56 (20 no-output, 9 non-zero-exit, 8 missing-program, 7 wrong-structure, 6 truncated,
4 silent-wrong, 1 does-not-parse, 1 format).

The demanding tasks' 224 references and 458 wrong commands were proven on Bash 5.2 and PowerShell 7.6.5 in the worlds of
a prototype. In the present worlds Bash's half is proven (`make validate`). PowerShell's half is not yet: no machine
that it was tried on had PowerShell.
"""


def task_page(tasks: Sequence[Task], studies: Sequence[ObservedStudy]) -> str:
    """The whole page as Markdown."""
    return "\n".join(_lines(tasks, studies)) + "\n"


def _lines(tasks: Sequence[Task], studies: Sequence[ObservedStudy]) -> Iterator[str]:
    yield "# The tasks\n"
    yield "<!-- Written by `python -m tools.pages` from tasks/ and the archives in example/. -->\n"
    yield "`tasks/<id>/task.yaml` has each task's prompt. *Lean* and *difficulty* are what its author expected before"
    yield "any result. The last columns are observed: passes of measured trials in each shell, by study of `example/`"
    yield "and model (`example`: five trials, `bank`: one). A star marks a task whose prompt has changed since; the"
    yield "text around every prompt may have changed too."
    yield "\n## Sets\n"
    yield f"{sets_table(tasks)}\n{_SETS}".rstrip()
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


def _observed(tasks: Sequence[Task], studies: Sequence[ObservedStudy]) -> dict[str, dict[str, str]]:
    """A column a study and model: its head -> task -> the counts of each shell."""
    present = {task.id: task.prompt_sha256 for task in tasks}
    columns = {}
    for seen in studies:
        shells = " / ".join(SHELLS[shell].short_title for shell in seen.study.shells)
        for model in seen.study.models:
            columns[f"{seen.study.study}, {model.alias}: {shells}"] = {
                task: " / ".join(
                    f"{passes} of {of}" if of else "-" for passes, of in counts.values()
                )
                + ("" if seen.prompts[task] == present[task] else " *")
                for task, counts in seen.rates(model.alias, list(present)).items()
            }
    return columns


def edges(tasks: Sequence[Task], studies: Sequence[ObservedStudy]) -> Iterator[str]:
    """The section on tasks that the models never or always passed."""
    names = [task.id for task in tasks]
    measured = [line for seen in studies for line in _measured(seen, names)]
    yield "\n## Never and always passed\n"
    yield "Tasks with a measured trial, by model and shell, and the failures, most frequent first.\n"
    heads = [
        "study, model",
        "shell",
        "tasks",
        "trials",
        "never passed",
        "always passed",
        "in between",
        "failures by class",
    ]
    yield table(heads, [_row(*line) for line in measured], "llrrrrrl")
    yield "\nPassed at least once:\n"
    for model, shell, found, _ in measured:
        passed = [f"`{task}` ({passes} of {of})" for task, (passes, of) in found.items() if passes]
        if passed:
            yield f"- {model}, {SHELLS[shell].short_title}: {', '.join(passed)}"
    once = {task for _, _, found, _ in measured for task, (passes, _) in found.items() if passes}
    asked = {task for _, _, found, _ in measured for task in found}
    floor = [f"`{name}`" for name in names if name in asked - once]
    yield f"\nNever passed by any of them ({len(floor)} of {len(asked)} tasks asked): {', '.join(floor) or 'none'}."
    always = sorted(
        {
            (task, of)
            for _, _, found, _ in measured
            for task, (passes, of) in found.items()
            if passes == of
        }
    )
    full = ", ".join(f"`{name}` ({of} of {of})" for name, of in always)
    yield f"\nPassed in every trial by one of them: {full or 'none'}."
    yield _TEXT.rstrip()


def _measured(
    seen: ObservedStudy, names: Sequence[str]
) -> Iterator[tuple[str, str, Found, dict[str, int]]]:
    """Title of the model, shell, what was found and the failures by class, of each shell that was measured."""
    for model in seen.study.models:
        rates = seen.rates(model.alias, names)
        for shell in seen.study.shells:
            found = {task: counts[shell] for task, counts in rates.items() if counts[shell][1]}
            if found:
                yield (
                    f"{seen.study.study}, {model.alias}",
                    shell,
                    found,
                    seen.failures(model.alias, shell, list(found)),
                )


def _row(model: str, shell: str, found: Found, failures: dict[str, int]) -> list[object]:
    never = sum(not passes for passes, _ in found.values())
    always = sum(passes == of for passes, of in found.values())
    classes = ", ".join(f"{name} {count}" for name, count in failures.items()) or "-"
    counts = [
        len(found),
        sum(of for _, of in found.values()),
        never,
        always,
        len(found) - never - always,
    ]
    return [model, SHELLS[shell].short_title, *counts, classes]


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


def pages() -> dict[str, str]:
    """Both pages, of the project's own tasks."""
    tasks = [task for task in load_tasks() if not task.private]
    method = with_balance((ROOT / METHOD).read_text(encoding="utf-8"), tasks)
    return {PAGE: task_page(tasks, observed_studies()), METHOD: method}
