"""What `make validate` executes."""

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tenacity import retry, retry_if_exception_type, stop_after_attempt

from fluency.common.canonical import canonical_sha256
from fluency.common.errors import SandboxError
from fluency.common.files import write_atomic
from fluency.common.terminal import log_line
from fluency.core.grammar import condition_applies, parse
from fluency.core.records import Result
from fluency.core.shells import AS_DESIGNED, EVERYWHERE, SHELLS, ConditionName
from fluency.core.study import Limits
from fluency.core.task_world import expected_in, planned
from fluency.core.tasks import Task
from fluency.execution.protocol import Invocation
from fluency.execution.sandbox import Sandbox
from fluency.scoring import checks
from fluency.scoring.checks import JSON_RULES
from fluency.scoring.judgement import judge_in
from fluency.world import World, build_world

BASE_SEED = 1
"""Of the world in which a command runs that prints the same in every world."""
Kind = Literal["reference", "wrong", "trivial", "hard-coded", "other-dialect"]
_SHAPES = """\
1
x
1 x
x 1
1 vox-x
x 1.2.3
00 1
1.2.3 2026-01-31
/x 200
/x
x: 1 -> 2
1.5 x
job-x
job-1 FAILED
vox-sched x
x-1 2026-
200
1.2.3
x@1
x.rs 1
vox-x 1
r-0000 1
1 V000
1 crates/x:1
1 2026-01-31T00:00:00Z
DIGEST
x/y
x y.md
x 1 1
+ x.schema.json
[]
[{"tool": "x", "failures": 1}]
{}
/opt/x
1111111111111111111 1
key-0
s-00 2026-01-31T00:00:00Z 1
x1 x
1 x.md
100 1
x x.rs
1 x 1
1000 1
x -
1 1 x
w-0 x
X=x
x.rs
x.tar.zst
x 192.0.2.0
DIGEST x
2026-01-31T00:00:00Z x
x.service x
2026-01-31 1
1000
x@1 x
1: x
0000000000000000000000000000000000000000
""".replace("DIGEST", "0" * 64).splitlines()
"""Lines of which each task's structure accepts one, and no task has any as its answer."""


class Probe(NamedTuple):
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
    """The judgement of one execution.

    Attributes:
        why: the first thing that is wrong, or why the execution was not measured.
        result: what was judged; None if the sandbox lost it in every attempt.
    """

    probe: Probe
    passed: bool
    why: str
    result: Result | None


class Prober:
    """Executes probes in the sandbox, several at a time, and judges the results.

    Attributes:
        executions: how many commands ran.
    """

    def __init__(
        self, sandbox: Sandbox, tasks: Iterable[Task], limits: Limits, kept: Path | None = None
    ) -> None:
        """`kept` is a folder whose results are taken instead of executing the same again."""
        self.tasks = {task.id: task for task in tasks}
        self.executions = 0
        self._sandbox = sandbox
        self._limits = limits
        self._kept = kept
        self._printed: dict[tuple[str, str], Result] = {}

    def run(self, probe: Probe) -> ProbeResult:
        """The judgement of one probe; SandboxError if three attempts failed."""
        task = self.tasks[probe.task]
        world, processes = planned(task, probe.seed)
        if probe.kind in ("trivial", "hard-coded"):  # it prints the same in every world
            command = (probe.shell, probe.command)
            if command not in self._printed:
                self._printed[command] = self._result(probe, build_world(BASE_SEED), ())
            result = self._printed[command].model_copy(update={"processes": list(processes)})
        else:
            result = self._result(probe, world, task.needs)
        found = judge_in(world, task, result)
        return ProbeResult(probe, found.passed, found.why, result)

    def _result(self, probe: Probe, world: World, needs: Sequence[str]) -> Result:
        """The result of a command: kept, or executed in up to three attempts.

        A result that the sandbox lost says nothing of the command: it is not kept.
        """
        timeout_s = self._limits.deadline_s(probe.shell)
        invocation = Invocation(
            probe.shell, probe.command, world, self._limits, timeout_s, needs, probe.condition
        )
        file = self._kept and self._kept / f"{self._key(invocation, probe.repeat)}.json"
        if file and file.exists():
            return Result.model_validate_json(file.read_bytes())
        result = self._execute(invocation)
        if file:
            write_atomic(file, result.model_dump_json())
        return result

    @retry(stop=stop_after_attempt(3), retry=retry_if_exception_type(SandboxError), reraise=True)
    def _execute(self, invocation: Invocation) -> Result:
        result = self._sandbox.run(invocation)
        if result.lost is not None:
            raise SandboxError(result.lost)
        self.executions += 1
        return result

    def _key(self, invocation: Invocation, repeat: int) -> str:
        """Everything that a result depends on; a task's checks are applied again."""
        image = self._sandbox.images[invocation.shell]
        parts = [
            [image.content_sha256, image.shells],
            [invocation.shell, invocation.command, invocation.condition],
            [invocation.world.sha256, list(invocation.needs), repeat],
            invocation.limits.model_dump(),
        ]
        return canonical_sha256(parts)

    def all(self, probes: Sequence[Probe], *, go_on: bool = False) -> list[ProbeResult]:
        """The judgements of probes, in their order.

        With `go_on`, a probe that could not be measured is a finding, not a SandboxError.
        """

        def one(probe: Probe) -> ProbeResult:
            try:
                return self.run(probe)
            except SandboxError as error:
                if not go_on:
                    raise
                return ProbeResult(probe, False, error.what, None)

        found = []
        with ThreadPoolExecutor(self._sandbox.parallel) as pool:
            for number, finding in enumerate(pool.map(one, probes), 1):
                found.append(finding)
                if number % 100 == 0:
                    log_line(f"{number} of {len(probes)} executions")
        return found


