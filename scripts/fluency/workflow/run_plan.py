"""`make plan`: which jobs a run would do and why, what they cost, and what is missing.

The reasons are read from what Snakemake recorded of each product, without a dry run, which takes
minutes for a large study. Snakemake decides what runs; only this text, and the choice of cells for
a cluster's nodes, depend on them. It alone sees that a rule's text or a record was edited by hand.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fluency.analysis.power import outlook_lines
from fluency.common.paths import RESULTS, ROOT
from fluency.common.words import plural
from fluency.core.loaded_study import LoadedStudy
from fluency.core.records import CONTROL_FILE
from fluency.core.study import Cell
from fluency.core.table import RECORD_TYPES, record_path
from fluency.generation.cost_estimate import CostEstimate, ModelEstimate
from fluency.generation.request import Requests
from fluency.workflow.doctor import missing_engine
from fluency.workflow.preflight import check_models, dollars, estimate_of, missing_shells
from fluency.workflow.rerun_keys import RerunKeys
from fluency.workflow.snakemake_internals import (
    check_version,
    is_incomplete,
    is_untracked,
    recorded_key,
)

REMADE = "an input changed"


class Job(NamedTuple):
    """A job of the study; files are named as the rules name them.

    `cell` is None for the rules that make one thing for the whole study.
    """

    rule: str
    outputs: Sequence[str]
    inputs: Sequence[str]
    key: Callable[[], str]
    cell: Cell | None = None


def jobs_to_run(loaded: LoadedStudy) -> Iterator[tuple[Job, str]]:
    """The jobs that a run would do, by Snakemake's rules, in the order of the stages, and why."""
    check_version()
    remade = set[str]()
    for job in _jobs(loaded, RerunKeys(loaded)):
        if reason := _own_reason(job) if remade.isdisjoint(job.inputs) else REMADE:
            remade.update(job.outputs)
            yield job, reason


def _jobs(loaded: LoadedStudy, keys: RerunKeys) -> Iterator[Job]:
    folder = Path(RESULTS.name)
    study = f"{folder}/{loaded.study.study}"
    image, table = [f"{folder}/image.json"], [f"{study}/cells.csv", f"{study}/provenance.json"]
    control = [f"{study}/{CONTROL_FILE}"] if loaded.study.control else []
    yield Job("image", image, [], keys.image)
    for cell in loaded.cells:
        answer, execution, score = ([str(record_path(folder, s, cell))] for s in RECORD_TYPES)
        yield Job("generate", answer, [], partial(keys.generate, cell), cell)
        yield Job("execute", execution, image + answer, partial(keys.execute, cell), cell)
        yield Job("score", score, answer + execution, partial(keys.score, cell), cell)
    if control:
        yield Job("control", control, image, keys.control)
    yield Job("gather", table, loaded.record_paths(), keys.gather)
    products = [f"{study}/{name}" for name in ("report.md", "explorer.html", "figures")]
    yield Job("report", products, control + table, keys.report)


def _own_reason(job: Job) -> str:
    """Why a job's own files need it; empty without a reason."""
    there = [name for name in job.outputs if (ROOT / name).exists()]
    if any(map(is_untracked, there)):
        return "no record of how it was made"
    if any(map(is_incomplete, there)):
        return "left unfinished"
    for before in filter(None, map(recorded_key, there)):
        if keys := changed_keys(before, json.loads(job.key())):
            return f"changed: {', '.join(keys[:3])}{', …' if len(keys) > 3 else ''}"
    return "" if there == job.outputs else "not there yet"


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
    for job, reason in jobs_to_run(loaded):
        reasons[job.rule][reason] += 1
    estimate = estimate_of(Requests(loaded.study, loaded.tasks))
    print(render_plan(estimate))
    for rule, counts in reasons.items():
        print(f"\n{rule}: {counts.total()} to run")
        for reason, count in counts.most_common():
            print(f"  {count:5}  {reason}")
    if lacking := [*estimate.missing_keys, *missing_engine(), *missing_shells(loaded)]:
        print("\nMissing:", *lacking, sep="\n  ")
    return 0


def render_plan(estimate: CostEstimate) -> str:
    """What a run asks and costs, as text for a terminal."""
    study, budget = estimate.study, estimate.study.budget
    size = f"{plural(estimate.tasks, 'task')}, {plural(estimate.calls, 'call')} to make"
    lines = [f"Study {study.study}: {size}.", *outlook_lines(study, estimate.tasks)]
    if not estimate.calls:
        lines.append("All answers are stored: no model and no key is needed.")
    for model in estimate.models:
        lines += ["", *_model_lines(model)]
    if estimate.most_usd or estimate.spent_usd:
        asked = "asks first" if estimate.most_usd > budget.confirm_usd else "does not ask"
        lines += [
            "",
            f"Together {dollars(estimate)}; ${estimate.spent_usd:.2f} spent on it so far; "
            f"a run stops at ${budget.stop_usd:g}.",
            f"Above ${budget.confirm_usd:g} a run asks before it pays; this one {asked}.",
        ]
    return "\n".join(lines)


def _model_lines(model: ModelEstimate) -> Iterator[str]:
    yield f"{model.config.alias} ({model.config.id}): {model.policy.describe()}"
    cells = plural(model.at_hand + model.calls, "cell")
    yield f"  {cells}, {model.at_hand} answered, {model.calls} to ask"
    yield f"  price    {model.policy.describe_price()}"
    if model.calls:
        cost = "unknown" if model.most_usd is None else dollars(model)
        yield f"  cost     {cost} (about {model.input_tokens} tokens in)"
        yield f"  time     about {math.ceil(model.minutes)} min"
    if model.policy.note:
        yield f"  note     {model.policy.note}"
