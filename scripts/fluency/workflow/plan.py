"""`make plan`: which jobs a run would do and why, what they cost, and what is missing.

The reasons are read from what Snakemake recorded of each product, without a dry run, which takes minutes for a large
study. Snakemake decides what runs; only this text, and the choice of cells for a cluster's nodes, depend on them.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fluency.common.files import sha256_file
from fluency.common.paths import RESULTS, ROOT
from fluency.common.words import plural
from fluency.core.loaded_study import LoadedStudy
from fluency.core.records import CONTROL_FILE
from fluency.core.study import Cell
from fluency.core.table import record_path
from fluency.generation.estimate import CostEstimate, ModelEstimate
from fluency.workflow.doctor import missing_engine
from fluency.workflow.preflight import IMAGE_RECORD, check_models, estimate_of, missing_shells
from fluency.workflow.rerun_keys import RerunKeys
from fluency.workflow.snakemake_internals import (
    check_version,
    is_incomplete,
    read_metadata,
    recorded_key,
    untracked_outputs,
)

REMADE = "what it is made from is made again"
WORDS: Mapping[str, str] = {
    "content": "the sources of the sandbox",
    "powershell": "the PowerShell archive",
    "code": "the code that decides it",
    "needs": "what the task needs apart from files",
    "timeout_s": "the time a command has",
    "check": "the task's check",
}
"""Keys of the params in `rerun_keys` -> how the plan names them; the others stand for themselves."""
_TEXT = "the text of "


class Job(NamedTuple):
    """A job that a run would do; `cell` is None for the rules that make one thing for the whole study."""

    rule: str
    reason: str
    cell: Cell | None


@dataclass(eq=False)
class _Step:
    """A job of the study, to be done if it has a reason; files are named as the rules name them."""

    rule: str
    outputs: Sequence[str]
    inputs: Sequence[str]
    key: Callable[[], str]
    cell: Cell | None = None
    reason: str = ""


def jobs_to_run(loaded: LoadedStudy) -> list[Job]:
    """The jobs that a run would do. Of a rule's text in the Snakefile only Snakemake itself sees a change."""
    check_version()
    keys = RerunKeys(loaded)
    steps = list(_steps(loaded, keys))
    untracked = set(untracked_outputs(loaded, keys))
    for step in steps:
        step.reason = _own_reason(step, untracked)
    _spread(steps, [*loaded.record_paths(), f"{RESULTS.name}/{loaded.study.study}/report.md"])
    return [Job(step.rule, step.reason, step.cell) for step in steps if step.reason]


def _steps(loaded: LoadedStudy, keys: RerunKeys) -> Iterator[_Step]:
    image, folder = f"{RESULTS.name}/{IMAGE_RECORD.name}", f"{RESULTS.name}/{loaded.study.study}"
    yield _Step("image", [image], [], keys.image)
    for cell in loaded.cells:
        generation, execution, score = (
            str(record_path(Path(RESULTS.name), stage, cell)) for stage in ("generations", "executions", "scores")
        )
        yield _Step("generate", [generation], [], partial(keys.generate, cell), cell)
        yield _Step("execute", [execution], [image, generation], partial(keys.execute, cell), cell)
        yield _Step("score", [score], [generation, execution], partial(keys.score, cell), cell)
    table = [f"{folder}/cells.csv", f"{folder}/provenance.json"]
    control = [f"{folder}/{CONTROL_FILE}"] if loaded.study.control else []
    if control:
        yield _Step("control", control, [image], keys.control)
    yield _Step("gather", table, loaded.record_paths(), keys.gather)
    yield _Step("report", [f"{folder}/report.md", f"{folder}/explorer.html"], [*control, *table], keys.report)


def _own_reason(step: _Step, untracked: set[str]) -> str:
    """Why a step is to be done, by its own files; empty if there is no reason."""
    there = [name for name in step.outputs if (ROOT / name).exists()]
    if untracked.intersection(there):
        return "no record of how it was made"
    if any(map(is_incomplete, there)):
        return "left unfinished"
    records = [record for record in map(read_metadata, there) if record]
    now = step.key() if records else ""
    for before in map(recorded_key, records):
        if before is not None and before != now:
            return _changed(before, now)
    if len(there) == len(step.outputs) and _newer_input(step, records):
        return "its input is newer"
    return ""


def _newer_input(step: _Step, records: Sequence[dict[str, Any]]) -> bool:
    """Whether an input was written after the oldest output and differs from what that was made of."""
    made = min((ROOT / name).stat().st_mtime for name in step.outputs)
    for name in step.inputs:
        path = ROOT / name
        if path.exists() and path.stat().st_mtime > made:
            known = {str((record.get("input_checksums") or {}).get(name)) for record in records}
            if known != {f"sha256:{sha256_file(path)}"}:
                return True
    return False


