"""Before a run: what it will do and cost, what is missing, and whether somebody agreed to pay."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from fluency.common.files import read_json
from fluency.common.paths import ANSWERS, RESULTS
from fluency.common.terminal import log_line
from fluency.core.shells import Shell, find_shell
from fluency.core.task_world import planned_processes, world_for
from fluency.core.tasks import Task
from fluency.execution import powershell
from fluency.generation.estimate import CostEstimate, confirm, estimate_cost
from fluency.generation.keys import require_keys
from fluency.generation.store import AnswerStore
from fluency.workflow.plan_text import render
from fluency.workflow.ready_study import ReadyStudy
from fluency.workflow.rerun_reasons import containers_to_start, jobs_to_run, rerun_reasons

IMAGE_RECORD = RESULTS / "image.json"


def estimate_of(ready: ReadyStudy, reasons: dict[str, dict[str, int]] | None = None) -> CostEstimate:
    """The cost estimate of a study, with what the sandbox lacks as far as it is known before a run."""
    return estimate_cost(
        ready.study,
        ready.tasks,
        AnswerStore(ANSWERS),
        environ=os.environ,
        missing=sandbox_lacks(ready),
        reasons=reasons,
    )


def sandbox_lacks(ready: ReadyStudy) -> list[str]:
    """A sentence for each thing the image record says is not there; none while there is no record."""
    return [
        f"{shell.short_title} in the sandbox image: its arm will be reported as not measured; {shell.install_hint}"
        for shell in shells_lacking(ready)
    ]


def image_will_lack(ready: ReadyStudy) -> list[str]:
    """A sentence if no image is recorded yet and the one to be built will hold no PowerShell; asks its release page."""
    if IMAGE_RECORD.exists() or powershell.NAME not in ready.study.shells or powershell.powershell_source():
        return []
    why = powershell.can_download()
    shell = find_shell(powershell.NAME)
    if why is None:
        return []
    return [f"{shell.short_title}: {why}; its arm will be reported as not measured; {shell.install_hint}"]


def shells_lacking(ready: ReadyStudy) -> list[Shell]:
    """The study's shells that the image record says are not there; none as long as there is no record."""
    if not IMAGE_RECORD.exists():
        return []
    there = read_json(IMAGE_RECORD)["image"]["shells"]
    return [shell for shell in map(find_shell, ready.study.shells) if not there.get(shell.name)]


def print_plan(ready: ReadyStudy, command: list[str]) -> int:
    """`make plan`: the plan with Snakemake's reasons, on standard output."""
    jobs = jobs_to_run(command)
    estimate = estimate_of(ready, rerun_reasons(ready, jobs))
    print(render(estimate), end="")
    containers = containers_to_start(ready, jobs, [shell.name for shell in shells_lacking(ready)])
    print(f"\n{containers}\n" if containers else "", end="")
    if not IMAGE_RECORD.exists():
        print("\nNo study here has used the sandbox image yet: the run takes the one that is built, or builds it.")
    return 0


def ask_price(ready: ReadyStudy, made: CostEstimate) -> str:
    """Before Snakemake starts: show what a paid run costs and ask; returns the value of `confirm` for the run."""
    require_ready(ready, made)
    if made.most_usd > 0:
        log_line(render(made))
    confirm(made, ready.study, is_terminal=sys.stdin.isatty(), ask=input)
    return "yes" if made.most_usd > ready.study.budget.confirm_usd else ready.study.confirm


def check_before_run(ready: ReadyStudy) -> None:
    """Before the first job of any run, also of a bare `snakemake`: the keys are there and the price is agreed."""
    made = estimate_of(ready)
    require_ready(ready, made)
    confirm(made, ready.study, is_terminal=False, ask=input)


def require_ready(ready: ReadyStudy, made: CostEstimate) -> None:
    """Keys are needed only for the models that will be asked, and only then must every answer be known."""
    require_keys(ready.study, os.environ, made.aliases_to_ask)
    if made.calls:
        check_answers(ready.tasks, ready.study.seeds)


def check_answers(tasks: Sequence[Task], seeds: Sequence[int]) -> None:
    """Work out the right answer of every task in every world; UserError names an answer.py that raises."""
    for task in tasks:
        for seed in seeds:
            world = world_for(task, seed)
            task.expected(world, planned_processes(world) if "processes" in task.needs else ())
