"""The services that serve models: one file a wire, and the table of wires."""

from typing import Any

from fluency.core.records import Answer, Request
from fluency.generation.providers.chat import ChatProvider
from fluency.generation.providers.messages import BedrockProvider, MessagesProvider, VertexProvider
from fluency.generation.providers.sdk_provider import Provider

PROVIDERS: dict[str, type[Provider]] = {
    "messages": MessagesProvider,
    "chat": ChatProvider,
    "bedrock": BedrockProvider,
    "vertex": VertexProvider,
}


def answer_to(request: Request, message: Any, **stated: Any) -> Answer:
    """The answer that a decoded reply is; Failure if it is not one.

    Args:
        stated: the fields that neither request nor message gives.
    """
    parts = PROVIDERS[request.wire].read(message, request.tool)._asdict()
    return Answer(request_key=request.key, request=request, **parts, **stated)
