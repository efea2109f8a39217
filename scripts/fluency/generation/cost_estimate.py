"""What a run would ask, what that costs at most and probably, and how long it takes.

It reads the answer store, sends no request and needs no key.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from fluency.core.records import Answer, Request
from fluency.core.study import Cell, ModelConfig, Study, total_usd
from fluency.core.task_world import world_for
from fluency.core.tasks import Task
from fluency.generation.conversation import request_after
from fluency.generation.policies import Policy, resolve
from fluency.generation.request import requests_of, same_history
from fluency.generation.store import AnswerStore

LATENCY_S = 4.0
"""Assumed of one call before any answer is stored, in seconds."""
BYTES_A_TOKEN = 3
SHOWN_TOKENS, MOST_SHOWN_TOKENS = 150, 10_000
"""Of a message that shows what a command did: assumed, and the most."""
Ends = Callable[[Answer, Answer | None], bool]
"""Whether an answer ends its conversation, given the one before it."""


class Share(NamedTuple):
    """What one turn of one model asks. `expected_usd` is null where no price is known."""

    calls: int
    again: int
    """Of them those whose stored answer continues another conversation."""
    input_tokens: int
    most_usd: float
    expected_usd: float | None


class ModelEstimate(NamedTuple):
    """One model's share. `expected_usd` is null where no price is known."""

    config: ModelConfig
    policy: Policy
    answered: int
    calls: int
    input_tokens: int
    most_usd: float
    expected_usd: float | None
    minutes: float
    """By the starts a minute, or by the calls in flight and the mean latency."""
    spent_usd: float
    turns: tuple[Share, ...]
    """One for each turn, the most if no conversation ends early."""


class CostEstimate(NamedTuple):
    """What a run would ask, model by model, and over all models.

    Attributes:
        calls: Calls to be made.
        most_usd: Upper bound of the dollars they cost.
        expected_usd: What they probably cost in dollars.
        spent_usd: What the study's stored answers have cost in dollars.
    """

    study: Study
    tasks: int
    models: list[ModelEstimate]
    calls: int
    most_usd: float
    expected_usd: float
    spent_usd: float


def estimate_cost(
    study: Study, tasks: Sequence[Task], store: AnswerStore, ends: Ends = lambda *_: False
) -> CostEstimate:
    """The estimate of a study.

    UserError if a model has no policy, or a stored answer is damaged.
    """
    requests = requests_of(study, tasks, world_for)
    models = [_model_estimate(model, study.turns, requests, store, ends) for model in study.models]
    totals: dict[str, Any] = {
        name: total_usd(getattr(model, name) for model in models)
        for name in ("most_usd", "expected_usd", "spent_usd")
    }
    calls = sum(model.calls for model in models)
    return CostEstimate(study, len(tasks), models, calls, **totals)


def _model_estimate(
    model: ModelConfig, turns: int, requests: Mapping[Cell, Request], store: AnswerStore, ends: Ends
) -> ModelEstimate:
    policy, found, over = resolve(model), dict[Cell, Answer](), set[Cell]()
    to_ask: list[list[str]] = [[] for _ in range(turns)]
    again = [0] * turns
    for cell, request in requests.items():
        if cell.model != model.alias:
            continue
        before = found.get(cell.before) if cell.turn > 1 else None
        if cell.turn > 1 and cell.before in over:
            over.add(cell)
        elif (answer := store.get(request.key)) and _continues(answer, request, before, cell.shell):
            found[cell] = answer
            over |= {cell} if ends(answer, before) else set()
        else:
            to_ask[cell.turn - 1].append(request.text)
            again[cell.turn - 1] += answer is not None
    answers = [*found.values()]
    output = _mean([a.usage.output_tokens for a in answers], policy.expected_output_tokens)
    shares = []
    for turn, prompts in enumerate(to_ask):
        likely = sum(math.ceil(len(prompt.encode()) / BYTES_A_TOKEN) for prompt in prompts)
        likely += round(turn * (SHOWN_TOKENS + output) * len(prompts))
        most = turn * (MOST_SHOWN_TOKENS + policy.max_tokens)
        shares.append(
            Share(
                calls=len(prompts),
                again=again[turn],
                input_tokens=likely,
                most_usd=total_usd(policy.upper_bound_usd(prompt, most) for prompt in prompts),
                expected_usd=policy.cost(likely, output * len(prompts)),
            )
        )
    calls, likely_input = (sum(getattr(s, n) for s in shares) for n in ("calls", "input_tokens"))
    latency = _mean([answer.latency_s for answer in answers], LATENCY_S)
    # Calls to this machine share it.
    at_once = 1 if model.is_embedded else model.in_flight
    rate = model.starts_per_minute or math.inf
    return ModelEstimate(
        config=model,
        policy=policy,
        answered=len(answers),
        calls=calls,
        input_tokens=likely_input,
        most_usd=total_usd(share.most_usd for share in shares),
        expected_usd=policy.cost(likely_input, output * calls),
        minutes=max(calls * latency / at_once / 60, calls / rate),
        spent_usd=total_usd(map(policy.counted_usd, answers)),
        turns=tuple(shares),
    )


def _continues(answer: Answer, planned: Request, before: Answer | None, shell: str) -> bool:
    """Whether a stored answer is of the first turn, or follows the stored answer before it."""
    earlier = answer.request.earlier
    if earlier is None:
        return True
    if before is None or earlier.shown is None:
        return False
    return same_history(answer.request, request_after(before, planned, earlier.shown, shell))


def _mean(values: Iterable[float | None], default: float) -> float:
    return fmean([value for value in values if value is not None] or [default])
