"""Services that models are asked of: one file a wire, and the one place that knows which wire a model speaks."""

from __future__ import annotations

from fluency.common.errors import UserError
from fluency.common.terminal import Say
from fluency.core.study import ModelConfig
from fluency.generation.policies import KEY_PLACEHOLDER
from fluency.generation.providers.messages import MessagesProvider
from fluency.generation.providers.provider import BatchProvider, Provider

PROVIDERS: dict[str, type[Provider]] = {"messages": MessagesProvider}


def provider_type(model: ModelConfig) -> type[Provider]:
    """The wire of a model; the embedded one too is an address that speaks Messages."""
    return PROVIDERS["messages"]


def open_provider(model: ModelConfig, url: str | None, key: str, say: Say) -> Provider:
    """A connection to the service of a model; `url` None: the wire's own. UserError if it cannot be used so."""
    wire, where = provider_type(model), f"models: {model.alias}"
    address, note = wire.address(url, f"{where}: base_url")
    if note:
        say(note)
    provider = wire(address, key, key_in_headers=any(KEY_PLACEHOLDER in text for text in model.extra_headers.values()))
    if model.transport == "batch" and not isinstance(provider, BatchProvider):
        raise UserError("this service takes no batches", where=f"{where}: transport", hint="set `transport: messages`")
    return provider
