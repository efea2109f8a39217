"""`make validate`: is every task fair, in every shell that is there, in the real sandbox?"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from fluency.common.errors import SandboxError
from fluency.common.paths import TASKS
from fluency.common.terminal import log_line
from fluency.core.deadline import sentence
from fluency.core.records import Result
from fluency.core.shells import SHELLS
from fluency.core.study import Limits, load_study
from fluency.core.task_world import world_for
from fluency.core.tasks import Task, load_tasks
from fluency.execution.invocation import Invocation
from fluency.execution.sandbox.sandbox import Sandbox, open_sandbox
from fluency.scoring.verdict import judge
from fluency.validation.probes import Probe, first_probes, further_probes
from fluency.validation.soundness import Finding, Report, not_validated, slowest_s, summarise
from fluency.validation.world_pairs import check_pair
from fluency.world import World

REPEATS = 20
_RETRIES = 2


class Prober:
    """Executes probes in the sandbox, as many at a time as it has room for."""

    def __init__(self, sandbox: Sandbox, tasks: Iterable[Task], limits: Limits) -> None:
        self.tasks = {task.id: task for task in tasks}
        self.executions = 0
        self._sandbox = sandbox
        self._limits = limits

    def run(self, probe: Probe) -> tuple[Finding, Any]:
        """The verdict on one probe and the expected answer of its world; SandboxError if it cannot be measured."""
        task = self.tasks[probe.task]
        world = world_for(task, probe.seed)
        result = self._measured(probe, task, world)
        expected = task.expected(world, result.processes)
        verdict = judge(task, result, expected)
        return Finding(probe, verdict.passed, verdict.why, result.wall_s), expected

    def all(self, probes: Sequence[Probe]) -> list[tuple[Finding, Any]]:
        """The verdicts on probes, in their order."""
        found = []
        with ThreadPoolExecutor(self._sandbox.parallel) as pool:
            for number, one in enumerate(pool.map(self.run, probes), 1):
                found.append(one)
                if number % 100 == 0:
                    log_line(f"{number} of {len(probes)} executions")
        self.executions += len(found)
        return found

    def _measured(self, probe: Probe, task: Task, world: World) -> Result:
        for _ in range(_RETRIES):
            with contextlib.suppress(SandboxError):
                return self._execute(probe, task, world)
        return self._execute(probe, task, world)

    def _execute(self, probe: Probe, task: Task, world: World) -> Result:
        limits = self._limits
        timeout_s = limits.timeout_s[probe.shell]
        return self._sandbox.run(
            Invocation(probe.shell, probe.command, world, limits, timeout_s, task.needs, probe.condition)
        )


def validate(
    task_ids: Sequence[str],
    seeds: Sequence[int],
    sandbox: Sandbox,
    *,
    repeats: int = REPEATS,
    limits: Limits | None = None,
    root: Path = TASKS,
) -> Report:
    """Prove tasks fair in worlds of odd and even seeds; an empty `task_ids` means all of `root`.

    UserError for unknown tasks and bad seeds, WorldError if two worlds have an answer in common, SandboxError if
    something could not be measured. The design's shells are demanded of every task, a further one is proven for the
    tasks that have references for it; a shell that the image lacks is reported as not validated.
    """
    started = time.monotonic()
    tasks = load_tasks(list(task_ids) or "all", root)
    check_pair(seeds, tasks)
    there = [shell for shell in SHELLS if sandbox.image.shells.get(shell)]
    limits = limits or Limits()
    prober = Prober(sandbox, tasks, limits)
    report = Report()
    first = prober.all([probe for task in tasks for probe in first_probes(task, there, seeds)])
    answers: dict[str, dict[int, Any]] = {}
    for finding, expected in first:
        answers.setdefault(finding.probe.task, {})[finding.probe.seed] = expected
    more = prober.all(
        [probe for task in tasks for probe in further_probes(task, there, seeds, repeats, answers.get(task.id, {}))]
    )
    report.findings = [finding for finding, _ in (*first, *more)]
    for shell in SHELLS:
        referenced = [task for task in tasks if task.references.get(shell)]
        if not referenced:
            continue
        if shell not in there:
            report.not_validated[shell] = f"the sandbox image holds no {SHELLS[shell].title}"
        elif (slow := slowest_s(f for f in report.findings if f.probe.shell == shell)) is not None:
            report.deadlines.append(sentence(SHELLS[shell].title, limits.timeout_s[shell], slow))
        for task in referenced:
            if shell in there:
                own = [f for f in report.findings if (f.probe.task, f.probe.shell) == (task.id, shell)]
                summarise(report, task.id, shell, own)
            else:
                not_validated(report, task.id, shell)
    report.executions, report.seconds = prober.executions, time.monotonic() - started
    return report


def main(task_ids: Sequence[str] = (), seeds: Sequence[int] = (), *, repeats: int = REPEATS) -> int:
    """Print the table of `make validate`; 1 if anything is unsound, else 0."""
    study = load_study()
    config = study.sandbox
    load_tasks(list(task_ids) or "all")
    sandbox = open_sandbox(config)
    report = validate(task_ids, list(seeds) or study.seeds, sandbox, repeats=repeats, limits=config.limits)
    print(report.text())
    return 0 if report.sound else 1
