"""What `make validate` executes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

from fluency.common.errors import SandboxError
from fluency.common.terminal import log_line
from fluency.core.grammar import condition_applies
from fluency.core.shells import AS_DESIGNED, SHELLS, ConditionName, other_dialect
from fluency.core.study import Limits
from fluency.core.task_world import world_for
from fluency.core.tasks import Task
from fluency.execution.protocol import Invocation
from fluency.execution.sandbox import Sandbox
from fluency.scoring import checks
from fluency.scoring.checks import JSON_RULES
from fluency.scoring.verdict import judge

Kind = Literal["reference", "wrong", "trivial", "hard-coded", "other-dialect"]
_SHAPES = (
    *(
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
    ),
    *(
        "x@1",
        "x.rs 1",
        "vox-x 1",
        "r-0000 1",
        "1 V000",
        "1 crates/x:1",
        "1 2026-01-31T00:00:00Z",
        "0" * 64,
        "x/y",
    ),
    *(
        "x y.md",
        "x 1 1",
        "+ x.schema.json",
        "[]",
        '[{"tool": "x", "failures": 1}]',
        "{}",
        "/opt/x",
        "1" * 19 + " 1",
    ),
    *(
        "key-0",
        "s-00 2026-01-31T00:00:00Z 1",
        "x1 x",
        "1 x.md",
        "100 1",
        "x x.rs",
        "1 x 1",
        "1000 1",
        "x -",
        "1 1 x",
    ),
    *("w-0 x", "X=x", "x.rs", "x.tar.zst", "x 192.0.2.0"),
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


@dataclass(frozen=True)
class ProbeResult:
    """The verdict on one execution, and how long the command took."""

    probe: Probe
    passed: bool
    why: str
    wall_s: float | None = None


class Prober:
    """Executes probes in the sandbox, as many at a time as it allows."""

    def __init__(self, sandbox: Sandbox, tasks: Iterable[Task], limits: Limits) -> None:
        self.tasks = {task.id: task for task in tasks}
        self.executions = 0
        self._sandbox = sandbox
        self._limits = limits

    def run(self, probe: Probe) -> tuple[ProbeResult, Any]:
        """The verdict on one probe and the expected answer of its world; SandboxError if three attempts failed."""
        task, limits = self.tasks[probe.task], self._limits
        world = world_for(task, probe.seed)
        timeout_s = limits.timeout_s[probe.shell]
        invocation = Invocation(
            probe.shell, probe.command, world, limits, timeout_s, task.needs, probe.condition
        )
        attempts = Retrying(
            stop=stop_after_attempt(3), retry=retry_if_exception_type(SandboxError), reraise=True
        )
        result = attempts(self._sandbox.run, invocation)
        expected = task.expected(world, result.processes)
        verdict = judge(task, result, expected)
        return ProbeResult(probe, verdict.passed, verdict.why, result.wall_s), expected

    def all(self, probes: Sequence[Probe]) -> list[tuple[ProbeResult, Any]]:
        """The verdicts on probes and the expected answers, in the order of the probes."""
        found = []
        with ThreadPoolExecutor(self._sandbox.parallel) as pool:
            for number, one in enumerate(pool.map(self.run, probes), 1):
                found.append(one)
                if number % 100 == 0:
                    log_line(f"{number} of {len(probes)} executions")
        self.executions += len(found)
        return found


def first_probes(task: Task, shells: Sequence[str], seeds: Sequence[int]) -> Iterator[Probe]:
    """Each reference once in each world; they give the answers that `further_probes` needs."""
    for shell in shells:
        for command in task.references.get(shell, ()):
            for seed in seeds:
                yield Probe(task.id, shell, "reference", command, seed)


def further_probes(
    task: Task, shells: Sequence[str], seeds: Sequence[int], repeats: int, answers: dict[int, Any]
) -> Iterator[Probe]:
    """All other executions; `answers` are the expected answers by seed, from the first probes.

    `repeats` is how often a shell's references are executed in all, over all worlds.
    """
    for shell in filter(task.references.get, shells):
        references = task.references[shell]
        other = task.references[other_dialect(SHELLS[shell]).name]
        for command in references:
            for seed in seeds:
                for repeat in range(2, -(-repeats // (len(references) * len(seeds))) + 1):
                    yield Probe(task.id, shell, "reference", command, seed, repeat=repeat)
        must_fail: list[tuple[Kind, str]] = [
            ("wrong", command) for command in task.wrong.get(shell, ())
        ]
        must_fail += [("trivial", command) for command in trivial(task, shell)]
        must_fail += [("other-dialect", other[0])]
        for kind, command in must_fail:
            for seed in seeds:
                yield Probe(task.id, shell, kind, command, seed)
        for source, answer in answers.items():
            for seed in seeds:
                if seed % 2 != source % 2:
                    yield Probe(task.id, shell, "hard-coded", hard_coded(shell, task, answer), seed)
        for condition in SHELLS[shell].conditions:
            own = [
                command
                for command in references
                if condition_applies(condition, SHELLS[shell], command)
            ]
            alien = (
                () if condition.unix_tools else other
            )  # with its programs there, another dialect may well pass
            for kind, commands in (("reference", own), ("other-dialect", alien)):
                for command in commands:
                    for seed in seeds:
                        yield Probe(task.id, shell, kind, command, seed, condition.name)


def trivial(task: Task, shell: str) -> list[str]:
    """Commands that do nothing, and one that prints text of the right shape."""
    shape = shape_of(task)
    return [
        *SHELLS[shell].trivial_answers,
        *([SHELLS[shell].print_command([shape])] if shape else []),
    ]


def shape_of(task: Task) -> str | None:
    """A line that has the task's structure and is no answer; None if none of the known lines has it."""
    return next(
        (
            s
            for s in _SHAPES
            if checks.structure_problem(task.structure, s, checks.output_lines(s)) is None
        ),
        None,
    )


def hard_coded(shell: str, task: Task, answer: Any) -> str:
    """A command that prints one world's answer, like that of a model that has seen it."""
    if task.content in JSON_RULES:
        lines = [json.dumps(answer)]
    else:
        lines = [str(line) for line in answer] if isinstance(answer, list) else [str(answer)]
    return SHELLS[shell].print_command(lines)
