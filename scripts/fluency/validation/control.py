"""The control of a study: right and wrong commands, executed in its sandbox like the answers."""

from collections.abc import Sequence

from fluency.core.records import Control
from fluency.core.study import Study
from fluency.core.task_world import world_for
from fluency.core.tasks import Task
from fluency.execution.sandbox import Sandbox
from fluency.scoring.control import control_commands, judged_control
from fluency.validation.probes import Probe, Prober


def run_control(study: Study, tasks: Sequence[Task], sandbox: Sandbox) -> Control:
    """Execute the first reference and the first wrong command of every task, shell and world.

    SandboxError if one could not be measured.
    """
    lacking = {shell: why for shell in study.shells if (why := sandbox.why_missing(shell))}
    shells = [shell for shell in study.shells if shell not in lacking]
    commands = list(control_commands(tasks, shells))
    probes = [
        Probe(ran.task.id, ran.shell, ran.kind, ran.command, seed)
        for ran in commands
        for seed in study.seeds
    ]
    found = iter(Prober(sandbox, tasks, study.sandbox.limits).all(probes))
    runs = [
        judged_control(
            ran,
            {str(seed): one.result for seed in study.seeds if (one := next(found)).result},
            world_for,
        )
        for ran in commands
    ]
    return Control(runs=runs, not_measured=lacking)
