"""What came back: a reply read into an answer's parts, or a failure with what it means for the other calls. Pure."""

from __future__ import annotations

import email.utils
import json
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fluency.common.canonical import EXACT
from fluency.core.records import Answer, Outcome, Request, Usage

Scope = Literal["retry", "cell", "model", "run", "temperature"]
SPEND_CODES = frozenset(
    {
        "enforced_spend_limit_reached",
        "contract_spend_limit_reached",
        "linked_organization_spend_limit_reached",
        "linked_organization_billing_unavailable",
    }
)
_SURROGATE = re.compile("[\ud800-\udfff]")
RETRIED = frozenset({408, 409, 425, 429, 499})


class Failure(Exception):
    """A call without an answer.

    scope: retry (this call, later) · cell (this cell stays missing) · model, run (no further call of the model, of
    the run) · temperature (the model refuses the parameter). `unreadable`: a reply came, maybe billed, of no use.
    """

    def __init__(
        self,
        what: str,
        *,
        scope: Scope,
        hint: str = "",
        retry_after: float | None = None,
        slow_down: bool = False,
        unreadable: bool = False,
        status: int | None = None,
    ) -> None:
        super().__init__(what)
        self.what, self.scope, self.hint = what, scope, hint
        self.retry_after, self.slow_down, self.unreadable = retry_after, slow_down, unreadable
        self.status = status


@dataclass(frozen=True)
class Reading:
    """A message as an answer holds it."""

    outcome: Outcome
    text: str
    raw: dict[str, Any]
    stop_reason: str | None
    model_echoed: str | None
    usage: Usage


