"""The chat wire: bodies and headers of Chat Completions in and out, through the openai SDK."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from fluency.core.records import Request, ToolOffer
from fluency.core.study import ModelConfig
from fluency.generation.failure import THINKING_HINT, Failure, from_error, unreadable
from fluency.generation.providers.sdk_provider import (
    LONGEST_HEADER_PAUSE_S,
    Access,
    Provider,
    Reply,
    check_address,
)
from fluency.generation.reply import (
    Ends,
    Reading,
    command_of,
    outcome_of,
    storable,
    text_or_none,
    usage_of,
)

PROVIDER_URL = "https://api.openai.com/v1"
_STOPPED: Ends = {
    "stop": None,
    "tool_calls": None,
    "length": "truncated",
    "content_filter": "refusal",
}
_NATIVE_ENDS = {
    *_STOPPED,
    *["end_turn", "stop_sequence", "max_tokens", "completed", "complete", "eos"],
}
"""How models behind a gateway end where they say nothing."""
OTHER_LIMIT = "max_completion_tokens"
_SPAN = re.compile(r"(?<![0-9.])([0-9.]+)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class ChatProvider(Provider):
    """Any server with POST …/chat/completions: vLLM, Ollama, llama.cpp and most gateways."""

    sdk_name = "openai"

    @staticmethod
    def address(model: ModelConfig, url: str | None, where: str) -> tuple[str, str]:
        """Most servers have /v1 and some another path, so only an address without any gets it."""
        given = check_address(PROVIDER_URL if url is None else url, where)
        bare = given.removesuffix("/completions").removesuffix("/chat").rstrip("/")
        bare = bare if urlsplit(bare).path.strip("/") else f"{bare}/v1"
        return (
            bare,
            ""
            if bare == given
            else f"{where}: {url} is used as {bare} (the client adds /chat/completions)",
        )

    def __init__(self, access: Access) -> None:
        super().__init__(access)
        self.limit = OTHER_LIMIT if access.base_url == PROVIDER_URL else "max_tokens"
        """What the service calls `max_tokens`; learned from its refusal."""

    def body(self, request: Request) -> dict[str, Any]:
        return body_of(request, self.limit)

    def send(self, request: Request, seconds: float) -> Reply:
        try:
            return super().send(request, seconds)
        except Failure as failure:
            if (
                failure.status != 400
                or self.limit == OTHER_LIMIT
                or OTHER_LIMIT not in failure.what
            ):
                raise
            self.limit = OTHER_LIMIT
        return self.send(request, seconds)

    def _open(self, http_client: Any) -> Any:
        key, url = self.access.key, self.access.base_url
        return self._sdk.AsyncOpenAI(
            api_key=key, base_url=url, max_retries=0, http_client=http_client
        )

    def _endpoint(self) -> Any:
        return self.client.chat.completions

    @staticmethod
    def read(message: Any, tool: ToolOffer | None) -> Reading:
        raw = storable(message)
        choices = raw.get("choices") if isinstance(raw, dict) else None
        choice: Any = choices[0] if isinstance(choices, list) and choices else None
        for part in (raw, choice):
            if isinstance(part, dict) and (error := part.get("error")):
                raise from_error(200, error, {})
        reply = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(reply, dict):
            raise unreadable("the reply is JSON but no completion")
        finish = text_or_none(choice.get("finish_reason"))
        text: str | None = _text(reply.get("content"))
        if tool is not None:
            text = command_of(_calls(reply.get("tool_calls")), tool)
        refused = text_or_none(reply.get("refusal"))
        outcome = "refusal" if refused else outcome_of(_STOPPED, finish, text)
        if outcome == "empty":
            _check_empty(choice, reply)
        return Reading(
            outcome=outcome,
            text=text or "",
            raw=raw,
            stop_reason=finish,
            model_echoed=text_or_none(raw.get("model")),
            usage=usage_of(
                raw,
                "prompt_tokens",
                "completion_tokens",
                "completion_tokens_details",
                "reasoning_tokens",
            ),
        )

    @staticmethod
    def pause_s(headers: Mapping[str, str]) -> float:
        """Seconds to pause by the x-ratelimit headers (`6m0s`, `20ms`): until what has nothing remaining is reset."""
        pause = 0.0
        for kind in ("requests", "tokens"):
            if headers.get(f"x-ratelimit-remaining-{kind}", "").strip() != "0":
                continue
            spans = _SPAN.findall(headers.get(f"x-ratelimit-reset-{kind}", ""))
            if all(number.count(".") <= 1 and number != "." for number, _ in spans):
                pause = max(pause, sum(float(number) * _SECONDS[unit] for number, unit in spans))
        return min(pause, LONGEST_HEADER_PAUSE_S)


def body_of(request: Request, limit: str = "max_tokens") -> dict[str, Any]:
    """The JSON body of POST …/chat/completions; `limit`: what the service calls `max_tokens`."""
    body: dict[str, Any] = {
        "model": request.model_id,
        limit: request.max_tokens,
        "messages": [{"role": "user", "content": request.prompt}],
        **request.extra_body,
    }
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.effort is not None:
        body["reasoning_effort"] = request.effort
    if request.seed is not None:
        body["seed"] = request.seed
    if (tool := request.tool) is not None:
        function = {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.input_schema,
        }
        body["tools"] = [{"type": "function", "function": function}]
        body["tool_choice"] = "required"  # of one tool; llama.cpp does not take its name
    return body


def _check_empty(choice: dict[str, Any], reply: dict[str, Any]) -> None:
    """Failure if an empty answer is the service's doing."""
    native = text_or_none(choice.get("native_finish_reason"))
    if native and native.lower() not in _NATIVE_ENDS:
        what = f"the service ended the reply, not the model: {native[:300]}"
        raise Failure(what, scope="retry", billed=True)
    for name in ("reasoning_content", "reasoning"):
        if not reply.get("content") and text_or_none(reply.get(name)):
            what = f"the server put the whole reply into `{name}` and left `content` empty"
            raise Failure(what, scope="cell", billed=True, hint=THINKING_HINT)


def _text(content: Any) -> str:
    if isinstance(content, list):  # some gateways answer in parts
        parts = [
            part.get("text")
            for part in content
            if isinstance(part, dict) and part.get("type") == "text"
        ]
        return "".join(part for part in parts if isinstance(part, str))
    return text_or_none(content) or ""


def _calls(calls: Any) -> list[tuple[Any, Any]]:
    """Names and arguments of the calls; None for arguments that are no JSON."""
    found: list[tuple[Any, Any]] = []
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        called = function if isinstance(function, dict) else {}
        arguments = called.get("arguments")
        try:
            arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        except (ValueError, RecursionError):
            arguments = None
        found.append((called.get("name"), storable(arguments)))
    return found
