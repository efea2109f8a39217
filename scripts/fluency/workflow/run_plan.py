"""`make plan`: which jobs a run would do and why, what they cost, and what is missing.

The reasons are read from what Snakemake recorded of each product, without a dry run, which takes
minutes for a large study. Snakemake decides what runs; only this text, and the choice of cells for
a cluster's nodes, depend on them.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fluency.analysis.power import outlook_lines
from fluency.common.files import sha256_file
from fluency.common.paths import RESULTS, ROOT
from fluency.common.words import plural
from fluency.core.loaded_study import LoadedStudy
from fluency.core.records import CONTROL_FILE
from fluency.core.study import Cell
from fluency.core.table import RECORD_TYPES, record_path
from fluency.generation.cost_estimate import CostEstimate, ModelEstimate
from fluency.generation.request import Requests
from fluency.workflow import snakemake_internals
from fluency.workflow.doctor import missing_engine
from fluency.workflow.preflight import IMAGE_RECORD, check_models, estimate_of, missing_shells
from fluency.workflow.rerun_keys import RerunKeys

REMADE = "an input changed"


@dataclass(eq=False)
class Job:
    """A job of the study, to be done if it has a reason; files are named as the rules name them.

    `cell` is None for the rules that make one thing for the whole study.
    """

    rule: str
    outputs: Sequence[str]
    inputs: Sequence[str]
    key: Callable[[], str]
    cell: Cell | None = None
    reason: str = ""


def jobs_to_run(loaded: LoadedStudy) -> list[Job]:
    """The jobs that a run would do, by Snakemake's rules, in the order of the stages.

    Of a rule's text in the Snakefile only Snakemake itself sees a change.
    """
    snakemake_internals.check_version()
    keys = RerunKeys(loaded)
    untracked = set(snakemake_internals.untracked_outputs(loaded, keys))
    to_run, remade = list[Job](), set[str]()
    for job in _steps(loaded, keys):
        changed = not remade.isdisjoint(job.inputs)
        job.reason = REMADE if changed else _own_reason(job, untracked)
        if job.reason:
            to_run.append(job)
            remade.update(job.outputs)
    return to_run


def _steps(loaded: LoadedStudy, keys: RerunKeys) -> Iterator[Job]:
    image, folder = f"{RESULTS.name}/{IMAGE_RECORD.name}", f"{RESULTS.name}/{loaded.study.study}"
    yield Job("image", [image], [], keys.image)
    for cell in loaded.cells:
        generation, execution, score = (
            str(record_path(Path(RESULTS.name), stage, cell)) for stage in RECORD_TYPES
        )
        yield Job("generate", [generation], [], partial(keys.generate, cell), cell)
        yield Job("execute", [execution], [image, generation], partial(keys.execute, cell), cell)
        yield Job("score", [score], [generation, execution], partial(keys.score, cell), cell)
    table = [f"{folder}/cells.csv", f"{folder}/provenance.json"]
    control = [f"{folder}/{CONTROL_FILE}"] if loaded.study.control else []
    if control:
        yield Job("control", control, [image], keys.control)
    yield Job("gather", table, loaded.record_paths(), keys.gather)
    yield Job(
        "report",
        [f"{folder}/report.md", f"{folder}/explorer.html", f"{folder}/figures"],
        [*control, *table],
        keys.report,
    )


def _own_reason(job: Job, untracked: set[str]) -> str:
    """Why a job's own files need it; empty without a reason."""
    there = [name for name in job.outputs if (ROOT / name).exists()]
    if untracked.intersection(there):
        return "no record of how it was made"
    if any(map(snakemake_internals.is_incomplete, there)):
        return "left unfinished"
    records = list(filter(None, map(snakemake_internals.read_metadata, there)))
    now = json.loads(job.key()) if records else None
    for before in map(snakemake_internals.recorded_key, records):
        if before is not None and (keys := changed_keys(before, now)):
            return f"changed: {', '.join(keys[:3])}{', …' if len(keys) > 3 else ''}"
    if len(there) < len(job.outputs):
        return "not there yet"
    return "its input is newer" if _newer_input(job, records) else ""


