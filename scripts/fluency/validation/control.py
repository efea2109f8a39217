"""The control of a study: right and wrong commands, executed in its sandbox like the answers."""

from __future__ import annotations

from collections.abc import Sequence

from fluency.core.records import Control, ControlRun
from fluency.core.study import Study
from fluency.core.tasks import Task
from fluency.execution.sandbox import Sandbox
from fluency.validation.probes import Kind, Probe, Prober, ProbeResult


def run_control(study: Study, tasks: Sequence[Task], sandbox: Sandbox) -> Control:
    """Execute the first reference and the first wrong command of every task, shell and world.

    SandboxError if one could not be measured.
    """
    kinds: tuple[Kind, ...] = ("reference", "wrong")
    lacking = {shell: why for shell in study.shells if (why := sandbox.why_missing(shell))}
    probes = [
        Probe(task.id, shell, kind, command, seed)
        for task in tasks
        for shell in study.shells
        if shell not in lacking
        for kind in kinds
        for command in (task.references if kind == "reference" else task.wrong).get(shell, [])[:1]
        for seed in study.seeds
    ]
    found = Prober(sandbox, tasks, study.sandbox.limits).all(probes)
    runs = [
        _run_of(found[first : first + len(study.seeds)])
        for first in range(0, len(found), len(study.seeds))
    ]
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
        results={str(one.probe.seed): one.result for one in findings if one.result},
        passed=failed is None,
        why=f"World {failed.probe.seed}: {failed.why}" if failed else findings[0].why,
    )
