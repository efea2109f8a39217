"""The task bank as a task of Inspect AI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.solver import generate

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
    """The bank in one shell: `tasks` is a set, `all`, or ids; trials are `--epochs`."""
    chosen = bank.load_tasks(tasks.split(",") if isinstance(tasks, str) and "," in tasks else tasks)
    samples = [sample_of(one, shell, f"{one.id}/{shell}") for one in chosen]
    return Task(
        dataset=MemoryDataset(samples, name=f"bank-{shell}"),
        solver=generate(),
        scorer=verdict(list(seeds)),
        config=GenerateConfig(temperature=temperature),
    )


def sample_of(
    one: bank.Task, shell: str, name: str, more: Mapping[str, str] | None = None
) -> Sample:
    """The study's prompt for a task and shell as a sample, with more metadata."""
    metadata = {"task": one.id, "shell": shell, "category": one.category} | dict(more or {})
    return Sample(input=build_prompt(one.prompt, shell), id=name, metadata=metadata)
