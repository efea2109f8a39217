"""The Messages wire: bodies and headers in and out, single calls and batches, through the anthropic SDK."""

from __future__ import annotations

import datetime as dt
import random
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any

from fluency.core.records import Request, ToolOffer
from fluency.core.study import ModelConfig
from fluency.generation.failure import Failure, from_error, unreadable
from fluency.generation.providers.sdk_provider import (
    LONGEST_HEADER_PAUSE_S,
    Provider,
    bounded,
    check_address,
)
from fluency.generation.reply import (
    Reading,
    Stopped,
    command_of,
    count_or_none,
    decode,
    outcome_of,
    storable,
    text_or_none,
    usage_of,
)

PROVIDER_URL = "https://api.anthropic.com"
_STOPPED: Mapping[str, Stopped] = {
    "refusal": "refusal",
    "max_tokens": "truncated",
    "model_context_window_exceeded": "truncated",
}
BATCH_CALL_S = 600.0


class MessagesProvider(Provider):
    """The provider's own service, gateways, and any other server with POST /v1/messages."""

    sdk_name = "anthropic"
    takes_batches = True

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
        """Missing usage, model or stop reason become null; with a `tool`, the command of its call is the text."""
        raw = storable(message)
        if not isinstance(raw, dict):
            raise unreadable("the reply is JSON but no message")
        if raw.get("type") == "error":
            error = raw.get("error")
            raise from_error(200, error if isinstance(error, dict) else {}, {})
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
            outcome=outcome_of(_STOPPED.get(stop_reason or ""), text),
            text=text or "",
            raw=raw,
            stop_reason=stop_reason,
            model_echoed=text_or_none(raw.get("model")),
            usage=usage_of(
                raw, "input_tokens", "output_tokens", "output_tokens_details", "thinking_tokens"
            ),
        )

    def prepare(self, request: Request, seconds: float) -> AbstractContextManager[Any]:
        fields = body_of(request)
        known = {name: fields.pop(name) for name in ("model", "max_tokens", "messages")}
        call: AbstractContextManager[Any] = self.client.messages.with_streaming_response.create(
            **known,
            extra_body=fields,
            extra_headers=request.headers,
            timeout=self._timeout(seconds),
        )
        return call

    def _open(self, http_client: Any) -> Any:
        return self._sdk.Anthropic(api_key=self.access.key, **self._options(http_client))

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

    # ------------------------------------------------------------ batches; every call may raise Failure

    def create_batch(self, requests: Mapping[str, Request]) -> str:
        """Order a batch of requests by their keys, with the version header that they share; its id."""
        orders = [
            {"custom_id": key, "params": body_of(request)} for key, request in requests.items()
        ]
        headers = next(iter(requests.values())).headers
        batch_id = self._batch_call("create", requests=orders, extra_headers=headers).get("id")
        if not isinstance(batch_id, str) or not batch_id:
            raise unreadable("the reply to an order holds no id")
        return batch_id

    def batch_has_ended(self, batch_id: str) -> bool:
        """Whether the results are there; a Failure of status 404 if the service does not know the batch."""
        return bool(
            self._batch_call("retrieve", message_batch_id=batch_id).get("processing_status")
            == "ended"
        )

    def batch_results(self, batch_id: str) -> dict[str, Any]:
        """The messages of a batch that has ended, by key; null where a request was not answered.

        Lines that cannot be read are left out.
        """
        results: dict[str, Any] = {}
        parts: list[bytes] = []
        failure = None
        try:
            with self._batches.results(batch_id, timeout=self._timeout(BATCH_CALL_S)) as response:
                for chunk in bounded(
                    response.http_response, time.monotonic() + BATCH_CALL_S, by_line=True
                ):
                    parts.append(chunk)
                    if b"\n" in chunk:
                        *lines, rest = b"".join(parts).split(b"\n")
                        self._read_results(lines, results)
                        parts = [rest]
                self._read_results([b"".join(parts)], results)
        except Exception as error:
            failure = self._failure(error)
        if failure is not None:
            raise failure
        return results

    def _read_results(self, lines: list[bytes], results: dict[str, Any]) -> None:
        for line in lines:
            self._check_for_key(line)
            with suppress(Failure, ValueError, KeyError, TypeError):
                entry = decode(line)
                result = entry["result"]
                results[str(entry["custom_id"])] = (
                    result["message"] or {} if result["type"] == "succeeded" else None
                )

    def _batch_call(self, name: str, **fields: Any) -> dict[str, Any]:
        call = getattr(self._batches, name)(**fields, timeout=self._timeout(BATCH_CALL_S))
        value = decode(self.send(call, BATCH_CALL_S).body)
        return value if isinstance(value, dict) else {}

    @property
    def _batches(self) -> Any:
        return self.client.messages.batches.with_streaming_response


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
