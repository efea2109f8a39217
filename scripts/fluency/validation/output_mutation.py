"""Mutation testing of the checks: outputs near to the right one that must fail, and ways to write it that must pass.

`python -m fluency.validation.output_mutation` writes the kill table into docs/checks.md.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fluency.common.paths import ROOT
from fluency.core.process_plan import planned_processes
from fluency.core.records import Result, Stream
from fluency.core.task_world import world_for
from fluency.core.tasks import Task, load_tasks
from fluency.scoring import content
from fluency.scoring.verdict import judge
from fluency.validation import output_variants as make
from fluency.world import World

DOCUMENT = ROOT / "docs" / "checks.md"
SEEDS = (11, 24)
START, END = "<!-- kill table: start -->", "<!-- kill table: end -->"


class Variant(NamedTuple):
    """A result made from the right output of a task, and whether a check may pass it."""

    name: str
    result: Result
    must_pass: bool


class Tally(NamedTuple):
    """Of one task in both worlds: wrong outputs made and killed, right ones made and accepted, names of the others."""

    wrong: int
    killed: int
    right: int
    accepted: int
    survivors: list[str]


def variants(task: Task, expected: Any) -> Iterator[Variant]:
    """Every variant of the right output; the order and the content depend on the answer alone."""
    rng = random.Random(f"{task.id} {content.quoted(str(expected), 1_000)}")
    if task.structure.json_shape is not None:
        right, wrong, same = make.render_json(expected), make.wrong_json(expected), make.same_json(task, expected, rng)
    else:
        lines = list(expected) if isinstance(expected, list) else [expected]
        right, wrong, same = make.render(lines), make.wrong_lines(task, lines), make.same_lines(task, lines, rng)
    yield Variant("the right output", _result(right), True)
    for name, stdout in [*make.any_bytes(right), *same]:
        yield Variant(name, _result(stdout), True)
    for name, stdout in wrong:
        yield Variant(name, _result(stdout), False)
    yield Variant("nothing printed", _result(b""), False)
    yield Variant("exit code 1", _result(right, exit_code=1), False)
    yield Variant("stopped at the deadline", _result(right, exit_code=None, signal=9, timed_out=True), False)
    yield Variant("ended by a signal", _result(right, exit_code=None, signal=11), False)
    yield Variant("not started", _result(right, exit_code=None, spawn_error="argument list too long"), False)
    cut = Result(exit_code=0, stdout=Stream.of(right, len(right) + 1), stderr=Stream.of(b""), wall_s=0.1)
    yield Variant("output cut by the sandbox", cut, False)


def tally(task: Task, seeds: Sequence[int] = SEEDS, worlds: Callable[[Task, int], World] = world_for) -> Tally:
    """The variants of a task in each world, judged."""
    made, good = Counter[bool](), Counter[bool]()
    survivors = []
    for seed in seeds:
        world = worlds(task, seed)
        expected = task.expected(world, planned_processes(world))
        for variant in variants(task, expected):
            made[variant.must_pass] += 1
            if judge(task, variant.result, expected).passed == variant.must_pass:
                good[variant.must_pass] += 1
            else:
                survivors.append(f"world {seed}: {variant.name}")
    return Tally(made[False], good[False], made[True], good[True], survivors)


def kill_table(tasks: Sequence[Task], seeds: Sequence[int] = SEEDS) -> str:
    """The table of docs/checks.md: for each task how many wrong outputs its check kills and right ones it accepts."""
    rows = [
        "| task | rule | wrong outputs | killed | kill rate | right outputs | accepted |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    total = [0, 0, 0, 0]
    for task in tasks:
        found = tally(task, seeds)
        numbers = (found.wrong, found.killed, found.right, found.accepted)
        total = [sum(pair) for pair in zip(total, numbers, strict=True)]
        rows.append(f"| `{task.id}` | {task.content} | {_cells(numbers)} |")
    rows.append(f"| all {len(tasks)} | | {_cells(total)} |")
    return "\n".join(rows)


def with_table(document: str, table: str) -> str:
    """A document with the table between its two marks replaced."""
    head, _, rest = document.partition(START)
    _, _, foot = rest.partition(END)
    return f"{head}{START}\n{table}\n{END}{foot}"


def write_document(path: Path = DOCUMENT) -> None:
    """Bring docs/checks.md up to date."""
    text = path.read_text(encoding="utf-8")
    path.write_text(with_table(text, kill_table([task for task in load_tasks() if not task.private])), encoding="utf-8")


def _cells(numbers: Sequence[int]) -> str:
    wrong, killed, right, accepted = numbers
    return f"{wrong} | {killed} | {100 * killed / wrong:.1f} % | {right} | {accepted}"


def _result(stdout: bytes, exit_code: int | None = 0, **fields: Any) -> Result:
    return Result(exit_code=exit_code, stdout=Stream.of(stdout), stderr=Stream.of(b""), wall_s=0.1, **fields)


if __name__ == "__main__":
    write_document()
