"""What a run would ask, what that costs at most and probably, and how long it takes.

It reads the answer store, sends no request and needs no key.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from fluency.core.records import Answer, Request
from fluency.core.study import ModelConfig, Price, Study
from fluency.generation.api_keys import is_embedded, needs_key
from fluency.generation.budget import counted_usd, upper_bound_input_tokens
from fluency.generation.pace import starts_per_minute
from fluency.generation.policies import resolve
from fluency.generation.request import Requests, request_key
from fluency.generation.store import AnswerStore

LATENCY_S = 4.0
"""Assumed of one call before any answer is stored, in seconds."""
BYTES_A_TOKEN = 3


@dataclass(frozen=True)
class ModelEstimate:
    """One model's share. Dollars are null where no price is known."""

    alias: str
    model_id: str
    sampling: str
    at_hand: int
    calls: int
    input_tokens: int
    most_usd: float | None
    expected_usd: float | None
    minutes: float
    spent_usd: float
    price: str
    note: str = ""
    missing_key: str = ""


@dataclass(frozen=True)
class CostEstimate:
    """What a run would ask, model by model."""

    study: Study
    tasks: int
    models: list[ModelEstimate]

    @property
    def calls(self) -> int:
        """Calls to be made."""
        return sum(model.calls for model in self.models)

    @property
    def most_usd(self) -> float:
        """Upper bound of the dollars the calls cost."""
        return sum(model.most_usd or 0.0 for model in self.models)

    @property
    def expected_usd(self) -> float:
        """What the calls probably cost in dollars."""
        return sum(model.expected_usd or 0.0 for model in self.models)

    @property
    def spent_usd(self) -> float:
        """What the study's stored answers have cost in dollars."""
        return sum(model.spent_usd for model in self.models)

    @property
    def missing_keys(self) -> list[str]:
        """A sentence for each key that is not in the environment and needed."""
        return [model.missing_key for model in self.models if model.missing_key]


def estimate_cost(
    requests: Requests, store: AnswerStore, environ: Mapping[str, str]
) -> CostEstimate:
    """The estimate of a study.

    UserError if a model has no policy, or a stored answer is damaged.
    """
    study = requests.study
    cells = list(study.cells([task.id for task in requests.tasks]))
    models = [
        _model_estimate(m, [requests[c] for c in cells if c.model == m.alias], store, environ)
        for m in study.models
    ]
    return CostEstimate(study, len(requests.tasks), models)


def _model_estimate(
    model: ModelConfig, requests: Iterable[Request], store: AnswerStore, environ: Mapping[str, str]
) -> ModelEstimate:
    policy = resolve(model)
    answers, to_ask = [], []
    for request in requests:
        if answer := store.get(request_key(request)):
            answers.append(answer)
        else:
            to_ask.append(request.prompt)
    output = _mean([a.usage.output_tokens for a in answers], policy.expected_output_tokens)
    likely_input = sum(math.ceil(len(prompt.encode()) / BYTES_A_TOKEN) for prompt in to_ask)
    most_input = sum(map(upper_bound_input_tokens, to_ask))
    no_key = bool(to_ask) and needs_key(model) and not environ.get(model.api_key_env, "").strip()
    return ModelEstimate(
        alias=model.alias,
        model_id=model.id,
        sampling=policy.describe(),
        at_hand=len(answers),
        calls=len(to_ask),
        input_tokens=likely_input,
        most_usd=policy.cost(most_input, policy.max_tokens * len(to_ask)),
        expected_usd=policy.cost(likely_input, output * len(to_ask)),
        minutes=_minutes(model, len(to_ask), answers),
        spent_usd=sum(counted_usd(policy, answer) for answer in answers),
        price=_price(policy.price),
        note=policy.note,
        missing_key=f"the key of {model.alias}: export {model.api_key_env}=…" if no_key else "",
    )


def _price(price: Price | None) -> str:
    if price is None:
        return "no price: counted as free"
    if price.is_free:
        return "free"
    rates = f"${price.input_usd_per_mtok:g} / ${price.output_usd_per_mtok:g}"
    return f"{rates} a million tokens on {price.dated}"


def _minutes(model: ModelConfig, calls: int, answers: Sequence[Answer]) -> float:
    """Minutes by the starts a minute, or by the calls in flight and the mean latency."""
    latency = _mean([answer.latency_s for answer in answers], LATENCY_S)
    # Calls to this machine share it.
    at_once = 1 if is_embedded(model) else model.in_flight
    rate = starts_per_minute(model) or math.inf
    return max(calls * latency / at_once / 60, calls / rate)


def _mean(values: Iterable[float | None], default: float) -> float:
    return fmean([value for value in values if value is not None] or [default])
