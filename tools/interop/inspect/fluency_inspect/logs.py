"""A study as logs of Inspect AI, one a model: `make export FORMAT=inspect`."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import timedelta
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalError,
    EvalLog,
    EvalPlan,
    EvalPlanStep,
    EvalSample,
    EvalSpec,
    EvalStats,
    recompute_metrics,
    write_eval_log,
)
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.scorer import Score

from fluency import __version__, cli
from fluency.common.clock import parse_time
from fluency.common.errors import UserError
from fluency.core.records import Answer
from fluency.core.shells import AS_DESIGNED, EXTRA_CONDITIONS
from fluency.core.study import Cell, ModelConfig
from fluency.core.study_view import StudyView
from fluency.core.table import CellRecords, Row
from fluency.export import FORMATS
from fluency.generation.conversation import message
from fluency_inspect.verdict import score_of

HEADLINE = "passed"
"""The score that the study counts: exit code 0 and the right answer in every world."""
OTHER_SCORES = (
    "structural_pass",
    "exit_ok",
    "content_ok",
    "lenient_passed",
    *(condition.column for condition in EXTRA_CONDITIONS),
)
"""Columns of the study's table that become scores too."""
_SENT = {"temperature", "max_tokens", "seed", "effort"}
_SHOWN = {"task", "shell", "category", "status", "outcome", "failure_class", "made_of"}
_STOPS = {"ok": "stop", "empty": "stop", "refusal": "content_filter", "truncated": "max_tokens"}
_BY_SHELL = {
    "name": "inspect_ai/grouped",
    "options": {
        "metric": {"type": "metric", "name": "inspect_ai/accuracy", "params": {}},
        "group_key": "shell",
        "all": False,  # shells are compared, never pooled
    },
}


def write_logs(view: StudyView, name: str, origin: str, folder: Path) -> list[Path]:
    """Write one log for each model that has answered; UserError if no model has."""
    written = []
    for model in view.study.models:
        if log := _log(view, name, origin, model):
            path = folder / f"{model.alias}.eval"
            folder.mkdir(parents=True, exist_ok=True)
            write_eval_log(log, str(path))
            written.append(path)
    if not written:
        hint = "run the study, then export it"
        raise UserError("no model has answered yet", where=origin, hint=hint)
    return written


def _log(view: StudyView, name: str, origin: str, model: ModelConfig) -> EvalLog | None:
    """A model's samples with Inspect's own metrics over them; None if it has no answer yet."""
    cells = [cell for cell in view.cells if cell.model == model.alias and cell.turn == 1]
    samples, config = [], GenerateConfig()
    for cell in cells:
        row, records = view.row(cell), view.records(cell)
        if row.outcome is not None:
            sample = _sample(f"{name}/{cell.path}", model.id, cell, row, records)
            sample.messages += _later_messages(view, cell)
            samples.append(sample)
        if records.generation:  # every request of a model has the same
            sent = records.generation.answer.request.model_dump(include=_SENT)
            config = GenerateConfig(**sent)
    if not samples:
        return None
    usages = [sample.output.usage for sample in samples if sample.output.usage]
    study, started = view.study, min(sample.started_at for sample in samples)
    ids = list(dict.fromkeys(map(_sample_id, cells)))
    reducers = ["mean", *([f"pass_at_{study.trials}"] if study.trials > 1 else [])]
    log = EvalLog(
        status="success" if len(samples) == len(cells) else "cancelled",
        eval=EvalSpec(
            eval_id=f"{name}-{model.alias}",
            run_id=name,
            task_id=f"{name}-{model.alias}",
            created=started,
            task="shell_fluency",
            dataset=EvalDataset(name=study.study, samples=len(ids), sample_ids=ids, shuffled=False),
            model=model.id,
            model_generate_config=config,
            config=EvalConfig(epochs=study.trials, epochs_reducer=reducers),
            packages={"agent-shell-fluency-eval": __version__},
            scorers=[
                {"name": score, "metrics": [_BY_SHELL]}
                for score in (HEADLINE, *OTHER_SCORES)
                if any(s.scores and isinstance(s.scores[score].value, str) for s in samples)
            ],
            metadata={"origin": origin, "alias": model.alias, "seeds": list(study.seeds)}
            | {"shells": list(study.shells), "conditions": list(study.conditions)},
        ),
        plan=EvalPlan(steps=[EvalPlanStep(solver="generate")], config=config),
        stats=EvalStats(
            started_at=started,
            completed_at=max(sample.completed_at for sample in samples),
            model_usage={model.id: reduce(add, usages)} if usages else {},
        ),
        samples=samples,
    )
    recompute_metrics(log)
    log.results.total_samples = len(cells)
    return log


