"""Small studies and their cells for the generation tests."""

from typing import Any

from fluency.core.records import Generation
from fluency.core.study import Cell, Study
from fluency.generation.failure import RetryPolicy
from fluency.generation.generator import Generator
from fluency.generation.request import request_for
from fluency.generation.store import AnswerStore
from tests.generation.endpoint import Endpoint
from tests.synthetic_tables import make_study

KEY = "sk-ant-canary-0123456789abcdef0123456789"
NAMES = "ANTHROPIC_API_KEY OPENAI_API_KEY AWS_BEARER_TOKEN_BEDROCK VERTEX_ACCESS_TOKEN"
ENVIRON = dict.fromkeys(NAMES.split(), KEY)
WAITS = {"first_wait_s": 0.001, "longest_wait_s": 0.002}
OPENED: list[Generator] = []
"""Closed after each test."""
QUICK = RetryPolicy(attempt_s=5.0, deadline_s=20.0, attempts=4, **WAITS)


def study_of(*models, **over) -> Study:
    """Three trials of the given models (sonnet-4-6 if none), unlimited in rate."""
    models = models or ({"alias": "sonnet", "id": "claude-sonnet-4-6"},)
    entries = [{"requests_per_minute": 1_000_000} | model for model in models]
    return make_study(entries, **{"trials": 3} | over)


def prompt_of(cell: Cell) -> str:
    return f"Answer for {cell.path}"


def generator_of(study: Study, store: AnswerStore, endpoint: Endpoint, base_urls=None, **over):
    """A generator that asks the endpoint, or by alias what `base_urls` has."""
    urls = {model.alias: endpoint.url for model in study.models} if base_urls is None else base_urls
    options = {"environ": ENVIRON, "retry_policy": QUICK} | over
    options.setdefault("address_of", lambda model: urls.get(model.alias) or model.base_url)
    OPENED.append(Generator(study, store=store, **options))
    return OPENED[-1]


def ask(generator: Generator, cell: Cell | None = None, prompt=None) -> Generation:
    """The record of a cell, by default of the first."""
    cell = cell or cells_of(generator.study)[0]
    request = request_for(generator.study, cell, prompt or prompt_of(cell))
    return generator.generate(cell, request, "0" * 64)


def cells_of(study: Study, tasks=2) -> list[Cell]:
    return list(study.cells([f"task-{n}" for n in range(tasks)]))


PRICE = {"input_usd_per_mtok": 3.0, "output_usd_per_mtok": 15.0, "dated": "2026-11-23"}
SAID = {"alias": "sonnet", "temperature": 0.7, "max_tokens": 1024, "price": PRICE}
MODELS: dict[str, dict[str, Any]] = {
    "messages": {"id": "claude-sonnet-4-6"},
    "chat": {"id": "some-model"},
    "bedrock": {"id": "us.anthropic.claude-sonnet-4-6-v1:0", "region": "us-east-1"},
    "vertex": {"id": "claude-sonnet-4-6@20260217", "region": "europe-west1", "project": "mine"},
}
SUFFIX = {"chat": "/v1", "vertex": "/v1"}
"""What the client expects in the address."""


def study_on(wire, **over) -> Study:
    trials = over.pop("trials", 3)
    return study_of(SAID | MODELS[wire] | {"wire": wire} | over, trials=trials)
