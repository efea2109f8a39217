"""A study's provenance from its records; only commit and versions are of the moment of collecting."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from fluency import __version__
from fluency.common.canonical import canonical_json
from fluency.common.files import read_json, sha256_file
from fluency.common.git import git_state
from fluency.common.paths import ROOT
from fluency.core.cells import Cell
from fluency.core.gather import CellRecords
from fluency.core.model_config import Price
from fluency.core.part import Part
from fluency.core.provenance import Provenance, Sampling
from fluency.core.records import Answer, Execution, Generation
from fluency.core.study import Study
from fluency.core.tasks import Task

LIBRARIES = (
    "snakemake",
    "anthropic",
    "openai",
    "docker",
    "pandas",
    "numpy",
    "scipy",
    "matplotlib",
    "jinja2",
    "xllamacpp",
)
Value = TypeVar("Value", str, int)
Document = TypeVar("Document", bound=Part | dict[str, Any] | None)


def collect_provenance(
    study: Study,
    tasks: Sequence[Task],
    cells: Iterable[Cell],
    files: Iterable[Path],
    load: Callable[[Cell], CellRecords],
    *,
    start_up_s: Mapping[str, float | None],
) -> Provenance:
    """The provenance of a study as far as it is measured.

    files: the configuration. load: the records of a cell. start_up_s: shell -> seconds of an empty command.
    """
    generations: list[Generation] = []
    executions: list[Execution] = []
    ran: set[tuple[int, str, str]] = set()
    for cell in cells:  # one after the other: outputs and answers of a large study do not fit into memory together
        generation, execution, _ = load(cell)
        generations += [_without_words(generation)] if generation else []
        executions += [execution.model_copy(update={"runs": []})] if execution else []
        ran |= {(run.seed, run.world_sha256, run.condition) for run in execution.runs} if execution else set()
    sampling = {
        model.alias: _sampling([g for g in generations if g.cell.model == model.alias]) for model in study.models
    }
    answered = [generation.answer.received_utc for generation in generations]
    times = answered + [execution.provenance["utc"] for execution in executions]
    commit, dirty = git_state()
    return Provenance(
        commit=commit,
        dirty=dirty,
        version=__version__,
        versions={"python": sys.version.split()[0]} | {name: version(name) for name in LIBRARIES},
        lock_sha256=sha256_file(ROOT / "envs" / "requirements.lock"),
        config_files={_relative(file): sha256_file(file) for file in files},
        decision=study.decision or None,
        task_sha256={task.id: task.sha256 for task in tasks},
        worlds=_worlds(ran),
        conditions=_distinct(condition for _, _, condition in ran),
        limits=_documents(execution.limits for execution in executions),
        images=_documents(execution.image for execution in executions),
        engines=_documents(execution.engine for execution in executions),
        start_up_s=dict(start_up_s),
        sampling=sampling,
        spent_usd=_total(model.cost_usd for model in sampling.values()),
        first_answer_utc=min(answered, default=None),
        started_utc=min(times, default=None),
        ended_utc=max(times, default=None),
    )


def start_up_times(results: Path) -> dict[str, float | None]:
    """Shell -> seconds of an empty command, as measured when the image was made ready; empty where it was not."""
    path = Path(results) / "image.json"
    return read_json(path).get("start_up_s", {}) if path.exists() else {}


def _sampling(generations: Sequence[Generation]) -> Sampling:
    answers = [generation.answer for generation in generations]
    requests = [answer.request for answer in answers]
    return Sampling(
        id=_distinct(request.model_id for request in requests),
        echoed=_distinct(answer.model_echoed for answer in answers if answer.model_echoed),
        temperature_requested=_distinct(str(generation.temperature_requested) for generation in generations),
        temperature_sent=_distinct(
            "provider-default" if request.temperature is None else f"{request.temperature:g}" for request in requests
        ),
        max_tokens=_distinct(request.max_tokens for request in requests),
        thinking=_documents(request.thinking for request in requests),
        effort=_distinct(request.effort for request in requests if request.effort),
        extra_body=_documents(request.extra_body for request in requests),
        headers=_documents(request.headers for request in requests),
        transport=_distinct(answer.transport for answer in answers),
        server=_distinct(answer.server for answer in answers),
        client=_distinct(answer.client for answer in answers),
        wire=_distinct(request.wire for request in requests if request.wire != "messages"),
        tool=_distinct(request.tool.name for request in requests if request.tool),
        refusals=_counts(
            _said(answer, "stop_details", "category") for answer in answers if answer.outcome == "refusal"
        ),
        inference_geo=_counts(filter(None, (_said(answer, "usage", "inference_geo") for answer in answers))),
        answers=len(answers),
        input_tokens=sum(answer.usage.input_tokens or 0 for answer in answers),
        output_tokens=sum(answer.usage.output_tokens or 0 for answer in answers),
        cost_usd=_total(generation.cost_usd for generation in generations),
        price=[Price.model_validate(p) for p in _documents(g.price for g in generations if g.price)],
    )


def _said(answer: Answer, part: str, key: str) -> str | None:
    """A text in a part of the message as the service sent it; null if it is not there."""
    found = answer.raw.get(part)
    value = found.get(key) if isinstance(found, dict) else None
    return value if isinstance(value, str) else None


def _counts(values: Iterable[str | None]) -> dict[str, int]:
    return dict(sorted(Counter(value or "none stated" for value in values).items()))


def _without_words(generation: Generation) -> Generation:
    """The record less prompt and answer."""
    answer = generation.answer
    request = answer.request.model_copy(update={"prompt": ""})
    kept = {key: answer.raw[key] for key in ("stop_details", "usage") if key in answer.raw}
    short = answer.model_copy(update={"request": request, "raw": kept, "text": ""})
    return generation.model_copy(update={"answer": short})


def _worlds(ran: Iterable[tuple[int, str, str]]) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    for seed, world, _ in ran:
        found.setdefault(str(seed), set()).add(world)
    return {seed: sorted(hashes) for seed, hashes in sorted(found.items())}


def _total(costs: Iterable[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return round(sum(known), 6) if known else None


def _distinct(values: Iterable[Value]) -> list[Value]:
    return sorted(set(values))


def _documents(values: Iterable[Document]) -> list[Document]:
    """The distinct ones in the order of their canonical texts."""
    texts = {canonical_json(v.model_dump(mode="json") if isinstance(v, Part) else v): v for v in values}
    return [texts[text] for text in sorted(texts)]


def _relative(path: Path) -> str:
    path = Path(path).absolute()
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
