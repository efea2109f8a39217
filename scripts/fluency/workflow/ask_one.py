"""`fluency ask-one`: what a model's server makes of one prompt. Nothing is stored."""

import json
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fluency.common.errors import UserError, did_you_mean
from fluency.common.words import escape_controls
from fluency.core.loaded_study import LoadedStudy
from fluency.execution.execute import extraction_of
from fluency.generation.budget import upper_bound_usd
from fluency.generation.generator import Generator
from fluency.generation.policies import resolve
from fluency.generation.request import build_prompt, request_for
from fluency.generation.store import AnswerStore
from fluency.workflow.preflight import check_models


def ask_one(loaded: LoadedStudy, model: str = "") -> int:
    """Ask a model the study's first cell; print request, reply, both readings, usage and price."""
    study = loaded.study
    aliases = [entry.alias for entry in study.models]
    if model not in aliases:
        hint = f"MODEL=alias of `models`; {did_you_mean(model, aliases)}"
        raise UserError("no such model in the study", where=f"MODEL={model}", hint=hint)
    check_models(loaded)
    cell = next(cell for cell in loaded.cells if cell.model == model)
    task, policy = loaded.task_of[cell.task], resolve(study.model(model))
    request = request_for(study, cell, build_prompt(task.prompt, cell.shell))
    _show("Request", {**request.model_dump(mode="json", exclude_none=True), "prompt": "below"})
    _show("Prompt", request.prompt)
    price = f"{policy.describe_price()}; at most ${upper_bound_usd(policy, request.prompt):.4f}"
    _show("Price", price)
    with (
        TemporaryDirectory() as folder,
        closing(Generator(study, store=AnswerStore(Path(folder)))) as generator,
    ):
        record = generator.generate(cell, request, task.sha256)
    answer, cost, reading = record.answer, record.cost_usd, extraction_of(record.answer)
    _show("Reply", answer.raw)
    _show("Outcome", f"{answer.outcome}, by {answer.model_echoed} in {answer.latency_s} s")
    _show("Strict reading", reading.strict)
    _show("Lenient reading", reading.lenient)
    _show("Usage", answer.usage.model_dump())
    _show("Cost", "not known" if cost is None else f"${cost:.6f}")
    return 0


def _show(title: str, value: Any) -> None:
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    print(f"{title}\n{'-' * len(title)}\n{escape_controls(text)}\n", flush=True)
