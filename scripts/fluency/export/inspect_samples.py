"""One cell as a sample of an Inspect AI log: what was asked, what came back, what ran, how it was judged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from inspect_ai.event import Event, ModelEvent, SandboxEvent
from inspect_ai.log import EvalError, EvalSample
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.scorer import CORRECT, INCORRECT, Score

from fluency.common.clock import parse_time
from fluency.core.records import Answer, Execution, Generation, Run
from fluency.core.records import Score as ScoreRecord
from fluency.core.shells import AS_DESIGNED, EXTRA_CONDITIONS
from fluency.core.study import Cell
from fluency.core.table import CellRecords, headline_runs

HEADLINE = "passed"
"""The score that the study counts: exit code 0 and the right answer in every world."""
BESIDES = (
    "structural_pass",
    "exit_ok",
    "content_ok",
    "lenient_passed",
    *(condition.score_field for condition in EXTRA_CONDITIONS),
)
"""What is told beside it, by the names of the study's own records and table."""
STOPS = {"ok": "stop", "empty": "stop", "refusal": "content_filter", "truncated": "max_tokens"}


def sample_id(cell: Cell) -> str:
    """A sample is a task in an arm; its epochs are the trials."""
    return f"{cell.task}/{cell.shell}"


def sample_of(cell: Cell, category: str, records: CellRecords) -> EvalSample | None:
    """A cell's sample; None for a cell that no model has answered yet, of which there is nothing to show.

    A cell that was given up, or is not judged yet, has an error and no score. One of an arm that cannot be measured has
    scores without a value, which Inspect counts nowhere. A refusal is a failed answer, as it is in the study.
    """
    generation, execution, score = records
    if generation is None:
        return None
    answer = generation.answer
    output = _output(answer, generation.cost_usd)
    ended = parse_time(answer.received_utc)
    events = [_asked(answer, output), *_ran(execution, answer)]
    unmeasured = (execution.unmeasured if execution else None) or (None if score else "it is not measured yet")
    return EvalSample(
        id=sample_id(cell),
        epoch=cell.trial,
        input=answer.request.prompt,
        target=_expected(score),
        messages=[ChatMessageUser(content=answer.request.prompt), output.message],
        output=output,
        scores=None if unmeasured or score is None else scores_of(score, execution),
        error=EvalError(message=unmeasured, traceback=unmeasured, traceback_ansi=unmeasured) if unmeasured else None,
        metadata=_metadata(cell, category, generation, execution, score),
        events=events,
        model_usage={answer.request.model_id: output.usage} if output.usage else {},
        started_at=(ended - timedelta(seconds=answer.latency_s or 0)).isoformat(),
        completed_at=ended.isoformat(),
        working_time=_working_s(answer, execution),
        uuid=f"{answer.request_key[:12]}-{cell.model}-{cell.shell}-{cell.task}-{cell.trial}",
    )


def _output(answer: Answer, cost_usd: float | None) -> ModelOutput:
    message = ChatMessageAssistant(content=answer.text, model=answer.model_echoed or answer.request.model_id)
    return ModelOutput(
        model=answer.model_echoed or answer.request.model_id,
        choices=[ChatCompletionChoice(message=message, stop_reason=STOPS[answer.outcome])],
        usage=_usage(answer, cost_usd),
        time=answer.latency_s,
        response_id=answer.request_id,
        metadata={"outcome": answer.outcome, "stop_reason": answer.stop_reason, "transport": answer.transport}
        | {"server": answer.server, "client": answer.client, "attempts": answer.attempts},
    )


def _usage(answer: Answer, cost_usd: float | None) -> ModelUsage | None:
    """None where the server counted nothing: Inspect would hold a zero for it."""
    counted = answer.usage
    if counted.input_tokens is None and counted.output_tokens is None:
        return None
    read, written = counted.input_tokens or 0, counted.output_tokens or 0
    return ModelUsage(
        input_tokens=read,
        output_tokens=written,
        total_tokens=read + written,
        reasoning_tokens=counted.thinking_tokens,
        total_cost=cost_usd,
    )


