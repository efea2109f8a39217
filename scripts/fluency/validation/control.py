"""The control of a study: commands known to be right or wrong, executed in its sandbox like the answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from fluency.core.records import Control, ControlRun
from fluency.core.study import Study
from fluency.core.tasks import Task
from fluency.execution.execute import missing_shell_reason
from fluency.execution.sandbox import Sandbox
from fluency.validation.probes import Probe, Prober, ProbeResult


def run_control(study: Study, tasks: Sequence[Task], sandbox: Sandbox) -> Control:
    """Execute the first reference and the first wrong command of every task, shell and world.

    SandboxError if one could not be measured.
    """
    lacking = {shell: why for shell in study.shells if (why := missing_shell_reason(sandbox, shell))}
    probes = [
        Probe(task.id, shell, kind, command, seed)
        for task in tasks
        for shell in study.shells
        if shell not in lacking
        for kind, command in _commands(task, shell)
        for seed in study.seeds
    ]
    found = [finding for finding, _ in Prober(sandbox, tasks, study.sandbox.limits).all(probes)]
    runs = [_run_of(found[first : first + len(study.seeds)]) for first in range(0, len(found), len(study.seeds))]
    return Control(image=sandbox.image, runs=runs, not_measured=lacking)


def _run_of(findings: Sequence[ProbeResult]) -> ControlRun:
    """One command's results in all worlds as one run; the first failed one decides."""
    failed = next((finding for finding in findings if not finding.passed), None)
    probe = findings[0].probe
    return ControlRun(
        task=probe.task,
        shell=probe.shell,
        kind="reference" if probe.kind == "reference" else "wrong",
        command=probe.command,
        passed=failed is None,
        why=f"World {failed.probe.seed}: {failed.why}" if failed else findings[0].why,
    )


def _commands(task: Task, shell: str) -> list[tuple[Literal["reference", "wrong"], str]]:
    """The first reference and the first wrong command, where the task has them for the shell."""
    first: list[tuple[Literal["reference", "wrong"], str]] = []
    if task.references.get(shell):
        first.append(("reference", task.references[shell][0]))
    if task.wrong.get(shell):
        first.append(("wrong", task.wrong[shell][0]))
    return first
