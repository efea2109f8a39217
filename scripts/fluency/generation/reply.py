"""What came back: a reply's bytes decoded, and the parts of its message read."""

import json
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from fluency.common.canonical import EXACT
from fluency.common.data_file import data_file
from fluency.common.files import JsonObject
from fluency.core.records import Outcome, ToolOffer, Usage
from fluency.generation.failure import THINKING_HINT, Failure, unreadable

ARGUMENT = "command"
"""The one argument of the tool that a model must call."""
MOST_LEVELS = 64
DEEPER = f"[nested more than {MOST_LEVELS} levels deep]"
_SURROGATE = re.compile("[\ud800-\udfff]")
_TABLE = data_file(__file__)
ENDS: dict[str, Outcome] = {end: kind for kind, ends in _TABLE["ends"].items() for end in ends}


class MessageParts(NamedTuple):
    """The parts of an answer that come from the message; `raw` is the message in storable form."""

    outcome: Outcome
    text: str
    raw: JsonObject
    stop_reason: str | None
    model_echoed: str | None
    usage: Usage


def decode(body: bytes) -> Any:
    """The JSON value in a reply's body; `unreadable` if it is not JSON."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise unreadable("the reply is not UTF-8", body) from None
    try:
        return json.loads(text, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        kind = "a web page" if text.lstrip()[:1] == "<" else "broken JSON"
        raise unreadable(f"the reply is {kind}, not a message", body) from None


def outcome_of(end: str | None, text: str | None) -> Outcome:
    """How a reply ended; Failure for an end that is not among the model's own.

    `text` is null where the tool call that was asked for is missing or has another form.
    """
    outcome = ENDS.get((end or "").lower())
    if outcome is None:
        what = f"the service ended the reply, not the model: {end or 'it names no reason'}"
        raise Failure(what[:300], billed=True)
    if outcome != "ok":
        return outcome
    if text is None:
        return "no-call"
    return "ok" if text.strip() else "empty"


def command_of(calls: Sequence[tuple[Any, Any]], tool: ToolOffer) -> str | None:
    """The command in a reply's calls (name, arguments); null unless one call holds it alone.

    The arguments may be JSON in a text, also twice.
    """
    if len(calls) != 1 or calls[0][0] != tool.name:
        return None
    arguments = calls[0][1]
    for _ in range(2):
        if isinstance(arguments, str):
            with suppress(Failure):
                arguments = storable(decode(arguments.encode()))
    arguments = dict_or_empty(arguments)
    return text_or_none(arguments[ARGUMENT]) if list(arguments) == [ARGUMENT] else None


class Said(NamedTuple):
    """What a wire finds in a reply.

    Attributes:
        parts: The message and the parts of its content, as far as they may hold thinking.
        text: Its texts, joined.
        calls: Names and arguments of its calls.
        end: How it ended, in the service's word.
        refused: Whether the model refuses in words.
    """

    parts: list[Any]
    text: str
    calls: list[tuple[Any, Any]]
    end: str | None
    refused: bool = False


def parts_of(
    raw: JsonObject, said: Said, tool: ToolOffer | None, counts: Sequence[str]
) -> MessageParts:
    """The parts of an answer; Failure for silence that is not the model's own.

    `counts`: what the wire calls the tokens in and out, their details, and the thinking in these.
    """
    text = said.text if tool is None else command_of(said.calls, tool)
    outcome = "refusal" if said.refused else outcome_of(said.end, text)
    usage = dict_or_empty(raw.get("usage"))
    sent, received, details, thinking = counts
    thought = _count_or_none(dict_or_empty(usage.get(details)).get(thinking))
    given, made, total = (_count_or_none(usage.get(n)) for n in (sent, received, "total_tokens"))
    if made is not None:  # some services count thinking only in the total, or next to the answer
        made = max(made, total - given) if total and given else made
        made += thought if thought and thought > made else 0
    if outcome in ("empty", "no-call") and not said.text.strip() and not said.calls:
        _check_silence(said.parts, (made or 0) - (thought or 0))
    tokens = Usage(input_tokens=given, output_tokens=made, thinking_tokens=thought)
    return MessageParts(outcome, text or "", raw, said.end, text_or_none(raw.get("model")), tokens)


def _check_silence(parts: Sequence[Any], tokens: int) -> None:
    for part in map(dict_or_empty, parts):
        for name in _TABLE["thoughts"]:
            if part.get(name) or (part.get("type") == name and part.get("text")):
                what = f"the server put the whole reply into `{name}` and left the answer empty"
                raise Failure(what, scope="cell", billed=True, hint=THINKING_HINT)
    if tokens <= 0:
        what = "the reply is empty, and the service counted no tokens of an answer"
        raise Failure(what, billed=True)
    if any(dict_or_empty(part).get("content", "") is None for part in parts):
        raise Failure("the server sent `content: null`", billed=True)  # vLLM's parser lost it


def joined(parts: Sequence[Any]) -> str:
    """The texts in the parts of a message."""
    blocks = [part for part in map(dict_or_empty, parts) if part.get("type") == "text"]
    return "".join(text_or_none(block.get("text")) or "" for block in blocks)


def _count_or_none(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def dict_or_empty(value: Any) -> JsonObject:
    """An object; empty for anything else."""
    return value if isinstance(value, dict) else {}


def list_or_empty(value: Any) -> list[Any]:
    """A list; empty for anything else."""
    return value if isinstance(value, list) else []


def text_or_none(value: Any) -> str | None:
    """A text; None for anything else."""
    return value if isinstance(value, str) else None


def storable(value: Any, levels: int = MOST_LEVELS) -> Any:
    """The value as canonical JSON can hold it.

    Lone surrogates become U+FFFD, numbers beyond EXACT texts, and what nests more than `levels`
    deep DEEPER.
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
