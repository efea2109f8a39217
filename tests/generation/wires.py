"""The wires as the tests ask through them: one model entry each, whose service is the fake endpoint."""

from typing import Any

from fluency.core.study import Study
from tests.generation.studies import KEY, study_of

PRICE = {"input_usd_per_mtok": 3.0, "output_usd_per_mtok": 15.0, "dated": "2026-11-23"}
SAID = {"alias": "sonnet", "temperature": 0.7, "max_tokens": 1024, "price": PRICE}
MODELS: dict[str, dict[str, Any]] = {
    "messages": {"id": "claude-sonnet-4-6"},
    "chat": {"id": "some-model", "wire": "chat"},
    "bedrock": {"id": "us.anthropic.claude-sonnet-4-6-v1:0", "wire": "bedrock", "region": "us-east-1"},
    "vertex": {"id": "claude-sonnet-4-6@20260217", "wire": "vertex", "region": "europe-west1", "project": "mine"},
}
SUFFIX = {"chat": "/v1", "vertex": "/v1"}
"""What the client expects in the address."""
ENVIRON = {
    "ANTHROPIC_API_KEY": KEY,
    "OPENAI_API_KEY": KEY,
    "AWS_BEARER_TOKEN_BEDROCK": KEY,
    "VERTEX_ACCESS_TOKEN": KEY,
}


def study_on(wire: str, **over: Any) -> Study:
    """A study of one model behind a wire; `over` goes into the model's entry."""
    trials = over.pop("trials", 3)
    return study_of(SAID | MODELS[wire] | over, trials=trials)
