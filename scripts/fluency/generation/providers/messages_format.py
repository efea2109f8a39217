"""The Messages API's bodies, addresses and headers, in and out. Pure."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from fluency.common.errors import UserError
from fluency.core.records import Outcome, Request, Usage
from fluency.generation.failure import from_status, unreadable
from fluency.generation.reply import Reading, count_or_none, storable, text_or_none

PROVIDER_URL = "https://api.anthropic.com"
LONGEST_HEADER_PAUSE_S = 90.0


def check_base_url(url: str, where: str) -> tuple[str, str]:
    """The address as the SDK wants it, and a note if it had to be corrected; UserError if it is none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError(f"this is not an address: {url}", where=where, hint="write http://host:port or https://host")
    if parts.username or parts.password or parts.query:
        raise UserError(
            "an address must not hold a name, a password or a query", where=where, hint="keys go into the environment"
        )
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
    return body


def read_message(raw: Any) -> Reading:
    """A decoded message; missing usage, model or stop reason become null; Failure if it is no message at all."""
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
    text = "".join(b["text"] for b in blocks if b.get("type") == "text" and isinstance(b.get("text"), str))
    return Reading(
        outcome=outcome_of(stop_reason, text),
        text=text,
        raw=raw,
        stop_reason=stop_reason,
        model_echoed=text_or_none(raw.get("model")),
        usage=_usage(raw.get("usage")),
    )


def outcome_of(stop_reason: str | None, text: str) -> Outcome:
    """refusal and truncated by the stop reason, empty by the text, ok otherwise, also for unknown reasons."""
    if stop_reason == "refusal":
        return "refusal"
    if stop_reason in ("max_tokens", "model_context_window_exceeded"):
        return "truncated"
    return "ok" if text.strip() else "empty"


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


def _usage(value: Any) -> Usage:
    usage = value if isinstance(value, dict) else {}
    details = usage.get("output_tokens_details")
    thinking = details.get("thinking_tokens") if isinstance(details, dict) else None
    return Usage(
        input_tokens=count_or_none(usage.get("input_tokens")),
        output_tokens=count_or_none(usage.get("output_tokens")),
        thinking_tokens=count_or_none(thinking),
    )
