"""The gate before a run: what it will do and cost, what is missing, and whether somebody agreed to pay."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from fluency.common.files import read_json
from fluency.common.paths import ANSWERS, RESULTS
from fluency.common.terminal import say
from fluency.generation.cost_estimate import Plan, confirm, plan
from fluency.workflow.plan_text import render

if TYPE_CHECKING:
    from fluency.workflow.pipeline import Pipeline

HOW_TO_GET_POWERSHELL = "give its release by POWERSHELL_ARCHIVE=<tarball> make image"


def plan_of(pipeline: Pipeline, reasons: dict[str, dict[str, int]] | None = None) -> Plan:
    """The plan of a study, with what the sandbox lacks as far as it is known before a run."""
    from fluency.generation.store import AnswerStore

    return plan(
        pipeline.study,
        pipeline.tasks,
        AnswerStore(ANSWERS),
        environ=os.environ,
        missing=sandbox_lacks(pipeline),
        reasons=reasons,
    )


def sandbox_lacks(pipeline: Pipeline) -> list[str]:
    """A sentence for each thing the image record says is not there, or that there is no record yet."""
    record = RESULTS / "image.json"
    if not record.exists():
        return ["the sandbox image: the run builds it first (`make image` does only that)"]
    shells = read_json(record)["image"]["shells"]
    lacking = [shell for shell in pipeline.study.shells if not shells.get(shell)]
    if "pwsh" not in lacking:
        return []
    return [f"PowerShell in the sandbox image: its arm will be reported as not measured; {HOW_TO_GET_POWERSHELL}"]


def print_plan(pipeline: Pipeline, command: list[str]) -> int:
    """`make plan`: the plan with Snakemake's reasons, on standard output."""
    from fluency.workflow.rerun_reasons import reasons

    print(render(plan_of(pipeline, reasons(pipeline, command))), end="")
    return 0


def ask_price(pipeline: Pipeline) -> str:
    """Before Snakemake starts: show what a paid run costs and ask; returns the value of `confirm` for the run."""
    made = plan_of(pipeline)
    require_keys_of(pipeline, made)
    if made.most_usd > 0:
        say(render(made))
    confirm(made, pipeline.study, is_terminal=sys.stdin.isatty(), ask=input)
    return "yes" if made.most_usd > pipeline.study.budget.confirm_usd else pipeline.study.confirm


def check_gate(pipeline: Pipeline) -> None:
    """Before the first job of any run, also of a bare `snakemake`: the keys are there and the price is agreed."""
    made = plan_of(pipeline)
    require_keys_of(pipeline, made)
    confirm(made, pipeline.study, is_terminal=False, ask=input)


def require_keys_of(pipeline: Pipeline, made: Plan) -> None:
    """Keys are needed only for the models that will be asked."""
    from fluency.generation.keys import require_keys

    require_keys(pipeline.study, os.environ, made.aliases_to_ask)