def _spread(steps: Sequence[_Step], targets: Sequence[str]) -> None:
    """Give reasons to the steps that follow from others, by Snakemake's rules.

    What uses a product of a step that is done is done too; a missing file is made where it is a target or is needed.
    """
    maker = {name: step for step in steps for name in step.outputs}
    users: dict[str, list[_Step]] = defaultdict(list)
    for step in steps:
        for name in step.inputs:
            users[name].append(step)

    def make_missing(names: Sequence[str]) -> None:
        for name in names:
            if not maker[name].reason and not (ROOT / name).exists():
                maker[name].reason = "not there yet"
                waiting.append(maker[name])

    waiting = [step for step in steps if step.reason]
    make_missing(targets)
    while waiting:
        step = waiting.pop()
        make_missing(step.inputs)
        for name in step.outputs:
            for user in users[name]:
                if not user.reason:
                    waiting.append(user)
                user.reason = REMADE


def _changed(before: str, now: str) -> str:
    try:
        parts = changed_parts(json.loads(before), json.loads(now))
    except ValueError:
        parts = []
    return f"changed: {', '.join(parts)}" if parts else "its parameters changed"


def changed_parts(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """The parts of a param that differ, in words."""
    parts = [part for key in sorted({*before, *now}) for part in _differing(key, before.get(key), now.get(key))]
    # A configuration's text differs with every change of the design, a request's seed with every change of the request.
    return [part for part in parts if not part.startswith(_TEXT) and part != "seed"] or parts


def _differing(key: str, before: Any, now: Any) -> list[str]:
    if before == now:
        return []
    if key not in ("study", "tasks", "files") or not (isinstance(before, dict) and isinstance(now, dict)):
        return [WORDS.get(key, key.replace("_", " "))]
    names = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    if key == "tasks":
        return [f"the tasks ({', '.join(names[:3])}{', …' if len(names) > 3 else ''})"]
    return [name.replace("_", " ") if key == "study" else f"{_TEXT}{name}" for name in names]


# ------------------------------------------------------------ text


def print_plan(loaded: LoadedStudy) -> int:
    """Print the plan on standard output."""
    check_models(loaded)
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    for job in jobs_to_run(loaded):
        reasons[job.rule][job.reason] += 1
    print(render_plan(estimate_of(loaded), [*missing_engine(), *missing_shells(loaded)], reasons), end="")
    if not IMAGE_RECORD.exists():
        print("\nNo study here has used the sandbox image yet: the run uses the one that is built, or builds it.")
    return 0


def render_plan(
    estimate: CostEstimate, missing: Sequence[str] = (), reasons: Mapping[str, Mapping[str, int]] | None = None
) -> str:
    """The plan as text for a terminal.

    missing: what the run lacks apart from keys, a sentence each. reasons: rule -> why -> jobs.
    """
    study, budget = estimate.study, estimate.study.budget
    lines = [f"Study {study.study}: {plural(estimate.tasks, 'task')}, {plural(estimate.calls, 'call')} to make."]
    if not estimate.calls:
        lines.append("Every answer is at hand: no model and no key is needed.")
    for model in estimate.models:
        lines += ["", *_model_lines(model)]
    if estimate.most_usd or estimate.spent_usd:
        total = f"Together about ${estimate.expected_usd:.2f}, at most ${estimate.most_usd:.2f}"
        lines += ["", f"{total}; ${estimate.spent_usd:.2f} spent on it so far; a run stops at ${budget.stop_usd:g}."]
        asked = "is asked first" if estimate.most_usd > budget.confirm_usd else "does not ask"
        lines.append(f"Above ${budget.confirm_usd:g} a run asks before it pays; this one {asked}.")
    for rule, counts in (reasons or {}).items():
        lines += ["", f"{rule}: {sum(counts.values())} to run"]
        lines += [f"  {count:5d}  {reason}" for reason, count in sorted(counts.items(), key=lambda item: -item[1])]
    if lacking := [*estimate.missing_keys, *missing]:
        lines += ["", "Missing:", *(f"  {sentence}" for sentence in lacking)]
    return "\n".join(lines) + "\n"


def _model_lines(model: ModelEstimate) -> Iterator[str]:
    yield f"{model.alias} ({model.model_id}): {model.sampling}"
    yield f"  {plural(model.at_hand + model.calls, 'cell')}, {model.at_hand} answered, {model.calls} to ask"
    yield f"  price    {model.price}"
    if model.calls:
        tokens = f"about {model.input_tokens} tokens in"
        if model.most_usd is None:
            yield f"  cost     unknown ({tokens})"
        elif model.most_usd:
            yield f"  cost     about ${model.expected_usd:.2f}, at most ${model.most_usd:.2f} ({tokens})"
        else:
            yield "  cost     nothing"
        if model.minutes is None:
            yield "  time     a batch: most within an hour, 24 h at most"
        else:
            yield f"  time     {'under a minute' if model.minutes < 1 else f'about {math.ceil(model.minutes)} min'}"
    if model.note:
        yield f"  note     {model.note}"
