"""What was asked of a model and what it answered."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from fluency.core.model_config import Price
from fluency.core.part import Part
from fluency.core.records.forms import Digest, UtcTime
from fluency.core.records.record import SCHEMA_VERSION, CellName, SchemaVersion
from fluency.core.wires import Wire

Outcome = Literal["ok", "refusal", "truncated", "empty", "no-call"]
"""no-call: a tool call was asked for, and the reply holds none, or one of another shape."""


class ToolOffer(Part):
    """A tool as a model is told of it; the model must call it, and its one argument is the answer."""

    name: str
    description: str
    input_schema: dict[str, Any]


def _absent(value: object) -> bool:
    """Whether a field says what requests said before there was such a field; then it is left out of their JSON."""
    return value in (None, "messages")


class Request(Part):
    """What is sent to a model, complete: its canonical JSON is the key of the answer store.

    `trial` and `protocol` are not sent; they tell apart five independent samples of one prompt, and a
    deliberate new start. Nothing here may depend on the machine, the day, or the key.
    """

    model_id: str
    prompt: str
    max_tokens: int
    temperature: float | None = Field(description="As sent; null: the provider's default.")
    thinking: dict[str, Any] | None = None
    effort: str | None = None
    extra_body: dict[str, Any] = Field(default_factory=dict)
    headers: dict[str, str] = Field(default_factory=dict)
    seed: int | None = Field(None, description="Sampling seed, where a server takes one.")
    protocol: int
    trial: int
    wire: Wire = Field("messages", exclude_if=_absent, description="The protocol that it is sent by.")
    tool: ToolOffer | None = Field(None, exclude_if=_absent, description="Whose call is forced; null: a reply in text.")


class Usage(Part):
    """Tokens as the server counted them."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    thinking_tokens: int | None = None


class Answer(Part):
    """One answer as it arrived; what the answer store keeps and `generate` copies into its record."""

    schema_version: int = SCHEMA_VERSION
    request_key: Digest
    request: Request
    outcome: Outcome
    text: str = Field(description="All text blocks joined, or the tool call's command; lone surrogates replaced.")
    raw: dict[str, Any] = Field(description="The message as the server sent it.")
    stop_reason: str | None = None
    model_echoed: str | None = None
    request_id: str | None = None
    usage: Usage
    latency_s: float | None = Field(description="Request sent to last byte of the successful attempt; null in a batch.")
    attempts: int = 1
    received_utc: UtcTime
    transport: Literal["messages", "batch"] = "messages"
    server: str = Field(description="Host of the endpoint, or `embedded`.")
    client: str = Field(description="The SDK and its version.")


class Generation(Part):
    """`results/generations/{cell}.json`."""

    schema_version: SchemaVersion = SCHEMA_VERSION
    cell: CellName
    answer: Answer
    temperature_requested: float | Literal["provider-default"]
    cost_usd: float | None
    price: dict[str, Any] | None
    task_sha256: Digest
    provenance: dict[str, Any]

    @field_validator("price")
    @classmethod
    def _is_a_price(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        if value is not None:
            Price.model_validate(value)
        return value
