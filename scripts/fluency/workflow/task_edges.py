"""Which tasks stand at the floor and at the ceiling for the models that were asked: a section of docs/tasks.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fluency.core.shells import SHELLS
from fluency.core.tasks import Task
from fluency.report.markdown import table
from fluency.workflow.observed import ObservedStudy

Found = dict[str, tuple[int, int]]
"""Task -> passes and measured trials of one model in one shell."""
_TEXT = """
One trial says little of a task: after 0 of 1 its pass rate may be anything up to 95 % (one-sided 95 % bound), after
0 of 5 up to 45 %, and after 1 of 1 anything above 5 %. What the trials of a model add up to says more: none of 60
passes bounds its mean rate over these tasks by 4.9 %, none of 100 by 3.0 %.

A task tells two shells apart only for a model that sometimes passes it and sometimes does not, in one of them at
least. For a model that passes nothing the whole bank is at the floor, and no number of trials changes that. What
such a model lacks is seen in how it fails, above: a command that ends with an error, prints nothing or lines of
another form never came to the traps that the tasks are made of. `silent-wrong`, a wrong output in the right form,
is the failure that the traps cause. The bank has room to measure a model once that is its most frequent failure and
its pass rate lies between 10 and 90 % (beyond, the report says *cannot tell*). Which tasks are at the ceiling for
strong models is not known: none was asked.
"""


def edges(tasks: Sequence[Task], studies: Sequence[ObservedStudy]) -> Iterator[str]:
    """The section's lines."""
    names = [task.id for task in tasks]
    arms = [arm for seen in studies for arm in _arms(seen, names)]
    yield "\n## At the floor and at the ceiling\n"
    yield "What each model did in each shell, of the tasks with a measured trial; how it failed, most frequent first.\n"
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
    yield table(heads, [_row(*arm) for arm in arms], "llrrrrrl")
    yield "\nPassed at least once:\n"
    for model, shell, found, _ in arms:
        passed = [f"`{task}` ({passes} of {of})" for task, (passes, of) in found.items() if passes]
        if passed:
            yield f"- {model}, {SHELLS[shell].short_title}: {', '.join(passed)}"
    once = {task for _, _, found, _ in arms for task, (passes, _) in found.items() if passes}
    asked = {task for _, _, found, _ in arms for task in found}
    floor = [f"`{name}`" for name in names if name in asked - once]
    yield f"\nAt the floor for all of them ({len(floor)} of {len(asked)} tasks asked): {', '.join(floor) or 'none'}."
    always = sorted({(task, of) for _, _, found, _ in arms for task, (passes, of) in found.items() if passes == of})
    full = ", ".join(f"`{name}` ({of} of {of})" for name, of in always)
    yield f"\nPassed in every trial by one of them: {full or 'none'}."
    yield _TEXT.rstrip()


def _arms(seen: ObservedStudy, names: Sequence[str]) -> Iterator[tuple[str, str, Found, dict[str, int]]]:
    """Title of the model, shell, what was found and the failures by class, of each arm that was measured."""
    for model in seen.study.models:
        rates = seen.rates(model.alias, names)
        for shell in seen.study.shells:
            found = {task: counts[shell] for task, counts in rates.items() if counts[shell][1]}
            if found:
                yield f"{seen.study.study}, {model.alias}", shell, found, seen.failures(model.alias, shell, list(found))


def _row(model: str, shell: str, found: Found, failures: dict[str, int]) -> list[object]:
    never = sum(not passes for passes, _ in found.values())
    always = sum(passes == of for passes, of in found.values())
    classes = ", ".join(f"{name} {count}" for name, count in failures.items()) or "-"
    counts = [len(found), sum(of for _, of in found.values()), never, always, len(found) - never - always]
    return [model, SHELLS[shell].short_title, *counts, classes]
