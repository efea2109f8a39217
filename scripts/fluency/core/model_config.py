"""One model's entry in a configuration: who it is, how it is asked, where, and what that costs."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from fluency.common.canonical import canonical_json
from fluency.core.part import Part
from fluency.core.wires import KEY_OF, Wire


class Config(Part):
    """Keys a person writes: a value of another type is a mistake, never converted (`true` is no number of trials)."""

    model_config = ConfigDict(strict=True)


class Price(Config):
    """US dollars for a million tokens, and the day the price was read."""

    input_usd_per_mtok: float = Field(ge=0, description="Of what is sent.")
    output_usd_per_mtok: float = Field(ge=0, description="Of what comes back, thinking included.")
    dated: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$", description="The day the price was read, YYYY-MM-DD.")


class ModelConfig(Config):
    """One model under test. What is left out comes from the policy table for the model's id."""

    alias: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,40}$", description="Short name, used in paths.")
    id: str = Field(min_length=1, description="The name the provider knows it by.")
    served_by: Literal["embedded", "endpoint"] = Field(
        "endpoint", description="embedded: llama.cpp inside the run; endpoint: any server that speaks the wire."
    )
    wire: Wire = Field(
        "messages",
        description="messages: POST /v1/messages; chat: Chat Completions (vLLM, Ollama, llama.cpp, gateways); bedrock, "
        "vertex: Claude in these clouds.",
    )
    interface: Literal["reply", "tool"] = Field(
        "reply",
        description="How the command comes. reply: as the text that was asked for; tool: in a forced call.",
    )
    base_url: str | None = Field(
        None, description="Where the endpoint is; without /v1 for messages, with it for chat. Default: the wire's own."
    )
    region: str | None = Field(None, description="Of the cloud: bedrock and vertex need it.")
    project: str | None = Field(None, description="Of the cloud: vertex needs it.")
    api_key_env: str = Field(
        "ANTHROPIC_API_KEY", description="Environment variable that holds the key. Each other wire has its own default."
    )
    key_required: bool = Field(True, description="false for a server on your own machine that asks for none.")
    transport: Literal["messages", "batch"] = Field("messages", description="batch: half price, answers within a day.")
    temperature: float | Literal["provider-default"] | None = Field(
        None, description="A number is sent exactly; provider-default sends none; empty: the policy table's."
    )
    on_refused_temperature: Literal["stop", "provider-default"] = Field(
        "stop", description="What to do when the model refuses the temperature; the second goes for all its cells."
    )
    max_tokens: int | None = Field(None, ge=1, le=128_000, description="Empty: the policy table's.")
    thinking: dict[str, Any] | None = Field(None, description="Sent as it is; empty: the policy table's.")
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = Field(
        None, description="Sent as it is; empty: the policy table's."
    )
    extra_body: dict[str, Any] = Field(default_factory=dict, description="Further body fields for other servers.")
    extra_headers: dict[str, str] = Field(default_factory=dict, description="Further headers; never a key.")
    price: Price | None = Field(None, description="Empty: the policy table's.")
    requests_per_minute: int = Field(45, ge=1, description="Starts a minute, over all cells of the model.")
    in_flight: int = Field(4, ge=1, le=64, description="Requests under way at a time.")

    @model_validator(mode="before")
    @classmethod
    def _as_its_wire_has_it(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("served_by") == "embedded":
            values = values | {"wire": "chat"}  # llama.cpp's
        if isinstance(values, dict) and values.get("wire") in KEY_OF and "api_key_env" not in values:
            return values | {"api_key_env": KEY_OF[values["wire"]]}
        return values

    @field_validator("thinking", "extra_body", "extra_headers")
    @classmethod
    def _has_one_text(cls, value: Any) -> Any:
        try:
            alike = json.loads(canonical_json(value)) == value
        except ValueError:
            alike = False
        if not alike:
            raise ValueError("this is not JSON that every language reads alike: mind dates, .nan, and large numbers")
        return value

    @field_validator("temperature")
    @classmethod
    def _in_range(cls, value: object) -> object:
        if isinstance(value, float) and not 0 <= value <= 2:
            raise ValueError("a temperature lies between 0 and 2")
        return value
