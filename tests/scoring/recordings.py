"""Recorded executions on real shells as results, tasks and expected answers."""

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from fluency.core.records import Result, Stream
from fluency.core.tasks import Structure, Task, load_tasks

DATA = Path(__file__).parents[1] / "data"
HANGING_S = 3
"""Of processor time, where half a second is usual: what takes longer is not linear."""


class Recorded(NamedTuple):
    name: str
    task: Task
    world: int
    shell: str
    kind: str
    command: str
    result: Result
    expected: Any
    structural: bool
    passed: bool


def result(
    stdout: bytes | str = b"", exit_code: int | None = 0, stderr: str = "", **fields: Any
) -> Result:
    raw = stdout.encode() if isinstance(stdout, str) else stdout
    return Result(
        exit_code=exit_code,
        stdout=Stream.of(raw),
        stderr=Stream.of(stderr.encode()),
        wall_s=0.2,
        **fields,
    )


def task_with(
    content: str, line: str | None = r"^\S.*$", lines: str = "at-least-one", **structure: Any
) -> Task:
    """A task that is nothing but its checks."""
    about = {"id": "made-up", "category": "file-inspection", "fixture": "none", "fairness": "none"}
    source = {
        "provenance": "written",
        "provenance_note": "for a test",
        "prompt": "Print what the test expects.",
    }
    commands = {
        "references": {"bash": ["true"], "pwsh": ["$null"]},
        "wrong": {"bash": ["false"], "pwsh": ["exit 1"]},
    }
    return Task(
        structure=Structure(line=line, lines=lines, **structure),
        content=content,
        **about,
        **source,
        **commands,
    )


def read_lines(name: str) -> list[dict]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


@cache
def recorded(name: str = "executions.jsonl") -> list[Recorded]:
    tasks = {task.id: task for task in load_tasks()}
    return [_recorded(line, tasks[line["task"]]) for line in read_lines(name)]


def recorded_more() -> list[Recorded]:
    """Of the tasks beyond the twenty."""
    return recorded("executions-more.jsonl")


def _recorded(line: dict, task: Task) -> Recorded:
    expected = line["expected"]["value"]
    if line["task"] == "session-tool-failures":
        expected = [{"tool": tool, "failures": count} for tool, count in expected]
    same = {key: line[key] for key in ("world", "shell", "kind", "command", "structural", "passed")}
    printed = result(line["stdout"], line["exit_code"], line["stderr"])
    name = f"{line['task']}-{line['shell']}-{line['kind']}-{line['world']}"
    return Recorded(name=name, task=task, result=printed, expected=expected, **same)
