"""Between the Messages API and llama.cpp's chat completions: pure translation, no input or output.

llama.cpp has a POST /v1/messages of its own, but it drops `seed` on the way (of the sampling fields it
passes on temperature, top_p and top_k only), so that no answer could be drawn again. This translation
passes every sampling field on, and turns the prompt cache off unless it is asked for: with it, the same
prompt and seed give another text depending on what was asked before.
"""

from __future__ import annotations

import uuid
from typing import Any

_TRANSLATED = {"model", "messages", "system", "max_tokens", "stop_sequences", "stream"}
_WITHOUT_MEANING_HERE = {"metadata", "service_tier", "thinking", "output_config"}
_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens"}
_ERROR_TYPES = {400: "invalid_request_error", 404: "not_found_error", 413: "request_too_large"}


def to_chat(body: Any) -> dict[str, Any]:
    """The chat-completions request of a Messages request; ValueError says what is wrong with it."""
    if not isinstance(body, dict):
        raise ValueError("the body is not a JSON object")
    if body.get("stream"):
        raise ValueError("stream: this server answers whole messages only")
    if body.get("tools"):
        raise ValueError("tools: this server has none")
    limit = body.get("max_tokens")
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise ValueError("max_tokens: a whole number of at least 1 is needed")
    turns = body.get("messages")
    if not isinstance(turns, list) or not turns:
        raise ValueError("messages: at least one message is needed")
    chat: dict[str, Any] = {key: value for key, value in body.items() if key not in _TRANSLATED | _WITHOUT_MEANING_HERE}
    chat["messages"] = [_turn(turn) for turn in turns]
    if body.get("system"):
        chat["messages"].insert(0, {"role": "system", "content": _text(body["system"], "system")})
    if body.get("stop_sequences"):
        chat["stop"] = body["stop_sequences"]
    chat["max_tokens"] = limit
    chat.setdefault("cache_prompt", False)
    return chat


def from_chat(reply: dict[str, Any], model_id: str) -> dict[str, Any]:
    """The Messages reply of a chat-completions reply."""
    choice = reply["choices"][0]
    text = choice["message"].get("content") or ""
    usage = reply.get("usage") or {}
    return {
        "id": f"msg_{uuid.uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": model_id,
        "content": [{"type": "text", "text": text}] if text else [],
        "stop_reason": _STOP_REASONS.get(choice.get("finish_reason"), choice.get("finish_reason")),
        "stop_sequence": None,
        "usage": {"input_tokens": usage.get("prompt_tokens", 0), "output_tokens": usage.get("completion_tokens", 0)},
    }


def error_body(status: int, message: str) -> dict[str, Any]:
    """An error in the Messages API's form."""
    return {"type": "error", "error": {"type": _ERROR_TYPES.get(status, "api_error"), "message": message}}


def _turn(turn: Any) -> dict[str, str]:
    if not isinstance(turn, dict) or turn.get("role") not in ("user", "assistant"):
        raise ValueError("messages: each has a role, user or assistant, and a content")
    return {"role": turn["role"], "content": _text(turn.get("content"), "messages")}


def _text(content: Any, where: str) -> str:
    """A text, or the texts of blocks joined, as one text that UTF-8 can hold."""
    if isinstance(content, list):
        if any(not isinstance(block, dict) or block.get("type") != "text" for block in content):
            raise ValueError(f"{where}: only text blocks are understood")
        content = "".join(str(block.get("text", "")) for block in content)
    if not isinstance(content, str):
        raise ValueError(f"{where}: content is a text or a list of text blocks")
    try:
        content.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{where}: half a surrogate pair is not text") from None
    return content
