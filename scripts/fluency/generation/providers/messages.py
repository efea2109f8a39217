"""The Messages wire, also in two clouds: bodies and headers through the anthropic SDK."""

from __future__ import annotations

from typing import Any

from fluency.common.errors import UserError
from fluency.core.records import Request, ToolOffer
from fluency.core.study import ModelConfig
from fluency.generation.failure import from_reply, no_message, only_thinking
from fluency.generation.providers.sdk_provider import Provider, check_address, common_body
from fluency.generation.reply import (
    Ends,
    MessageParts,
    command_of,
    dict_or_empty,
    joined,
    outcome_of,
    parts_of,
    storable,
    text_or_none,
)

_STOPPED: Ends = {
    "end_turn": None,
    "stop_sequence": None,
    "tool_use": None,
    "refusal": "refusal",
    "max_tokens": "truncated",
    "model_context_window_exceeded": "truncated",
}
_COUNTS = ("input_tokens", "output_tokens", "output_tokens_details", "thinking_tokens")
NO_TRACES = {"open_telemetry": {"traces": False, "propagation": False}}
"""Else they follow the environment, and cost."""


class MessagesProvider(Provider):
    """The provider's own service, gateways, and any other server with POST /v1/messages."""

    sdk_name, client, asks = "anthropic", "AsyncAnthropic", "messages"
    own_url, adds = "https://api.anthropic.com", "/v1/messages"
    endings = ("/messages", "/v1")

    @staticmethod
    def read(message: Any, tool: ToolOffer | None) -> MessageParts:
        value = storable(message)
        raw = dict_or_empty(value)
        if raw.get("error"):
            raise from_reply(200, raw, {})
        stop_reason = text_or_none(raw.get("stop_reason"))
        content = raw.get("content")
        if content is None and stop_reason == "refusal":
            content = []
        if not isinstance(content, list) or raw.get("type", "message") != "message":
            raise no_message(value)
        blocks = [block for block in content if isinstance(block, dict)]
        text: str | None = joined(blocks)
        if tool is not None:
            used = [block for block in blocks if block.get("type") == "tool_use"]
            text = command_of([(call.get("name"), call.get("input")) for call in used], tool)
        outcome = outcome_of(_STOPPED, stop_reason, text)
        if (
            outcome in ("empty", "no-call")
            and blocks
            and all(block.get("thinking") for block in blocks)
        ):
            raise only_thinking("thinking")
        return parts_of(raw, outcome, text, stop_reason, _COUNTS)

    def body(self, request: Request) -> dict[str, Any]:
        body = common_body(request)
        if request.thinking is not None:
            body["thinking"] = request.thinking
        if request.effort is not None:
            body["output_config"] = {"effort": request.effort}
        if request.tool is not None:
            body["tools"] = [request.tool.model_dump()]
            body["tool_choice"] = {
                "type": "tool",
                "name": request.tool.name,
                "disable_parallel_tool_use": True,
            }
        return body

    def access(self) -> dict[str, Any]:
        return super().access() | NO_TRACES


class CloudProvider(MessagesProvider):
    """Claude in a cloud by a bearer key. The version of the API is in the body."""

    def body(self, request: Request) -> dict[str, Any]:
        return super().body(request) | {"anthropic_version": request.headers["anthropic-version"]}

    def headers(self, request: Request) -> dict[str, str]:
        return {k: v for k, v in request.headers.items() if k != "anthropic-version"}


class BedrockProvider(CloudProvider):
    """Amazon Bedrock: POST /model/{id}/invoke with a Bedrock API key."""

    client = "AsyncAnthropicBedrock"

    @staticmethod
    def address(model: ModelConfig, url: str | None, where: str) -> tuple[str, str]:
        own = f"https://bedrock-runtime.{_stated(model, 'region')}.amazonaws.com"
        return check_address(url or own, where), ""

    def access(self) -> dict[str, Any]:
        return super().access() | {"aws_region": self.model.region}


class VertexProvider(CloudProvider):
    """Google Vertex AI: POST …/models/{id}:rawPredict with an access token, valid for an hour."""

    client = "AsyncAnthropicVertex"

    @staticmethod
    def address(model: ModelConfig, url: str | None, where: str) -> tuple[str, str]:
        region, _ = _stated(model, "region"), _stated(model, "project")
        own = {"global": "aiplatform", "us": "aiplatform.us.rep", "eu": "aiplatform.eu.rep"}
        host = own.get(region, f"{region}-aiplatform")
        return check_address(url or f"https://{host}.googleapis.com/v1", where), ""

    def access(self) -> dict[str, Any]:
        place = {"region": self.model.region, "project_id": self.model.project}
        return {"access_token": self.key, **place, **NO_TRACES}


def _stated(model: ModelConfig, key: str) -> str:
    """A key that the cloud needs; UserError if the model's entry lacks it."""
    if not (value := getattr(model, key)):
        what, where = f"the wire {model.wire} needs a {key}", f"models: {model.alias}: {key}"
        raise UserError(what, where=where, hint=f"add `{key}: …` to the model")
    return str(value)
