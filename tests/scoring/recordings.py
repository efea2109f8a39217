"""What `make recordings` recorded on real shells, as results, tasks and expected answers."""

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from fluency.core.records import Result, Stream
from fluency.core.task_world import world_for
from fluency.core.tasks import Structure, Task, load_tasks
from fluency.scoring.judgement import Judgement, differences_in, judge

DATA = Path(__file__).parents[1] / "data"
HANGING_S = 3
"""Of processor time, where half a second is usual: what takes longer is not linear."""


class Recorded(NamedTuple):
    """One command in one world. `failure_class` is the command's in both."""

    task: Task
    world: int
    shell: str
    kind: str
    command: str
    result: Result
    expected: Any
    passed: bool
    failure_class: str | None

    def judgement(self) -> Judgement:
        """By the recorded answer, which may be of process ids."""
        world = world_for(self.task, self.world)
        state = self.task.state(world, self.result.processes)
        left = differences_in(world, self.result, state) if state else ()
        return judge(self.task, self.result, self.expected, left)


def result(stdout=b"", exit_code=0, stderr="", **fields) -> Result:
    raw = stdout.encode() if isinstance(stdout, str) else stdout
    streams = {"stdout": Stream.of(raw), "stderr": Stream.of(stderr.encode())}
    return Result(exit_code=exit_code, **streams, **{"wall_s": 0.2} | fields)


def task_with(content, line=r"^\S.*$", lines="at-least-one", **structure) -> Task:
    """A task that is nothing but its checks."""
    about = {"id": "made-up", "category": "file-inspection", "fixture": "none", "fairness": "none"}
    about |= {"provenance": "written", "provenance_note": "for a test"}
    about["prompt"] = "Print what is asked."
    about["references"] = {"bash": ["true"], "pwsh": ["$null"]}
    about["wrong"] = {"bash": ["false"], "pwsh": ["exit 1"]}
    structure = Structure(line=line, lines=lines, **structure)
    return Task(structure=structure, content=content, **about)


def read_lines(name):
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


@cache
def recorded() -> list[Recorded]:
    tasks, first, found = {task.id: task for task in load_tasks()}, {}, []
    for line in read_lines("executions.jsonl"):
        name = line["task"]
        first[name] = line if "answers" in line else first[name]
        about = {key: line.get(key) for key in ("shell", "kind", "command", "failure_class")}
        for world, run in line.get("worlds", {}).items():
            expected = run.pop("expected", first[name]["answers"][world])
            usual = {"exit_code": 0, "stdout": first[name]["stdout"][world], "stderr": ""} | run
            streams = {key: _stream(usual.pop(key)) for key in ("stdout", "stderr")}
            printed = Result(**usual, **streams, wall_s=0.2)
            passed = int(world) in line["passes"]
            judged = {"result": printed, "expected": expected, "passed": passed}
            found.append(Recorded(tasks[name], int(world), **about, **judged))
    return found


def _stream(kept) -> Stream:
    return Stream.of(kept.encode()) if isinstance(kept, str) else Stream(**kept)
