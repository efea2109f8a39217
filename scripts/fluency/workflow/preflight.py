"""Before a run: what it will do and cost, what is missing, and whether somebody agreed to pay."""

from __future__ import annotations

import os
import sys

from fluency.common.files import read_json
from fluency.common.paths import ANSWERS, RESULTS
from fluency.common.terminal import say
from fluency.core.shells import find_shell
from fluency.generation.cost_estimate import CostEstimate, confirm, estimate_cost
from fluency.generation.keys import require_keys
from fluency.generation.store import AnswerStore
from fluency.workflow.plan_text import render
from fluency.workflow.ready_study import ReadyStudy
from fluency.workflow.rerun_reasons import rerun_reasons


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
    """A sentence for each thing the image record says is not there, or that there is no record yet."""
    record = RESULTS / "image.json"
    if not record.exists():
        return ["the sandbox image: the run builds it first (`make image` does only that)"]
    shells = read_json(record)["image"]["shells"]
    return [
        f"{shell.short_title} in the sandbox image: its arm will be reported as not measured; {shell.how_to_get}"
        for shell in map(find_shell, ready.study.shells)
        if not shells.get(shell.name)
    ]


def print_plan(ready: ReadyStudy, command: list[str]) -> int:
    """`make plan`: the plan with Snakemake's reasons, on standard output."""
    print(render(estimate_of(ready, rerun_reasons(ready, command))), end="")
    return 0


def ask_price(ready: ReadyStudy) -> str:
    """Before Snakemake starts: show what a paid run costs and ask; returns the value of `confirm` for the run."""
    made = estimate_of(ready)
    require_keys_of(ready, made)
    if made.most_usd > 0:
        say(render(made))
    confirm(made, ready.study, is_terminal=sys.stdin.isatty(), ask=input)
    return "yes" if made.most_usd > ready.study.budget.confirm_usd else ready.study.confirm


def check_before_run(ready: ReadyStudy) -> None:
    """Before the first job of any run, also of a bare `snakemake`: the keys are there and the price is agreed."""
    made = estimate_of(ready)
    require_keys_of(ready, made)
    confirm(made, ready.study, is_terminal=False, ask=input)


def require_keys_of(ready: ReadyStudy, made: CostEstimate) -> None:
    """Keys are needed only for the models that will be asked."""
    require_keys(ready.study, os.environ, made.aliases_to_ask)
