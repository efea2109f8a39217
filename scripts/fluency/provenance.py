"""Where a study's numbers come from: one document, written beside the table and shown in the report.

Everything about the measurement is read from the records; only commit and versions are of this moment.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fluency import __version__
from fluency.files import sha256_file
from fluency.gather import CellRecords, load_records
from fluency.paths import ROOT
from fluency.table import Row

if TYPE_CHECKING:
    from fluency.pipeline import Pipeline

LIBRARIES = ("snakemake", "anthropic", "docker", "pandas", "numpy", "scipy", "matplotlib", "jinja2", "xllamacpp")


def collect_provenance(pipeline: Pipeline, rows: Sequence[Row], results: Path) -> dict[str, Any]:
    """The provenance of a gathered study, ready for JSON."""
    records = [load_records(results, cell) for cell in pipeline.cells]
    commit, dirty = git_state()
    return {
        "study": pipeline.study.study,
        "decision": pipeline.study.decision,
        "version": __version__,
        "commit": commit,
        "dirty": dirty,
        "config_files": [_relative(file) for file in pipeline.files],
        "config": pipeline.study.model_dump(mode="json"),
        "lock_sha256": sha256_file(ROOT / "envs" / "requirements.lock"),
        "python": sys.version.split()[0],
        "libraries": {name: version(name) for name in LIBRARIES},
        "tasks": {task.id: task.sha256 for task in pipeline.tasks},
        "worlds": _distinct(
            run.world_sha256 for record in records if record.execution for run in record.execution.runs
        ),
        "images": _distinct(_json(record.execution.image.model_dump()) for record in records if record.execution),
        "engines": _distinct(_json(record.execution.engine) for record in records if record.execution),
        "startup_s": _startup(results),
        "models": {model.alias: _asked(model.alias, records) for model in pipeline.study.models},
        "measured_utc": _span(
            [record.generation.answer.received_utc for record in records if record.generation]
            + [record.execution.provenance["utc"] for record in records if record.execution]
        ),
        "registration": _registration(pipeline),
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
        "thinking": _distinct(_json(request.thinking) for request in requests),
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
        "price": _distinct(_json(generation.price) for generation in generations if generation.price),
        "measured_utc": _span([generation.answer.received_utc for generation in generations]),
    }


def _startup(results: Path) -> dict[str, Any]:
    """Seconds of an empty command in each shell, measured when the image was made ready."""
    path = Path(results) / "image.json"
    return json.loads(path.read_text(encoding="utf-8")).get("startup_s", {}) if path.exists() else {}


def _registration(pipeline: Pipeline) -> dict[str, Any]:
    """The pre-registration a study names and every deviation from it; exploratory where it names none."""
    path = pipeline.study.preregistration
    if path is None:
        return {"file": None, "sha256": None, "deviations": []}
    from fluency.registration import deviations

    file = ROOT / path
    found = deviations(pipeline.study, pipeline.tasks, file)
    return {"file": path, "sha256": sha256_file(file), "deviations": found}


def _distinct(values: Iterable[Any]) -> list[Any]:
    return sorted(set(values))


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _span(times: Sequence[str]) -> list[str]:
    return [min(times), max(times)] if times else []


def _relative(path: Path) -> str:
    path = Path(path).absolute()
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