def _newer_input(job: Job, records: Sequence[dict[str, Any]]) -> bool:
    """Whether an input is newer than the oldest output and differs from the one used for it."""
    made = min((ROOT / name).stat().st_mtime for name in job.outputs)
    for name in job.inputs:
        path = ROOT / name
        if path.exists() and path.stat().st_mtime > made:
            known = {str((record.get("input_checksums") or {}).get(name)) for record in records}
            if known != {f"sha256:{sha256_file(path)}"}:
                return True
    return False


def changed_keys(before: Any, now: Any, name: str = "") -> list[str]:
    """The dotted names of what differs between two documents."""
    if not (isinstance(before, dict) and isinstance(now, dict)):
        return [name] if before != now else []
    return [
        key
        for part in sorted({*before, *now})
        for key in changed_keys(before.get(part), now.get(part), f"{name}.{part}".lstrip("."))
    ]


# ------------------------------------------------------------ text


def print_plan(loaded: LoadedStudy) -> int:
    """Print the plan on standard output."""
    check_models(loaded)
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    for job in jobs_to_run(loaded):
        reasons[job.rule][job.reason] += 1
    estimate = estimate_of(Requests(loaded.study, loaded.tasks))
    print(render_plan(estimate, [*missing_engine(), *missing_shells(loaded)], reasons), end="")
    return 0


def render_plan(
    estimate: CostEstimate,
    missing: Sequence[str] = (),
    reasons: Mapping[str, Mapping[str, int]] | None = None,
) -> str:
    """The plan as text for a terminal.

    missing: what the run lacks apart from keys, a sentence each. reasons: rule -> why -> jobs.
    """
    study, budget = estimate.study, estimate.study.budget
    size = f"{plural(estimate.tasks, 'task')}, {plural(estimate.calls, 'call')} to make"
    lines = [f"Study {study.study}: {size}."]
    lines += outlook_lines(study, estimate.tasks)
    if not estimate.calls:
        lines.append("All answers are stored: no model and no key is needed.")
    for model in estimate.models:
        lines += ["", *_model_lines(model)]
    if estimate.most_usd or estimate.spent_usd:
        total = f"Together about ${estimate.expected_usd:.2f}, at most ${estimate.most_usd:.2f}"
        spent = f"${estimate.spent_usd:.2f} spent on it so far; a run stops at ${budget.stop_usd:g}"
        lines += ["", f"{total}; {spent}."]
        asked = "is asked first" if estimate.most_usd > budget.confirm_usd else "does not ask"
        lines.append(f"Above ${budget.confirm_usd:g} a run asks before it pays; this one {asked}.")
    for rule, counts in (reasons or {}).items():
        lines += ["", f"{rule}: {sum(counts.values())} to run"]
        lines += [f"  {count:5d}  {reason}" for reason, count in Counter(counts).most_common()]
    if lacking := [*estimate.missing_keys, *missing]:
        lines += ["", "Missing:", *(f"  {sentence}" for sentence in lacking)]
    return "\n".join(lines) + "\n"


def _model_lines(model: ModelEstimate) -> Iterator[str]:
    yield f"{model.config.alias} ({model.config.id}): {model.policy.describe()}"
    cells = plural(model.at_hand + model.calls, "cell")
    yield f"  {cells}, {model.at_hand} answered, {model.calls} to ask"
    yield f"  price    {model.policy.describe_price()}"
    if model.calls:
        tokens = f"about {model.input_tokens} tokens in"
        if model.most_usd is None:
            yield f"  cost     unknown ({tokens})"
        elif model.most_usd:
            dollars = f"about ${model.expected_usd:.2f}, at most ${model.most_usd:.2f}"
            yield f"  cost     {dollars} ({tokens})"
        else:
            yield "  cost     nothing"
        minutes = "under a minute" if model.minutes < 1 else f"about {math.ceil(model.minutes)} min"
        yield f"  time     {minutes}"
    if model.policy.note:
        yield f"  note     {model.policy.note}"