def every_world_probes(
    task: Task, shells: Sequence[str], seeds: Sequence[int], repeats: int
) -> Iterator[Probe]:
    """What is executed for every world: references, and texts that only print something.

    Args:
        task: whose commands are executed.
        shells: in which.
        seeds: of the worlds.
        repeats: how often a shell's references are executed in all, over all worlds.
    """
    for shell, seed in itertools.product(filter(task.references.get, shells), seeds):
        references = task.references[shell]
        each = math.ceil(repeats / (len(references) * len(seeds)))
        for command in references:
            for repeat in range(1, each + 1):
                yield Probe(task.id, shell, "reference", command, seed, repeat=repeat)
            for condition in SHELLS[shell].conditions:
                if condition_applies(condition, SHELLS[shell], command):
                    yield Probe(task.id, shell, "reference", command, seed, condition.name)
        for command in trivial(task, shell):
            yield Probe(task.id, shell, "trivial", command, seed)
        for other in seeds:
            if task.content and seed % 2 != other % 2:
                command = hard_coded(shell, task, expected_in(task, other))
                yield Probe(task.id, shell, "hard-coded", command, seed)


def must_fail_probes(task: Task, shells: Sequence[str], seeds: Sequence[int]) -> Iterator[Probe]:
    """What may pass in worlds of one parity, not of both: wrong commands, and the other dialect's.

    Another dialect's references may well pass where its programs are there.
    """
    for shell, seed in itertools.product(filter(task.references.get, shells), seeds):
        for command in task.wrong.get(shell, ()):
            yield Probe(task.id, shell, "wrong", command, seed)
        other = SHELLS[shell].other_dialect
        for command in task.references[other.name]:
            if {call.name for call in parse(other.grammar, command).calls} <= EVERYWHERE:
                continue  # it is a command of both
            for condition in SHELLS[shell].conditions:
                if not condition.unix_tools:
                    yield Probe(task.id, shell, "other-dialect", command, seed, condition.name)


def trivial(task: Task, shell: str) -> list[str]:
    """Commands that do nothing, and one that prints text of the right shape."""
    shape = shape_of(task)
    printed = [SHELLS[shell].print_command([shape])] if shape else []
    return [*SHELLS[shell].trivial_answers, *printed]


def shape_of(task: Task) -> str | None:
    """A line that has the task's structure and is not an answer; None if no known line has it."""
    if task.structure:
        for line in _SHAPES:
            if not checks.structure_problem(task.structure, line, checks.output_lines(line)):
                return line
    return None


def hard_coded(shell: str, task: Task, answer: Any) -> str:
    """A command that prints one world's answer, as a model that has seen it would."""
    lines = answer if isinstance(answer, list) else [answer]
    if task.content in JSON_RULES:
        lines = [json.dumps(answer)]
    return SHELLS[shell].print_command(list(map(str, lines)))
