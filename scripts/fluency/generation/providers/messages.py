"""The Messages wire, also in two clouds: bodies and headers through the anthropic SDK."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping
from typing import Any

from fluency.common.errors import UserError
from fluency.core.records import Request, ToolOffer
from fluency.core.study import ModelConfig
from fluency.generation.failure import from_error, unreadable
from fluency.generation.providers.sdk_provider import (
    LONGEST_HEADER_PAUSE_S,
    Provider,
    check_address,
)
from fluency.generation.reply import (
    Ends,
    Reading,
    command_of,
    count_or_none,
    outcome_of,
    storable,
    text_or_none,
    usage_of,
)

PROVIDER_URL = "https://api.anthropic.com"
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

    @staticmethod
    def address(model: ModelConfig, url: str | None, where: str) -> tuple[str, str]:
        given = check_address(PROVIDER_URL if url is None else url, where)
        bare = given.removesuffix("/messages").removesuffix("/v1").rstrip("/")
        return (
            bare,
            ""
            if bare == given
            else f"{where}: {url} is used as {bare} (the client adds /v1/messages)",
        )

    @staticmethod
    def read(message: Any, tool: ToolOffer | None) -> Reading:
        raw = storable(message)
        if not isinstance(raw, dict):
            raise unreadable("the reply is JSON but no message")
        if error := raw.get("error"):
            raise from_error(200, error, {})
        stop_reason = text_or_none(raw.get("stop_reason"))
        content = raw.get("content")
        if content is None and stop_reason == "refusal":
            content = []
        if not isinstance(content, list) or raw.get("type", "message") != "message":
            raise unreadable("the reply is JSON but no message")
        blocks = [block for block in content if isinstance(block, dict)]
        texts = (block.get("text") for block in blocks if block.get("type") == "text")
        text: str | None = "".join(part for part in texts if isinstance(part, str))
        if tool is not None:
            calls = [
                (block.get("name"), block.get("input"))
                for block in blocks
                if block.get("type") == "tool_use"
            ]
            text = command_of(calls, tool)
        return Reading(
            outcome=outcome_of(_STOPPED, stop_reason, text),
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

    def _open(self, http_client: Any) -> Any:
        return self._sdk.AsyncAnthropic(api_key=self.access.key, **self._options(http_client))

    def _endpoint(self) -> Any:
        return self.client.messages

    def _options(self, http_client: Any) -> dict[str, Any]:
        return {
            "base_url": self.access.base_url,
            "max_retries": 0,
            "open_telemetry": {
                "traces": False,
                "propagation": False,
            },  # they follow the environment, and cost
            "http_client": http_client,
        }

    @staticmethod
    def pause_s(headers: Mapping[str, str], now: dt.datetime | None = None) -> float:
        """Seconds to pause by the anthropic-ratelimit headers: until each exhausted limit is reset."""
        pause = 0.0
        for kind in ("requests", "tokens", "input-tokens", "output-tokens"):
            name = f"anthropic-ratelimit-{kind}"
            if headers.get(f"{name}-remaining", "").strip() != "0":
                continue
            try:
                reset = dt.datetime.fromisoformat(headers.get(f"{name}-reset", ""))
                seconds = (reset - (now or dt.datetime.now(dt.UTC))).total_seconds()
            except (ValueError, TypeError):
                continue
            pause = max(pause, seconds)
        return (
            min(pause, LONGEST_HEADER_PAUSE_S) * (1 + 0.1 * random.random()) if pause > 0 else 0.0
        )


class CloudProvider(MessagesProvider):
    """Claude in a cloud by a bearer key. The version of the API is in the body."""

    def _call(self, request: Request, seconds: float) -> Any:
        headers = dict(request.headers)
        body = {**request.extra_body, "anthropic_version": headers.pop("anthropic-version")}
        changed = request.model_copy(update={"extra_body": body, "headers": headers})
        return super()._call(changed, seconds)


class BedrockProvider(CloudProvider):
    """Amazon Bedrock: POST /model/{id}/invoke with a Bedrock API key."""

    @staticmethod
    def address(model: ModelConfig, url: str | None, where: str) -> tuple[str, str]:
        if model.api_key_env == "AWS_SECRET_ACCESS_KEY":
            what = "a pair of AWS keys cannot be used: requests are not signed"
            hint = (
                "make a Bedrock API key and put it into AWS_BEARER_TOKEN_BEDROCK, or use a gateway"
            )
            raise UserError(what, where=f"models: {model.alias}: api_key_env", hint=hint)
        region = _stated(model.region, "region", model)
        return check_address(url or f"https://bedrock-runtime.{region}.amazonaws.com", where), ""

    def _open(self, http_client: Any) -> Any:
        region = self.access.region
        return self._sdk.AsyncAnthropicBedrock(
            api_key=self.access.key, aws_region=region, **self._options(http_client)
        )


class VertexProvider(CloudProvider):
    """Google Vertex AI: POST …/models/{id}:rawPredict with an access token, valid for an hour."""

    @staticmethod
    def address(model: ModelConfig, url: str | None, where: str) -> tuple[str, str]:
        region = _stated(model.region, "region", model)
        _stated(model.project, "project", model)
        own = {"global": "aiplatform", "us": "aiplatform.us.rep", "eu": "aiplatform.eu.rep"}
        host = own.get(region, f"{region}-aiplatform")
        return check_address(url or f"https://{host}.googleapis.com/v1", where), ""

    def _open(self, http_client: Any) -> Any:
        place = {"region": self.access.region, "project_id": self.access.project}
        return self._sdk.AsyncAnthropicVertex(
            access_token=self.access.key, **place, **self._options(http_client)
        )


def body_of(request: Request) -> dict[str, Any]:
    """The JSON body of POST /v1/messages."""
    body: dict[str, Any] = {
        "model": request.model_id,
        "max_tokens": request.max_tokens,
        "messages": [{"role": "user", "content": request.prompt}],
        **request.extra_body,
    }
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.thinking is not None:
        body["thinking"] = request.thinking
    if request.effort is not None:
        body["output_config"] = {"effort": request.effort}
    if request.seed is not None:
        body["seed"] = request.seed
    if request.tool is not None:
        body["tools"] = [request.tool.model_dump()]
        body["tool_choice"] = {
            "type": "tool",
            "name": request.tool.name,
            "disable_parallel_tool_use": True,
        }
    return body


def cache_tokens(raw: Mapping[str, Any]) -> dict[str, int]:
    """Tokens of a message's prompt by what a cache did with them; `input_tokens` does not count these."""
    usage = raw.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    by_time = usage.get("cache_creation")
    hour = (
        count_or_none(by_time.get("ephemeral_1h_input_tokens"))
        if isinstance(by_time, dict)
        else None
    )
    written = count_or_none(usage.get("cache_creation_input_tokens")) or 0
    read = count_or_none(usage.get("cache_read_input_tokens")) or 0
    return {"write": max(0, written - (hour or 0)), "write_1h": hour or 0, "read": read}


def inference_geo(raw: Mapping[str, Any]) -> str | None:
    """Where the service says that an answer was computed; null if it does not."""
    usage = raw.get("usage")
    return text_or_none(usage.get("inference_geo")) if isinstance(usage, dict) else None


def _stated(value: str | None, key: str, model: ModelConfig) -> str:
    if not value:
        what, where = (
            f"a model of the wire {model.wire} needs a {key}",
            f"models: {model.alias}: {key}",
        )
        raise UserError(what, where=where, hint=f"add `{key}: …` to the model")
    return value
