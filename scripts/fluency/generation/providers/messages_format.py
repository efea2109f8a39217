"""The Messages API's bodies, addresses and headers, in and out. Pure."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping
from typing import Any

from fluency.core.records import Request, ToolOffer, Usage
from fluency.generation.failure import from_status, unreadable
from fluency.generation.providers.http_client import check_address
from fluency.generation.reply import Reading, Stopped, command_of, count_or_none, outcome_of, storable, text_or_none

PROVIDER_URL = "https://api.anthropic.com"
LONGEST_HEADER_PAUSE_S = 90.0
_STOPPED: Mapping[str, Stopped] = {
    "refusal": "refusal",
    "max_tokens": "truncated",
    "model_context_window_exceeded": "truncated",
}


def check_base_url(url: str, where: str) -> tuple[str, str]:
    """The address as the SDK wants it, and a note if it had to be corrected; UserError if it is none."""
    check_address(url, where)
    bare = url.rstrip("/").removesuffix("/messages").removesuffix("/v1").rstrip("/")
    note = "" if bare == url.rstrip("/") else f"{where}: {url} is used as {bare} (the client adds /v1/messages itself)"
    return bare, note


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
        body["tool_choice"] = {"type": "tool", "name": request.tool.name, "disable_parallel_tool_use": True}
    return body


def read_message(raw: Any, tool: ToolOffer | None = None) -> Reading:
    """A decoded message; missing usage, model or stop reason become null; Failure if it is no message at all.

    Where a call of `tool` was asked for, its command is the text.
    """
    raw = storable(raw)
    if not isinstance(raw, dict):
        raise unreadable("the reply is JSON but no message")
    if raw.get("type") == "error":
        said = raw.get("error")
        error = said if isinstance(said, dict) else {}
        raise from_status(200, str(error.get("type")), None, str(error.get("message")), {})
    stop_reason = text_or_none(raw.get("stop_reason"))
    content = raw.get("content")
    if content is None and stop_reason == "refusal":
        content = []
    if not isinstance(content, list) or raw.get("type", "message") != "message":
        raise unreadable("the reply is JSON but no message")
    blocks = [block for block in content if isinstance(block, dict)]
    text: str | None = "".join(b["text"] for b in blocks if b.get("type") == "text" and isinstance(b.get("text"), str))
    if tool is not None:
        text = command_of([(b.get("name"), b.get("input")) for b in blocks if b.get("type") == "tool_use"], tool)
    return Reading(
        outcome=outcome_of(_STOPPED.get(stop_reason or ""), text),
        text=text or "",
        raw=raw,
        stop_reason=stop_reason,
        model_echoed=text_or_none(raw.get("model")),
        usage=_usage(raw.get("usage")),
    )


def pause_of(headers: Mapping[str, str], now: dt.datetime | None = None) -> float:
    """Seconds to pause by the anthropic-ratelimit headers: until the reset of whatever has nothing remaining."""
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
    return min(pause, LONGEST_HEADER_PAUSE_S) * (1 + 0.1 * random.random()) if pause > 0 else 0.0


def cache_tokens(raw: Mapping[str, Any]) -> dict[str, int]:
    """Tokens of a message's prompt by what a cache did with them; `input_tokens` does not count these."""
    usage = raw.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    by_time = usage.get("cache_creation")
    hour = count_or_none(by_time.get("ephemeral_1h_input_tokens")) if isinstance(by_time, dict) else None
    written = count_or_none(usage.get("cache_creation_input_tokens")) or 0
    read = count_or_none(usage.get("cache_read_input_tokens")) or 0
    return {"write": max(0, written - (hour or 0)), "write_1h": hour or 0, "read": read}


def inference_geo(raw: Mapping[str, Any]) -> str | None:
    """Where the service says that an answer was computed; null if it does not."""
    usage = raw.get("usage")
    return text_or_none(usage.get("inference_geo")) if isinstance(usage, dict) else None


def _usage(value: Any) -> Usage:
    usage = value if isinstance(value, dict) else {}
    details = usage.get("output_tokens_details")
    thinking = details.get("thinking_tokens") if isinstance(details, dict) else None
    return Usage(
        input_tokens=count_or_none(usage.get("input_tokens")),
        output_tokens=count_or_none(usage.get("output_tokens")),
        thinking_tokens=count_or_none(thinking),
    )
