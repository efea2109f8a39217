"""The control of a study: commands that are known to be right or wrong, judged like answers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from fluency.core.records import ControlRun, Result
from fluency.core.task_world import WorldFor
from fluency.core.tasks import Task
from fluency.scoring.judgement import judge_in


class ControlCommand(NamedTuple):
    """One command of a task that the control runs in every world."""

    task: Task
    shell: str
    kind: Literal["reference", "wrong"]
    command: str


def control_commands(tasks: Sequence[Task], shells: Sequence[str]) -> Iterator[ControlCommand]:
    """The first reference and the first wrong command of every task in each shell."""
    for task in tasks:
        for shell in shells:
            for command in task.references.get(shell, [])[:1]:
                yield ControlCommand(task, shell, "reference", command)
            for command in task.wrong.get(shell, [])[:1]:
                yield ControlCommand(task, shell, "wrong", command)


def judged_control(
    ran: ControlCommand, results: Mapping[str, Result], world_for: WorldFor
) -> ControlRun:
    """One command's results, by the seeds of their worlds, as one run; the first failed decides."""
    task, shell, kind, command = ran
    found = [
        (seed, judge_in(world_for(task, int(seed)), task, one)) for seed, one in results.items()
    ]
    failed = next((f"World {seed}: {one.why}" for seed, one in found if not one.passed), None)
    return ControlRun(
        task=task.id,
        shell=shell,
        kind=kind,
        command=command,
        results=dict(results),
        passed=failed is None,
        why=failed or found[0][1].why,
    )
