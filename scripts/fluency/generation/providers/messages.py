"""The Messages wire, also in two clouds: bodies and headers through the anthropic SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fluency.common.errors import UserError
from fluency.core.records import Request, ToolOffer
from fluency.core.study import ModelConfig
from fluency.generation.failure import from_error, no_message, only_thinking
from fluency.generation.providers.sdk_provider import Provider, check_address, common_body
from fluency.generation.reply import (
    Ends,
    MessageParts,
    command_of,
    dict_or_empty,
    joined,
    outcome_of,
    storable,
    text_or_none,
    usage_of,
)

_STOPPED: Ends = {
    "end_turn": None,
    "stop_sequence": None,
    "tool_use": None,
    "refusal": "refusal",
    "max_tokens": "truncated",
    "model_context_window_exceeded": "truncated",
}


class MessagesProvider(Provider):
    """The provider's own service, gateways, and any other server with POST /v1/messages."""

    sdk_name = "anthropic"
    own_url, adds = "https://api.anthropic.com", "/v1/messages"
    endings = ("/messages", "/v1")

    @staticmethod
    def read(message: Any, tool: ToolOffer | None) -> MessageParts:
        value = storable(message)
        raw = dict_or_empty(value)
        if error := raw.get("error"):
            raise from_error(200, error, {})
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
        return MessageParts(
            outcome=outcome,
            text=text or "",
            raw=raw,
            stop_reason=stop_reason,
            model_echoed=text_or_none(raw.get("model")),
            usage=usage_of(
                raw, "input_tokens", "output_tokens", "output_tokens_details", "thinking_tokens"
            ),
        )

    def body(self, request: Request) -> dict[str, Any]:
        return body_of(request)

    def _open(self, http_client: Any) -> tuple[Any, Any]:
        return self._with_messages(self._sdk.AsyncAnthropic, http_client, api_key=self.key)

    def _with_messages(self, kind: Any, http_client: Any, **access: Any) -> tuple[Any, Any]:
        # Traces follow the environment, and cost.
        client = kind(
            base_url=self.url,
            max_retries=0,
            open_telemetry={"traces": False, "propagation": False},
            http_client=http_client,
            **access,
        )
        return client, client.messages


class CloudProvider(MessagesProvider):
    """Claude in a cloud by a bearer key. The version of the API is in the body."""

    def body(self, request: Request) -> dict[str, Any]:
        return body_of(request) | {"anthropic_version": request.headers["anthropic-version"]}

    def headers(self, request: Request) -> dict[str, str]:
        return {k: v for k, v in request.headers.items() if k != "anthropic-version"}


class BedrockProvider(CloudProvider):
    """Amazon Bedrock: POST /model/{id}/invoke with a Bedrock API key."""

    @staticmethod
    def address(model: ModelConfig, url: str | None, where: str) -> tuple[str, str]:
        own = f"https://bedrock-runtime.{_stated(model, 'region')}.amazonaws.com"
        return check_address(url or own, where), ""

    def _open(self, http_client: Any) -> tuple[Any, Any]:
        access = {"api_key": self.key, "aws_region": self.model.region}
        return self._with_messages(self._sdk.AsyncAnthropicBedrock, http_client, **access)


class VertexProvider(CloudProvider):
    """Google Vertex AI: POST …/models/{id}:rawPredict with an access token, valid for an hour."""

    @staticmethod
    def address(model: ModelConfig, url: str | None, where: str) -> tuple[str, str]:
        region, _ = _stated(model, "region"), _stated(model, "project")
        own = {"global": "aiplatform", "us": "aiplatform.us.rep", "eu": "aiplatform.eu.rep"}
        host = own.get(region, f"{region}-aiplatform")
        return check_address(url or f"https://{host}.googleapis.com/v1", where), ""

    def _open(self, http_client: Any) -> tuple[Any, Any]:
        access = {"access_token": self.key, "region": self.model.region}
        access["project_id"] = self.model.project
        return self._with_messages(self._sdk.AsyncAnthropicVertex, http_client, **access)


def body_of(request: Request) -> dict[str, Any]:
    """The JSON body of POST /v1/messages."""
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


def used_cache(raw: Mapping[str, Any]) -> bool:
    """Whether the service wrote a part of the prompt into its cache, or read it there."""
    names = ("cache_creation_input_tokens", "cache_read_input_tokens")
    return any(map(dict_or_empty(raw.get("usage")).get, names))


def _stated(model: ModelConfig, key: str) -> str:
    """A key that the cloud needs; UserError if the model's entry lacks it."""
    if not (value := getattr(model, key)):
        what, where = f"the wire {model.wire} needs a {key}", f"models: {model.alias}: {key}"
        raise UserError(what, where=where, hint=f"add `{key}: …` to the model")
    return str(value)