def read_reply(body: bytes) -> Reading:
    """A reply's body as a message; Failure with `unreadable` if it is none."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise _unreadable("the reply is not UTF-8", body) from None
    try:
        raw = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError):
        kind = "a web page" if text.lstrip()[:1] == "<" else "broken JSON"
        raise _unreadable(f"the reply is {kind}, not a message", body) from None
    return read_message(raw)


def read_message(raw: Any) -> Reading:
    """A decoded message; missing usage, model or stop reason become null; Failure if it is no message at all."""
    raw = _storable(raw)
    if not isinstance(raw, dict):
        raise _unreadable("the reply is JSON but no message")
    if raw.get("type") == "error":
        error = raw.get("error") if isinstance(raw.get("error"), dict) else {}
        raise from_status(200, str(error.get("type")), None, str(error.get("message")), {})
    stop_reason = _text_or_none(raw.get("stop_reason"))
    content = raw.get("content")
    if content is None and stop_reason == "refusal":
        content = []
    if not isinstance(content, list) or raw.get("type", "message") != "message":
        raise _unreadable("the reply is JSON but no message")
    blocks = [block for block in content if isinstance(block, dict)]
    text = "".join(b["text"] for b in blocks if b.get("type") == "text" and isinstance(b.get("text"), str))
    return Reading(
        outcome=outcome_of(stop_reason, text),
        text=text,
        raw=raw,
        stop_reason=stop_reason,
        model_echoed=_text_or_none(raw.get("model")),
        usage=_usage(raw.get("usage")),
    )


def answer_of(key: str, request: Request, body: bytes, note: Mapping[str, Any]) -> Answer:
    """An answer from a reply and what was noted beside it (latency, attempts, time, server); Failure if unreadable."""
    return answer_from(key, request, read_reply(body), note)


def answer_from(key: str, request: Request, reading: Reading, note: Mapping[str, Any]) -> Answer:
    """An answer from a message that has been read."""
    return Answer(
        request_key=key,
        request=request,
        outcome=reading.outcome,
        text=reading.text,
        raw=reading.raw,
        stop_reason=reading.stop_reason,
        model_echoed=reading.model_echoed,
        usage=reading.usage,
        **note,
    )


def outcome_of(stop_reason: str | None, text: str) -> Outcome:
    """refusal and truncated by the stop reason, empty by the text, ok otherwise, also for unknown reasons."""
    if stop_reason == "refusal":
        return "refusal"
    if stop_reason in ("max_tokens", "model_context_window_exceeded"):
        return "truncated"
    return "ok" if text.strip() else "empty"


def from_status(
    status: int, kind: str | None, code: str | None, message: str | None, headers: Mapping[str, str]
) -> Failure:
    """What an error reply means: `kind`, `code` and `message` are the API's error type, error_code and words."""
    said = f"{status}{f' {kind}' if kind and kind != 'None' else ''}: {(message or 'no words').strip()[:300]}"
    words = (message or "").lower()
    if code in SPEND_CODES or "credit balance" in words or kind == "billing_error" or status == 402:
        hint = "raise the limit or buy credit with the provider; then run again, nothing bought is lost"
        return Failure(f"the account's money is spent: {said}", scope="run", hint=hint)
    if status == 401 or kind == "authentication_error":
        return Failure(f"the key was not accepted: {said}", scope="run", hint="check the key in the environment")
    if status == 403 or kind == "permission_error":
        hint = "check what the key may do, or leave the model out"
        return Failure(f"the key may not do this: {said}", scope="run", hint=hint)
    if status == 404:
        hint = "check the model's `id` and `base_url`"
        return Failure(f"there is no such model or address: {said}", scope="model", hint=hint, status=404)
    if status == 400 and "temperature" in words:
        hint = (
            "put `temperature: provider-default` into the model's entry, or `on_refused_temperature: "
            "provider-default` to let the run decide it for all of the model's cells"
        )
        return Failure(f"the model refuses the temperature: {said}", scope="temperature", hint=hint)
    kind_retried = kind in ("overloaded_error", "api_error", "rate_limit_error", "timeout_error")
    if (status in RETRIED or status >= 500 or kind_retried) and headers.get("x-should-retry") != "false":
        slow = status in (429, 503, 529) or kind in ("overloaded_error", "rate_limit_error")
        pause = retry_after(headers)
        return Failure(said, scope="retry", retry_after=pause, slow_down=slow, unreadable=status == 200)
    if status == 200:
        return Failure(f"the reply is an error: {said}", scope="retry", unreadable=True)
    return Failure(f"the request was refused: {said}", scope="cell", hint="see the service's words above")


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds the service asks to wait (retry-after-ms, or retry-after as seconds or date); null if it does not."""
    with_ms = headers.get("retry-after-ms")
    value = headers.get("retry-after")
    try:
        seconds = float(with_ms) / 1000 if with_ms else float(value) if value else None
    except ValueError:
        try:
            date = email.utils.parsedate_to_datetime(value or "")
        except (ValueError, TypeError, IndexError):
            return None
        seconds = date.timestamp() - (time.time() if now is None else now)
    return None if seconds is None or math.isnan(seconds) else max(0.0, seconds)


def _unreadable(what: str, body: bytes = b"") -> Failure:
    start = body[:80].decode("ascii", "replace").replace("\n", " ").strip()
    return Failure(f"{what}{f': {start!r}' if start else ''}", scope="retry", unreadable=True)


def _usage(value: Any) -> Usage:
    usage = value if isinstance(value, dict) else {}
    details = usage.get("output_tokens_details")
    thinking = details.get("thinking_tokens") if isinstance(details, dict) else None
    return Usage(
        input_tokens=_count(usage.get("input_tokens")),
        output_tokens=_count(usage.get("output_tokens")),
        thinking_tokens=_count(thinking),
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _storable(value: Any) -> Any:
    """The same value as canonical JSON gives it back: lone surrogates are U+FFFD, numbers beyond EXACT are texts."""
    if isinstance(value, str):
        return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {_storable(name): _storable(item) for name, item in value.items()}
    return str(value) if isinstance(value, int | float) and not abs(value) <= EXACT else value


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number beyond all bounds")
    return number


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
