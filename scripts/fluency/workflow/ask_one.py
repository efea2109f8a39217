"""`fluency ask-one`: what a model's server makes of one cell. Nothing is stored or executed."""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fluency.common.errors import UserError, did_you_mean
from fluency.common.words import escape_controls
from fluency.core.loaded_study import LoadedStudy
from fluency.core.records import Answer, Request, Shown, Stream
from fluency.core.study import Cell
from fluency.execution.execute import extraction_of
from fluency.generation.conversation import request_after
from fluency.generation.generator import Generator
from fluency.generation.policies import resolve
from fluency.generation.request import build_prompt, planned_after, request_for
from fluency.generation.store import AnswerStore
from fluency.workflow.preflight import check_models

EMPTY = Stream.of(b"")
NOTHING = Shown(
    exit_code=0, signal=None, spawn_error=None, stopped_after_s=None, stdout=EMPTY, stderr=EMPTY
)


def ask_one(loaded: LoadedStudy, model: str) -> int:
    """Ask a model the study's first cell; print request, reply, both readings, usage and price.

    A later turn is told of a command that printed nothing.
    """
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
    price = f"{policy.describe_price()}; at most ${policy.upper_bound_usd(request.prompt):.4f}"
    _show("Price", price)
    with (
        TemporaryDirectory() as folder,
        closing(Generator(study, store=AnswerStore(Path(folder)))) as generator,
    ):
        answer = _ask(generator, cell, request, task.sha256)
        for turn in range(2, study.turns + 1):
            if answer.outcome != "ok":
                break
            request = request_after(
                answer, planned_after(request, request.key), NOTHING, cell.shell
            )
            _show(f"Turn {turn}, as if the command had printed nothing", request.follow_up[-1])
            answer = _ask(generator, replace(cell, turn=turn), request, task.sha256)
    return 0


def _ask(generator: Generator, cell: Cell, request: Request, task_sha256: str) -> Answer:
    record = generator.generate(cell, request, task_sha256)
    answer, cost, reading = record.answer, record.cost_usd, extraction_of(record.answer)
    _show("Reply", answer.raw)
    _show("Outcome", f"{answer.outcome}, by {answer.model_echoed} in {answer.latency_s} s")
    _show("Strict reading", reading.strict)
    _show("Lenient reading", reading.lenient)
    _show("Usage", answer.usage.model_dump())
    _show("Cost", "not known" if cost is None else f"${cost:.6f}")
    return answer


def _show(title: str, value: Any) -> None:
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    print(f"{title}\n{'-' * len(title)}\n{escape_controls(text)}\n", flush=True)
