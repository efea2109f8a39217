"""What `make validate` executes, and executing it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fluency.core.grammar import condition_applies
from fluency.core.shells import AS_DESIGNED, SHELLS, ConditionName, other_dialect
from fluency.core.tasks import Task
from fluency.scoring import checks
from fluency.scoring.checks import JSON_RULES

Kind = Literal["reference", "wrong", "trivial", "hard-coded", "other-dialect"]
_SHAPES = (
    "1",
    "x",
    "1 x",
    "x 1",
    "1 vox-x",
    "x 1.2.3",
    "00 1",
    "1.2.3 2026-01-31",
    "/x 200",
    "/x",
    "x: 1 -> 2",
    "1.5 x",
    "x@1",
    "x.rs 1",
    "vox-x 1",
    "r-0000 1",
    "1 V000",
    "1 crates/x:1",
    "1 2026-01-31T00:00:00Z",
    "0" * 64,
    "x/y",
    "x y.md",
    "x 1 1",
    "+ x.schema.json",
    "[]",
    '[{"tool": "x", "failures": 1}]',
    "{}",
)


@dataclass(frozen=True)
class Probe:
    """One execution. `repeat` counts from 1; only references are executed more than once."""

    task: str
    shell: str
    kind: Kind
    command: str
    seed: int
    condition: ConditionName = AS_DESIGNED.name
    repeat: int = 1


def first_probes(task: Task, shells: Sequence[str], seeds: Sequence[int]) -> Iterator[Probe]:
    """Each reference once in each world: what the rest is planned from. Shells without a reference have no probe."""
    for shell in shells:
        for command in task.references.get(shell, ()):
            for seed in seeds:
                yield Probe(task.id, shell, "reference", command, seed)


def further_probes(
    task: Task, shells: Sequence[str], seeds: Sequence[int], repeats: int, answers: dict[int, Any]
) -> Iterator[Probe]:
    """All other executions; `answers` are the expected ones by seed, as the first probes found them.

    `repeats` executions in all are shared among a shell's references and worlds, each gets its part.
    """
    for shell in filter(task.references.get, shells):
        references = task.references[shell]
        other = task.references[other_dialect(SHELLS[shell]).name]
        for command in references:
            for seed in seeds:
                for repeat in range(2, -(-repeats // (len(references) * len(seeds))) + 1):
                    yield Probe(task.id, shell, "reference", command, seed, repeat=repeat)
        never: list[tuple[Kind, str]] = [("wrong", command) for command in task.wrong.get(shell, ())]
        never += [("trivial", command) for command in trivial(task, shell)]
        never += [("other-dialect", other[0])]
        for kind, command in never:
            for seed in seeds:
                yield Probe(task.id, shell, kind, command, seed)
        for source, answer in answers.items():
            for seed in seeds:
                if seed % 2 != source % 2:
                    yield Probe(task.id, shell, "hard-coded", hard_coded(shell, task, answer), seed)
        for condition in SHELLS[shell].conditions:
            own = [command for command in references if condition_applies(condition, SHELLS[shell], command)]
            alien = () if condition.unix_tools else other  # with its programs there, another dialect may well pass
            for kind, commands in (("reference", own), ("other-dialect", alien)):
                for command in commands:
                    for seed in seeds:
                        yield Probe(task.id, shell, kind, command, seed, condition.name)


def trivial(task: Task, shell: str) -> list[str]:
    """Commands that do nothing, and one that prints text of the right shape."""
    shape = shape_of(task)
    return [*SHELLS[shell].trivial_answers, *([SHELLS[shell].print_command([shape])] if shape else [])]


def shape_of(task: Task) -> str | None:
    """A line that has the task's structure and is no answer; None if none of the known ones has it."""
    return next(
        (s for s in _SHAPES if checks.structure_problem(task.structure, s, checks.output_lines(s)) is None), None
    )


def hard_coded(shell: str, task: Task, answer: Any) -> str:
    """A command that prints one world's answer, as a model would that had seen it."""
    if task.content in JSON_RULES:
        lines = [json.dumps(answer)]
    else:
        lines = [str(line) for line in answer] if isinstance(answer, list) else [str(answer)]
    return SHELLS[shell].print_command(lines)
