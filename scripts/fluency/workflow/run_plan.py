"""`make plan`: which jobs a run would do and why, what they cost, and what is missing.

Jobs and reasons come from Snakemake's own dry run.
"""

import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from fluency.analysis.power import outlook_lines
from fluency.common.errors import UserError
from fluency.common.paths import ROOT
from fluency.core.loaded_study import LoadedStudy
from fluency.core.study import Cell
from fluency.generation.cost_estimate import CostEstimate
from fluency.report.power import larger_price
from fluency.report.templates import render
from fluency.workflow.doctor import missing_engine
from fluency.workflow.preflight import (
    check_models,
    check_writable,
    dollars,
    estimate_of,
    missing_keys,
    missing_shells,
)
from fluency.workflow.snakemake_process import snakemake_command

CHANGED = re.compile(r"'(\w+):[0-9a-f]+'")
"""A param that differs, in Snakemake's reason (rerun_keys.py)."""


class Job(NamedTuple):
    """A job that a run would do, and why; `cell` is None for what is not of one cell."""

    rule: str
    reason: str
    cell: Cell | None


def jobs_to_run(loaded: LoadedStudy, *arguments: str) -> Iterator[Job]:
    """The jobs that a run with these arguments of Snakemake would do."""
    command = snakemake_command(loaded, *arguments, "--dry-run", "--logger-fluency-plan")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, end="", file=sys.stderr)
        raise UserError("the dry run failed", where="snakemake -n", hint="see the lines above")
    for rule, reason, cell in map(json.loads, done.stdout.splitlines()):
        if rule != "all":
            yield Job(rule, _shortened(reason), Cell(*cell.values()) if "trial" in cell else None)


def _shortened(reason: str) -> str:
    """A reason without the names of files; of params the names of those that differ."""
    if reason.startswith("Params"):
        return f"changed: {', '.join(sorted({*CHANGED.findall(reason)}))}"
    if reason == "Forced execution":  # by the profile's rerun-incomplete
        return "left unfinished, or no record of how it was made"
    return reason.partition(":")[0].lower()


def print_plan(loaded: LoadedStudy) -> int:
    """Print the plan on standard output."""
    check_writable()  # Snakemake's dry run writes, too
    check_models(loaded)
    print(render_plan(estimate := estimate_of(loaded)), flush=True)
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    for rule, reason, _ in jobs_to_run(loaded):
        reasons[rule][reason] += 1
    for rule, counts in reasons.items():
        print(f"\n{rule}: {counts.total()} to run")
        for reason, count in counts.most_common():
            print(f"  {count:5}  {reason}")
    if lacking := [*missing_keys(estimate), *missing_engine(), *missing_shells(loaded)]:
        print("\nMissing:", *lacking, sep="\n  ")
    return 0


def render_plan(estimate: CostEstimate) -> str:
    """What a run asks and costs, as text for a terminal."""
    study = estimate.study
    outlook = [*outlook_lines(study, estimate.tasks), *larger_price(study, estimate.tasks)]
    values = {"study": study, "estimate": estimate, "outlook": outlook, "dollars": dollars}
    return render("plan.lines.j2", values).rstrip("\n")