def _asked(answer: Answer, output: ModelOutput) -> Event:
    request = answer.request
    return ModelEvent(
        timestamp=parse_time(answer.received_utc) - timedelta(seconds=answer.latency_s or 0),
        completed=parse_time(answer.received_utc),
        working_start=0.0,
        model=request.model_id,
        input=[ChatMessageUser(content=request.prompt)],
        tools=[],
        tool_choice="none",
        config=GenerateConfig(
            temperature=request.temperature, max_tokens=request.max_tokens, seed=request.seed, effort=request.effort
        ),
        output=output,
    )


def _ran(execution: Execution | None, answer: Answer) -> Iterator[Event]:
    """What ran, in the order of the record, whose clock tells lengths and no times of day."""
    began = answer.latency_s or 0.0
    for run in execution.runs if execution else ():
        result = run.result
        start = parse_time(answer.received_utc) + timedelta(seconds=began - (answer.latency_s or 0.0))
        yield SandboxEvent(
            timestamp=start,
            completed=start + timedelta(seconds=result.wall_s),
            working_start=began,
            action="exec",
            cmd=_command(execution, run),
            options={"seed": run.seed, "condition": run.condition, "reading": run.reading, "wall_s": result.wall_s}
            | {"timed_out": result.timed_out, "signal": result.signal},
            result=result.exit_code,
            output=result.stdout.raw().decode("utf-8", "replace"),
            metadata={"stderr": result.stderr.raw().decode("utf-8", "replace"), "world_sha256": run.world_sha256},
        )
        began += result.wall_s


def _command(execution: Execution | None, run: Run) -> str | None:
    if execution is None:
        return None
    return execution.extraction.strict if run.reading == "strict" else execution.extraction.lenient


def scores_of(score: ScoreRecord, execution: Execution | None) -> dict[str, Score]:
    """The headline and what stands beside it; what the study does not know has no value here either."""
    command = execution.extraction.strict if execution else None
    worlds = [world.model_dump(mode="json") for world in score.worlds]
    told = {"failure_class": score.failure_class, "side_effects": score.side_effects, "worlds": worlds}
    return {
        HEADLINE: score_of(score.passed, command, score.why, told),
        **{name: score_of(getattr(score, name), command, _why_unknown(score), None) for name in BESIDES},
    }


def score_of(value: bool | None, answer: str | None, why: str, told: dict[str, Any] | None) -> Score:
    """C or I; no value where there is none. With `told` the reason stands beside a value too."""
    if value is None:
        return Score.unscored(reason="not-measured", answer=answer, explanation=why, metadata=told)
    explanation = why if told is not None else None
    return Score(value=CORRECT if value else INCORRECT, answer=answer, explanation=explanation, metadata=told)


def _why_unknown(score: ScoreRecord) -> str:
    return score.why if score.not_measured else "It was not run under this."


def _expected(score: ScoreRecord | None) -> str:
    """The right answers of the headline's worlds, one a line; empty where nothing ran and none was worked out."""
    judged = score.worlds if score else []
    worlds = [world for world in judged if (world.condition, world.reading) == (AS_DESIGNED.name, "strict")]
    return "\n".join(json.dumps(world.expected, ensure_ascii=False) for world in worlds)


def _metadata(
    cell: Cell, category: str, generation: Generation, execution: Execution | None, score: ScoreRecord | None
) -> dict[str, Any]:
    """What Inspect groups and filters by, and the hashes that tie the sample to the study's records."""
    status = "missing" if score is None or (execution and execution.unmeasured) else "measured"
    return {
        "cell": cell.path,
        "task": cell.task,
        "shell": cell.shell,
        "category": category,
        "status": "not_measured" if score and score.not_measured else status,
        "outcome": generation.answer.outcome,
        "failure_class": score.failure_class if score else None,
        "made_of": score.make_up.made_of if score and score.make_up else None,
        "request_key": generation.answer.request_key,
        "task_sha256": generation.task_sha256,
        "image": execution.image.content_sha256 if execution else None,
    }


def _working_s(answer: Answer, execution: Execution | None) -> float:
    """Seconds of the answer and of the headline's runs, which alone the study counts."""
    runs = headline_runs(execution) if execution else []
    return (answer.latency_s or 0.0) + sum(run.result.wall_s for run in runs)
