"""Why each cell would run: Snakemake's own reasons from a dry run, said in the study's words."""

from __future__ import annotations

import subprocess
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from fluency.common.errors import UserError
from fluency.common.paths import RESULTS, ROOT
from fluency.core.records import Generation
from fluency.core.schema import read_record
from fluency.core.shells import AS_DESIGNED, CONDITIONS, SHELLS
from fluency.core.study import Cell
from fluency.core.table import record_path
from fluency.execution.execute import extraction_of, planned_runs
from fluency.generation.request import request_for
from fluency.workflow.param_change import changed_parts
from fluency.workflow.ready_study import ReadyStudy


class Job(NamedTuple):
    """A job of a dry run; `cell` is None for the rules that stand once."""

    rule: str
    reason: str
    cell: Cell | None


def jobs_to_run(command: list[str]) -> list[Job]:
    """The jobs of Snakemake's dry run; UserError with its own words if it cannot be made."""
    done = subprocess.run([*command, "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(
            f"the dry run failed: {done.stderr.strip()[-600:]}", hint="`snakemake --dry-run` shows all of it"
        )
    return [job for job in parse(done.stderr) if job.rule != "all"]


def parse(text: str) -> Iterator[Job]:
    """The jobs in a dry run's output: a `rule name:` line, then indented `key: value` lines."""
    rule = ""
    fields: dict[str, str] = {}
    for line in [*text.splitlines(), ""]:
        if line.startswith(("rule ", "localrule ")) and line.endswith(":"):
            rule, fields = line.split()[1].rstrip(":"), {}
        elif rule and line.startswith("    ") and ": " in line:
            key, value = line.strip().split(": ", 1)
            fields[key] = value
        elif rule:
            yield Job(rule, fields.get("reason", ""), _cell(fields.get("wildcards", "")))
            rule = ""


def _cell(wildcards: str) -> Cell | None:
    named = dict(part.split("=", 1) for part in wildcards.split(", ") if "=" in part)
    if set(named) != {"model", "shell", "task", "trial"}:
        return None
    return Cell(named["model"], named["shell"], named["task"], int(named["trial"]))


def rerun_reasons(ready: ReadyStudy, jobs: Sequence[Job]) -> dict[str, dict[str, int]]:
    """Rule → why → jobs."""
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for job in jobs:
        counted[job.rule][in_words(ready, job)] += 1
    return {rule: dict(why) for rule, why in counted.items()}


def containers_to_start(ready: ReadyStudy, jobs: Sequence[Job], missing: Collection[str]) -> str:
    """How many containers these jobs start, by condition, as a sentence; empty if they start none.

    `missing`: shells that the image lacks. An answer that is still to be asked for counts with one reading and under
    every condition of its shell, so the number is then about right and that of a condition not for all an upper bound.
    """
    asked = {job.cell for job in jobs if job.rule == "generate"}
    counted: Counter[str] = Counter()
    unknown = False
    for cell in (job.cell for job in jobs if job.rule == "execute"):
        if cell is None or cell.shell in missing:
            continue
        path = record_path(Path(RESULTS), "generations", cell)
        if cell in asked or not path.exists():
            unknown = True
            under = {AS_DESIGNED.name, *(c.name for c in SHELLS[cell.shell].conditions)} & set(ready.study.conditions)
            counted.update(under)
        else:
            extraction = extraction_of(read_record(Generation, path))
            counted.update(condition for _, _, condition in planned_runs(ready.study, cell.shell, extraction))
    worlds = len(ready.study.seeds)
    parts = [
        f"{'up to ' if unknown and condition.only_for_calls else ''}{counted[name] * worlds} {condition.title}"
        for name, condition in CONDITIONS.items()
        if counted[name]
    ]
    about = "about " if unknown else ""
    return f"The executions start {about}{counted.total() * worlds} containers: {', '.join(parts)}." if parts else ""


def in_words(ready: ReadyStudy, job: Job) -> str:
    """One job's reason in a few words."""
    reason = job.reason
    if "Forced execution" in reason:  # a plan forces nothing: Snakemake has a mark that the product may not be whole
        return "nothing here tells how it was made"
    if "updated by another job" in reason:
        return "what it is made from is made anew"
    if reason.startswith("Missing output files"):
        return "not there yet"
    if "arams have changed" in reason:
        return what_changed(ready, job)
    if "Updated input files" in reason or "Set of input files" in reason:
        return "its inputs changed"
    if "Code has changed" in reason:
        return "its rule in the Snakefile changed"
    return reason[:100] or "no reason given"


def what_changed(ready: ReadyStudy, job: Job) -> str:
    """What of a rule's param is another; for a generation, which part of the request."""
    if job.rule != "generate" or job.cell is None:
        parts = changed_parts(job.reason)
        return f"changed: {', '.join(parts)}" if parts else "its parameters changed"
    path = record_path(Path(RESULTS), "generations", job.cell)
    if not path.exists():
        return "not there yet"
    old = read_record(Generation, path).answer.request.model_dump()
    new = request_for(ready.study, job.cell, ready.prompt(job.cell)).model_dump()
    names = [name.replace("_", " ") for name in new if old.get(name) != new[name] and name != "seed"]
    return f"changed: {', '.join(names)}" if names else "its parameters changed"
