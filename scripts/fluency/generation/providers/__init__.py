"""The services that serve models: one file a wire, and the table of wires."""

from __future__ import annotations

from typing import Any

from fluency.common.terminal import log_line
from fluency.core.records import Request
from fluency.core.study import ModelConfig
from fluency.generation.providers.chat import ChatProvider
from fluency.generation.providers.messages import BedrockProvider, MessagesProvider, VertexProvider
from fluency.generation.providers.sdk_provider import Provider
from fluency.generation.reply import MessageParts

PROVIDERS: dict[str, type[Provider]] = {
    "messages": MessagesProvider,
    "chat": ChatProvider,
    "bedrock": BedrockProvider,
    "vertex": VertexProvider,
}


def read_reply(request: Request, message: Any) -> MessageParts:
    """A decoded reply to a request, read by the request's wire; Failure if it is not an answer."""
    return PROVIDERS[request.wire].read(message, request.tool)


def open_provider(model: ModelConfig, url: str | None, key: str) -> Provider:
    """A connection to a model's service; `url` None: the wire's own.

    UserError for a bad address.
    """
    wire, where = PROVIDERS[model.wire], f"models: {model.alias}"
    address, note = wire.address(model, url, f"{where}: base_url")
    if note:
        log_line(note)
    return wire(model, address, key, keep_alive=url is None)
