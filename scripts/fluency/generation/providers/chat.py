"""The chat wire: bodies and headers of Chat Completions in and out, through the openai SDK."""

from typing import Any

from fluency.common.files import JsonObject
from fluency.core.records import Request, ToolOffer
from fluency.generation.failure import Failure, no_message, refuse_failed
from fluency.generation.providers.sdk_provider import Provider, Reply
from fluency.generation.reply import (
    MessageParts,
    Said,
    dict_or_empty,
    joined,
    list_or_empty,
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
    service = "https://api.openai.com/v1"

    def connect(self, **options: Any) -> Any:
        from openai import AsyncOpenAI

        return AsyncOpenAI(api_key=self.key, **options).chat.completions

    def body(self, request: Request) -> JsonObject:
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
    def conversation(raw: JsonObject, tool: ToolOffer | None, text: str) -> list[JsonObject]:
        reply = raw["choices"][0]["message"]
        said = {"role": "user", "content": text}
        if tool is not None:
            said |= {"role": "tool", "tool_call_id": reply["tool_calls"][0].get("id")}
        return [{"role": "assistant"} | reply, said]

    @staticmethod
    def read(message: Any, tool: ToolOffer | None) -> MessageParts:
        raw = storable(message)
        choice = dict_or_empty(next(iter(list_or_empty(dict_or_empty(raw).get("choices"))), None))
        reply = choice.get("message")
        refuse_failed(raw, choice, reply)
        if not isinstance(reply, dict):
            raise no_message(raw)
        content = reply.get("content")
        blocks = list_or_empty(content)  # some gateways answer in parts
        text = joined(blocks) or text_or_none(content) or ""
        called = [
            dict_or_empty(dict_or_empty(call).get("function"))
            for call in list_or_empty(reply.get("tool_calls"))
        ]
        calls = [(call.get("name"), call.get("arguments")) for call in called]
        end = text_or_none(choice.get("finish_reason"))
        if end == "stop" and not text.strip() and not calls:
            outcome_of(str(choice.get("native_finish_reason") or end), text)
        said = Said([reply, *blocks], text, calls, end, bool(text_or_none(reply.get("refusal"))))
        return parts_of(raw, said, tool, _COUNTS)
