"""What a run would ask, what that costs at most and probably, and how long it takes.

It reads the answer store, sends no request and needs no key.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from fluency.core.records import Request
from fluency.core.study import Cell, ModelConfig, Study, total_usd
from fluency.core.tasks import Task
from fluency.generation.api_keys import is_embedded
from fluency.generation.budget import counted_usd, upper_bound_usd
from fluency.generation.pace import starts_per_minute
from fluency.generation.policies import Policy, resolve
from fluency.generation.request import request_key, requests_of
from fluency.generation.store import AnswerStore

LATENCY_S = 4.0
"""Assumed of one call before any answer is stored, in seconds."""
BYTES_A_TOKEN = 3


@dataclass(frozen=True)
class ModelEstimate:
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


@dataclass(frozen=True)
class CostEstimate:
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


def estimate_cost(study: Study, tasks: Sequence[Task], store: AnswerStore) -> CostEstimate:
    """The estimate of a study.

    UserError if a model has no policy, or a stored answer is damaged.
    """
    requests = requests_of(study, tasks)
    models = [_model_estimate(model, requests, store) for model in study.models]
    totals: dict[str, Any] = {
        name: total_usd(getattr(model, name) for model in models)
        for name in ("most_usd", "expected_usd", "spent_usd")
    }
    calls = sum(model.calls for model in models)
    return CostEstimate(study, len(tasks), models, calls, **totals)


def _model_estimate(
    model: ModelConfig, requests: Mapping[Cell, Request], store: AnswerStore
) -> ModelEstimate:
    policy = resolve(model)
    answers, to_ask = [], []
    for request in (requests[cell] for cell in requests if cell.model == model.alias):
        if answer := store.get(request_key(request)):
            answers.append(answer)
        else:
            to_ask.append(request.text)
    output = _mean([a.usage.output_tokens for a in answers], policy.expected_output_tokens)
    likely_input = sum(math.ceil(len(prompt.encode()) / BYTES_A_TOKEN) for prompt in to_ask)
    latency = _mean([answer.latency_s for answer in answers], LATENCY_S)
    # Calls to this machine share it.
    at_once = 1 if is_embedded(model) else model.in_flight
    rate = starts_per_minute(model) or math.inf
    return ModelEstimate(
        config=model,
        policy=policy,
        answered=len(answers),
        calls=len(to_ask),
        input_tokens=likely_input,
        most_usd=total_usd(upper_bound_usd(policy, prompt) for prompt in to_ask),
        expected_usd=policy.cost(likely_input, output * len(to_ask)),
        minutes=max(len(to_ask) * latency / at_once / 60, len(to_ask) / rate),
        spent_usd=total_usd(counted_usd(policy, answer) for answer in answers),
    )


def _mean(values: Iterable[float | None], default: float) -> float:
    return fmean([value for value in values if value is not None] or [default])
