"""A cell whose task is held out as a sample of an Inspect AI log: its row of the table, without any text."""

from __future__ import annotations

from datetime import timedelta

from inspect_ai.log import EvalError, EvalSample
from inspect_ai.model import ModelOutput, ModelUsage
from inspect_ai.scorer import Score

from fluency.common.clock import parse_time
from fluency.core.held_out import HELD_OUT_TEXT
from fluency.core.study import Cell
from fluency.core.table import Row
from fluency.export.inspect_samples import BESIDES, HEADLINE, STOPS, sample_id, score_of


def sample_of_row(row: Row, model_id: str) -> EvalSample | None:
    """What may be told of the cell: verdict, class, tokens and times; None where no model has answered it yet."""
    if row.outcome is None or row.asked_utc is None:
        return None
    cell = Cell(row.model, row.shell, row.task, row.trial)
    reason = row.reason or HELD_OUT_TEXT
    ended = parse_time(row.asked_utc)
    usage = _usage(row)
    return EvalSample(
        id=sample_id(cell),
        epoch=cell.trial,
        input=HELD_OUT_TEXT,
        target=HELD_OUT_TEXT,
        output=ModelOutput.from_content(model_id, HELD_OUT_TEXT, STOPS[row.outcome]).model_copy(
            update={"usage": usage, "time": row.t_gen_s}
        ),
        scores=None if row.status == "missing" else _scores(row),
        error=EvalError(message=reason, traceback=reason, traceback_ansi=reason) if row.status == "missing" else None,
        metadata=row.model_dump(include={"task", "shell", "category", "status", "outcome", "failure_class", "made_of"})
        | {"cell": cell.path, "held_out": True},
        model_usage={model_id: usage} if usage else {},
        started_at=(ended - timedelta(seconds=row.t_gen_s or 0)).isoformat(),
        completed_at=ended.isoformat(),
        uuid=f"held-out-{cell.path}",
    )


def _scores(row: Row) -> dict[str, Score]:
    told = {"failure_class": row.failure_class}
    return {
        HEADLINE: score_of(row.passed, None, row.why or HELD_OUT_TEXT, told),
        **{name: score_of(getattr(row, name), None, row.reason or HELD_OUT_TEXT, None) for name in BESIDES},
    }


def _usage(row: Row) -> ModelUsage | None:
    if row.input_tokens is None and row.output_tokens is None:
        return None
    read, written = row.input_tokens or 0, row.output_tokens or 0
    return ModelUsage(input_tokens=read, output_tokens=written, total_tokens=read + written, total_cost=row.cost_usd)
