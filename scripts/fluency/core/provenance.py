"""Where a study's numbers come from: one document, written beside the table and shown in the report.

Everything about the measurement is read from the records; only commit and versions are of this moment.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fluency import __version__
from fluency.common.canonical import canonical_json
from fluency.common.files import read_json, sha256_file
from fluency.common.paths import ROOT
from fluency.core.cells import Cell
from fluency.core.gather import CellRecords, load_records
from fluency.core.table import Row

if TYPE_CHECKING:
    from fluency.workflow.pipeline import Pipeline

LIBRARIES = ("snakemake", "anthropic", "docker", "pandas", "numpy", "scipy", "matplotlib", "jinja2", "xllamacpp")


def collect_provenance(
    pipeline: Pipeline, rows: Sequence[Row], results: Path, load: Callable[[Cell], CellRecords] | None = None
) -> dict[str, Any]:
    """The provenance of a gathered study, ready for JSON; `load` gives a cell's records where they are read already."""
    records = [load(cell) if load else load_records(results, cell) for cell in pipeline.cells]
    commit, dirty = git_state()
    models = {model.alias: _asked(model.alias, records) for model in pipeline.study.models}
    costs = [model["cost_usd"] for model in models.values() if model["cost_usd"] is not None]
    times = [time for record in records for time in _times(record)]
    return {
        "commit": commit,
        "dirty": dirty,
        "version": __version__,
        "config_files": {_relative(file): sha256_file(file) for file in pipeline.files},
        "lock_sha256": sha256_file(ROOT / "envs" / "requirements.lock"),
        "image": _by_id(record.execution.image.model_dump() for record in records if record.execution),
        "engine": _one_or_all(record.execution.engine for record in records if record.execution),
        "versions": {"python": sys.version.split()[0]} | {name: version(name) for name in LIBRARIES},
        "sampling": models,
        "start_up_s": _startup(results),
        "spent_usd": round(sum(costs), 6) if costs else None,
        "started_utc": min(times, default=None),
        "ended_utc": max(times, default=None),
        "decision": pipeline.study.decision or None,
        "worlds": _worlds(records),
        "task_sha256": {task.id: task.sha256 for task in pipeline.tasks},
        **_registration(pipeline),
    }


def git_state() -> tuple[str | None, bool | None]:
    """The commit checked out and whether tracked files differ from it; None where git cannot tell."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.CalledProcessError):
        return None, None


def _asked(alias: str, records: Sequence[CellRecords]) -> dict[str, Any]:
    """What one model was sent and what came back, over all its answers."""
    generations = [r.generation for r in records if r.generation and r.generation.cell.model == alias]
    requests = [generation.answer.request for generation in generations]
    costs = [generation.cost_usd for generation in generations]
    return {
        "id": _distinct(request.model_id for request in requests),
        "echoed": _distinct(g.answer.model_echoed for g in generations if g.answer.model_echoed),
        "temperature_requested": _distinct(str(generation.temperature_requested) for generation in generations),
        "temperature_sent": _distinct(
            "provider-default" if request.temperature is None else f"{request.temperature:g}" for request in requests
        ),
        "max_tokens": _distinct(request.max_tokens for request in requests),
        "thinking": _distinct(canonical_json(request.thinking) for request in requests),
        "effort": _distinct(str(request.effort) for request in requests if request.effort),
        "transport": _distinct(generation.answer.transport for generation in generations),
        "server": _distinct(generation.answer.server for generation in generations),
        "client": _distinct(generation.answer.client for generation in generations),
        "answers": len(generations),
        "input_tokens": sum(g.answer.usage.input_tokens or 0 for g in generations),
        "output_tokens": sum(g.answer.usage.output_tokens or 0 for g in generations),
        "cost_usd": round(sum(cost for cost in costs if cost is not None), 6)
        if any(c is not None for c in costs)
        else None,
        "price": _distinct(canonical_json(generation.price) for generation in generations if generation.price),
    }


def _times(record: CellRecords) -> list[str]:
    asked = [record.generation.answer.received_utc] if record.generation else []
    return asked + ([record.execution.provenance["utc"]] if record.execution else [])


def _startup(results: Path) -> dict[str, Any]:
    """Seconds of an empty command in each shell, measured when the image was made ready."""
    path = Path(results) / "image.json"
    return read_json(path).get("start_up_s", {}) if path.exists() else {}


def _worlds(records: Sequence[CellRecords]) -> dict[str, str]:
    """Hash of each world by seed, as the executions name it; several are joined, since tasks may extend a world."""
    found: dict[str, set[str]] = {}
    for record in records:
        for run in record.execution.runs if record.execution else ():
            found.setdefault(str(run.seed), set()).add(run.world_sha256)
    return {seed: ", ".join(sorted(hashes)) for seed, hashes in sorted(found.items())}


def _by_id(images: Iterable[dict[str, Any]]) -> dict[str, Any]:
    distinct = {image["image_id"]: image for image in images}
    return next(iter(distinct.values()), {}) if len(distinct) < 2 else dict(sorted(distinct.items()))


def _one_or_all(engines: Iterable[dict[str, Any]]) -> dict[str, Any]:
    distinct = {canonical_json(engine): engine for engine in engines}
    ordered = [distinct[key] for key in sorted(distinct)]
    return ordered[0] if len(ordered) == 1 else {str(number): engine for number, engine in enumerate(ordered, 1)}


def _registration(pipeline: Pipeline) -> dict[str, Any]:
    """The pre-registration a study names and every deviation from it; nothing where it names none."""
    path = pipeline.study.preregistration
    if path is None:
        return {}
    from fluency.archive.registration import deviations

    found = deviations(pipeline.study, pipeline.tasks, ROOT / path)
    return {"registration": {"path": path, "sha256": sha256_file(ROOT / path)}, "deviations": found}


def _distinct(values: Iterable[Any]) -> list[Any]:
    return sorted(set(values))


def _relative(path: Path) -> str:
    path = Path(path).absolute()
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