def _later_messages(view: StudyView, cell: Cell) -> list[ChatMessage]:
    """What a first answer's model was shown and answered after it; the score is of the first."""
    said: list[ChatMessage] = []
    for turn in range(2, view.study.turns + 1):
        made = view.records(replace(cell, turn=turn)).generation
        if made and not made.ended and (earlier := made.answer.request.earlier) and earlier.shown:
            said.append(ChatMessageUser(content=message(earlier.shown, cell.shell)))
            said.append(ChatMessageAssistant(content=made.answer.text, source="generate"))
    return said


def _sample_id(cell: Cell) -> str:
    """A sample is a task in a shell; its epochs are the trials."""
    return f"{cell.task}/{cell.shell}"


def _sample(uuid: str, model_id: str, cell: Cell, row: Row, records: CellRecords) -> EvalSample:
    """An answered cell's row as a sample, with the texts of its records that may be shown.

    A cell whose attempts all failed, or that is not scored yet, has an error and no score. One
    whose shell cannot be measured has scores without a value, which Inspect counts nowhere. A
    refusal is a failed answer, as in the study.
    """
    generation, execution, score = records
    answer = generation.answer if generation else None
    usage = _usage(row, answer)
    started = parse_time(row.asked_utc)
    prompt = answer.request.prompt if answer else ""
    reply = ChatMessageAssistant(
        content=answer.text if answer else "",
        model=row.model_echoed or model_id,
        source="generate",
    )
    metadata = row.model_dump(include=_SHOWN) | {"cell": cell.path}
    if answer:
        metadata |= {"request_key": answer.request_key, "task_sha256": generation.task_sha256}
    if execution:
        metadata["image"] = execution.image.content_sha256
    missing = row.reason if row.status == "missing" else None
    error = (
        EvalError(message=missing, traceback=missing, traceback_ansi=missing) if missing else None
    )
    server = answer.model_dump(include={"stop_reason", "server", "client"}) if answer else None
    worlds = [world.model_dump(mode="json") for world in score.worlds] if score else []
    expected = "\n".join(
        json.dumps(world["expected"], ensure_ascii=False)
        for world in worlds
        if (world["condition"], world["reading"]) == (AS_DESIGNED.name, "strict")
    )
    return EvalSample(
        id=_sample_id(cell),
        epoch=cell.trial,
        input=prompt,
        target=expected if answer else "",
        messages=[ChatMessageUser(content=prompt), reply],
        output=ModelOutput(
            model=row.model_echoed or model_id,
            choices=[ChatCompletionChoice(message=reply, stop_reason=_STOPS[row.outcome])],
            usage=usage,
            time=row.t_gen_s,
            metadata=server,
        ),
        scores=None if missing else _scores(row, worlds),
        error=error,
        metadata=metadata,
        model_usage={model_id: usage} if usage else {},
        started_at=started.isoformat(),
        completed_at=(started + timedelta(seconds=row.t_gen_s or 0)).isoformat(),
        working_time=(row.t_gen_s or 0) + (row.t_exec_s or 0) * (row.worlds_run or 0),
        uuid=uuid,
    )


def _usage(row: Row, answer: Answer | None) -> ModelUsage | None:
    """None if the server counted nothing: Inspect would write a zero."""
    if row.input_tokens is None and row.output_tokens is None:
        return None
    read, written = row.input_tokens or 0, row.output_tokens or 0
    return ModelUsage(
        input_tokens=read,
        output_tokens=written,
        total_tokens=read + written,
        reasoning_tokens=answer.usage.thinking_tokens if answer else None,
        total_cost=row.cost_usd,
    )


def _scores(row: Row, worlds: list[dict[str, Any]]) -> dict[str, Score]:
    details = row.model_dump(include={"failure_class", "side_effects"}) | {"worlds": worlds}
    why_unknown = row.reason or "It was not run under this."
    others = {name: getattr(row, name) for name in OTHER_SCORES}
    return {HEADLINE: score_of(row.passed, row.command, row.why or "", details)} | {
        name: score_of(value, row.command, why_unknown if value is None else None)
        for name, value in others.items()
    }


def main() -> int:
    """`fluency export` with one more format."""
    FORMATS["inspect"] = write_logs
    return cli.main(["export", "--format", "inspect", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
