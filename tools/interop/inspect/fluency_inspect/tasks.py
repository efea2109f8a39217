"""The tasks: the bank for a model, and recorded commands in place of a model's answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig, ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver

from fluency.core import tasks as bank
from fluency.core.study import PILOT
from fluency.generation.request import build_prompt
from fluency_inspect.verdict import verdict

SEEDS = [11, 24]


@task
def shell_fluency(
    shell: str = "bash",
    tasks: str | list[str] = PILOT,
    seeds: Sequence[int] = SEEDS,
    temperature: float = 0.7,
) -> Task:
    """The bank in one shell: `tasks` is a set of tasks/sets.yaml, `all`, or ids; the study's trials are `--epochs`."""
    chosen = bank.load_tasks(tasks.split(",") if isinstance(tasks, str) and "," in tasks else tasks)
    return Task(
        dataset=MemoryDataset(
            [_sample(one, shell, f"{one.id}/{shell}") for one in chosen], name=f"bank-{shell}"
        ),
        solver=generate(),
        scorer=verdict(list(seeds)),
        config=GenerateConfig(temperature=temperature),
    )


@task
def recorded_commands(commands: str, seeds: Sequence[int] = (1, 2)) -> Task:
    """Commands in place of a model's answers, to see whether their verdicts are the recorded ones.

    `commands` is a file of JSON lines with `id`, `task`, `shell` and `command`.
    """
    tasks = {one.id: one for one in bank.load_tasks()}
    lines = map(json.loads, Path(commands).read_text(encoding="utf-8").splitlines())
    samples = [
        _sample(tasks[line["task"]], line["shell"], line["id"], line["command"]) for line in lines
    ]
    return Task(
        dataset=MemoryDataset(samples, name="recorded"),
        solver=say_the_command(),
        scorer=verdict(list(seeds)),
    )


@solver
def say_the_command() -> Solver:
    """The sample's own command as the answer."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content("recorded", state.metadata["command"])
        state.messages.append(state.output.message)
        return state

    return solve


def _sample(one: bank.Task, shell: str, name: str, command: str | None = None) -> Sample:
    metadata = {"task": one.id, "shell": shell, "category": one.category}
    recorded = {} if command is None else {"command": command}
    return Sample(input=build_prompt(one.prompt, shell), id=name, metadata=metadata | recorded)
