"""The Messages wire, also in two clouds: bodies and headers through the anthropic SDK."""

from typing import Any, cast

from fluency.common.files import JsonObject
from fluency.core.records import Request, ToolOffer
from fluency.core.study import ModelConfig
from fluency.generation.failure import no_message, refuse_failed
from fluency.generation.providers.sdk_provider import Provider
from fluency.generation.reply import (
    MessageParts,
    Said,
    dict_or_empty,
    joined,
    parts_of,
    storable,
    text_or_none,
)

_COUNTS = ("input_tokens", "output_tokens", "output_tokens_details", "thinking_tokens")
NO_TRACES: JsonObject = {"open_telemetry": {"traces": False, "propagation": False}}
"""Else they follow the environment, and cost."""


class MessagesProvider(Provider):
    """The provider's own service, gateways, and any other server with POST /v1/messages."""

    sdk = "anthropic"
    adds = "/v1/messages"
    endings: tuple[str, ...] = ("/messages", "/v1")
    service = "https://api.anthropic.com"

    def connect(self, **options: Any) -> Any:
        from anthropic import AsyncAnthropic

        return AsyncAnthropic(api_key=self.key, **NO_TRACES, **options).messages

    @staticmethod
    def conversation(raw: JsonObject, tool: ToolOffer | None, text: str) -> list[JsonObject]:
        blocks, said = raw["content"], cast(Any, text)
        if tool is not None:
            used = (dict_or_empty(block) for block in blocks)
            call = next(block for block in used if block.get("type") == "tool_use")
            said = [{"type": "tool_result", "tool_use_id": call.get("id"), "content": text}]
        return [{"role": "assistant", "content": blocks}, {"role": "user", "content": said}]

    @staticmethod
    def read(message: Any, tool: ToolOffer | None) -> MessageParts:
        value = storable(message)
        raw = dict_or_empty(value)
        refuse_failed(raw)
        end, content = text_or_none(raw.get("stop_reason")), raw.get("content")
        if content is None and end == "refusal":
            content = []
        if not isinstance(content, list) or raw.get("type", "message") != "message":
            raise no_message(value)
        blocks = [block for block in content if isinstance(block, dict)]
        used = [block for block in blocks if block.get("type") == "tool_use"]
        calls = [(call.get("name"), call.get("input")) for call in used]
        return parts_of(raw, Said(blocks, joined(blocks), calls, end), tool, _COUNTS)

    def body(self, request: Request) -> JsonObject:
        body = super().body(request)
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


class CloudProvider(MessagesProvider):
    """Claude in a cloud by a bearer key. The version of the API is in the body."""

    endings = ()

    def body(self, request: Request) -> JsonObject:
        return super().body(request) | {"anthropic_version": request.headers["anthropic-version"]}

    def headers(self, request: Request) -> dict[str, str]:
        return {k: v for k, v in request.headers.items() if k != "anthropic-version"}


class BedrockProvider(CloudProvider):
    """Amazon Bedrock: POST /model/{id}/invoke with a Bedrock API key."""

    service = "https://bedrock-runtime.{region}.amazonaws.com"

    def connect(self, **options: Any) -> Any:
        from anthropic import AsyncAnthropicBedrock

        place: JsonObject = {"aws_region": self.model.region}
        return AsyncAnthropicBedrock(api_key=self.key, **place, **NO_TRACES, **options).messages


class VertexProvider(CloudProvider):
    """Google Vertex AI: POST …/models/{id}:rawPredict with an access token, valid for an hour."""

    def connect(self, **options: Any) -> Any:
        from anthropic import AsyncAnthropicVertex

        place: JsonObject = {"region": self.model.region, "project_id": self.model.project}
        return AsyncAnthropicVertex(access_token=self.key, **place, **NO_TRACES, **options).messages

    @classmethod
    def home(cls, model: ModelConfig) -> str:
        area = {"global": "aiplatform", "us": "aiplatform.us.rep", "eu": "aiplatform.eu.rep"}
        host = area.get(model.region or "", f"{model.region}-aiplatform")
        return f"https://{host}.googleapis.com/v1"
