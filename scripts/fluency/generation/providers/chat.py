"""The chat wire: bodies and headers of Chat Completions in and out, through the openai SDK."""

from __future__ import annotations

from typing import Any

from fluency.core.records import Request, ToolOffer
from fluency.core.study import ModelConfig
from fluency.generation.failure import Failure, no_message, refuse_failed
from fluency.generation.providers.sdk_provider import Provider, Reply
from fluency.generation.reply import (
    MessageParts,
    check_silence,
    command_of,
    dict_or_empty,
    joined,
    outcome_of,
    parts_of,
    storable,
    text_or_none,
)

_COUNTS = (
    "prompt_tokens", "completion_tokens", "completion_tokens_details", "reasoning_tokens",
)  # fmt: skip
OTHER_LIMIT = "max_completion_tokens"


class ChatProvider(Provider):
    """Any server with POST …/chat/completions: vLLM, Ollama, llama.cpp and most gateways."""

    sdk = "openai"
    adds = "/chat/completions"
    endings = ("/completions", "/chat")
    root = "/v1"

    def connect(self, **options: Any) -> Any:
        from openai import AsyncOpenAI

        return AsyncOpenAI(api_key=self.key, **options).chat.completions

    @classmethod
    def home(cls, model: ModelConfig) -> str:
        return "https://api.openai.com/v1"

    def body(self, request: Request) -> dict[str, Any]:
        body = super().body(request)
        if request.effort is not None:
            body["reasoning_effort"] = request.effort
        if (tool := request.tool) is not None:
            function = tool.model_dump(exclude={"input_schema"}) | {"parameters": tool.input_schema}
            body["tools"] = [{"type": "function", "function": function}]
            body["tool_choice"] = "required"  # of one tool; llama.cpp does not take its name
        return body

    def send(self, request: Request, seconds: float) -> Reply:
        """Learns what the service calls the limit from its refusal."""
        try:
            return super().send(request, seconds)
        except Failure as failure:
            known = self.limit == OTHER_LIMIT
            if failure.status != 400 or known or OTHER_LIMIT not in failure.what:
                raise
            self.limit = OTHER_LIMIT
        return self.send(request, seconds)

    @staticmethod
    def read(message: Any, tool: ToolOffer | None) -> MessageParts:
        raw = storable(message)
        choices = dict_or_empty(raw).get("choices")
        choice = dict_or_empty(choices[0]) if isinstance(choices, list) and choices else {}
        reply = choice.get("message")
        refuse_failed(raw, choice, reply)
        if not isinstance(reply, dict):
            raise no_message(raw)
        finish = text_or_none(choice.get("finish_reason"))
        content = reply.get("content")  # some gateways answer in parts
        blocks = content if isinstance(content, list) else []
        said = joined(blocks) if blocks else text_or_none(content) or ""
        calls = reply.get("tool_calls")
        calls = calls if isinstance(calls, list) else []
        text = said if tool is None else command_of(list(map(_call, calls)), tool)
        refused = text_or_none(reply.get("refusal"))
        outcome = "refusal" if refused else outcome_of(finish, text)
        parts = parts_of(raw, outcome, text, finish, _COUNTS)
        if outcome in ("empty", "no-call") and not said.strip() and not calls:
            outcome_of(str(choice.get("native_finish_reason") or "stop"), said)
            check_silence(parts, reply, *blocks)
            if content is None:  # vLLM, where its parser lost an answer
                raise Failure("the server sent `content: null`", billed=True)
        return parts


def _call(call: Any) -> tuple[Any, Any]:
    """Name and arguments of a call."""
    called = dict_or_empty(dict_or_empty(call).get("function"))
    return called.get("name"), called.get("arguments")
