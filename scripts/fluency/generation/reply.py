"""What came back: a reply's bytes decoded, and its reading made into the answer that the store keeps. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fluency.common.canonical import EXACT
from fluency.core.records import Answer, Outcome, Request, ToolOffer, Usage
from fluency.generation.failure import unreadable

ARGUMENT = "command"
"""The one argument of a tool whose call is asked for: a text."""
MOST_LEVELS = 64
DEEPER = f"[nested more than {MOST_LEVELS} levels deep]"
_SURROGATE = re.compile("[\ud800-\udfff]")


Stopped = Literal["refusal", "truncated"]
"""How a reply can end before its end."""


@dataclass(frozen=True)
class Reading:
    """A message as an answer holds it; `raw` as the service sent it, in storable form."""

    outcome: Outcome
    text: str
    raw: dict[str, Any]
    stop_reason: str | None
    model_echoed: str | None
    usage: Usage


def decode(body: bytes) -> Any:
    """The JSON value in a reply's body; Failure with `unreadable` if there is none."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise unreadable("the reply is not UTF-8", body) from None
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError):
        kind = "a web page" if text.lstrip()[:1] == "<" else "broken JSON"
        raise unreadable(f"the reply is {kind}, not a message", body) from None


def outcome_of(stopped: Stopped | None, text: str | None) -> Outcome:
    """How a reply ended, else by its text: null where a tool call was asked for and is not there in its form."""
    if stopped is not None:
        return stopped
    if text is None:
        return "no-call"
    return "ok" if text.strip() else "empty"


def command_of(calls: Sequence[tuple[Any, Any]], tool: ToolOffer) -> str | None:
    """The command in a reply's calls (name, arguments): null unless it is one call of the tool with it alone."""
    if len(calls) != 1 or calls[0][0] != tool.name:
        return None
    arguments = calls[0][1]
    alike = isinstance(arguments, dict) and arguments.keys() == tool.input_schema["properties"].keys()
    return text_or_none(arguments[ARGUMENT]) if alike else None


def answer_of(key: str, request: Request, reading: Reading, note: Mapping[str, Any]) -> Answer:
    """An answer from a message and facts about its call (latency, attempts, time, server)."""
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


def count_or_none(value: Any) -> int | None:
    """A number of tokens, or None for whatever else a server put there."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def text_or_none(value: Any) -> str | None:
    """A text, or None for whatever else a server put there."""
    return value if isinstance(value, str) else None


def storable(value: Any, levels: int = MOST_LEVELS) -> Any:
    """The same value as canonical JSON gives it back, as far down as a message goes.

    Lone surrogates are U+FFFD, numbers beyond EXACT are texts, and what nests more than `levels` deep is DEEPER.
    """
    if isinstance(value, str):
        return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, list | dict) and not levels:
        return DEEPER
    if isinstance(value, list):
        return [storable(item, levels - 1) for item in value]
    if isinstance(value, dict):
        return {storable(name): storable(item, levels - 1) for name, item in value.items()}
    return str(value) if isinstance(value, int | float) and not abs(value) <= EXACT else value


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number beyond all bounds")
    return number


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
