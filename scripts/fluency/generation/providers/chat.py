"""The chat wire: Chat Completions through the openai SDK, which vLLM, Ollama, llama.cpp and most gateways speak."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from fluency.core.records import Request, ToolOffer
from fluency.core.study import ModelConfig
from fluency.generation.providers.chat_format import PROVIDER_URL, body_of, check_base_url, pause_of, read_completion
from fluency.generation.providers.sdk_provider import SdkProvider
from fluency.generation.reply import Reading


class ChatProvider(SdkProvider):
    """A connection to one endpoint with one key; safe for threads. Implements `Provider`."""

    sdk_name = "openai"

    @staticmethod
    def address(model: ModelConfig, url: str | None, where: str) -> tuple[str, str]:
        """See `Provider`."""
        return check_base_url(url or PROVIDER_URL, where)

    @staticmethod
    def read(message: Any, tool: ToolOffer | None) -> Reading:
        """See `Provider`."""
        return read_completion(message, tool)

    def _open(self, http_client: Any) -> Any:
        key, url = self.access.key, self.access.base_url
        return self._errors.OpenAI(api_key=key, base_url=url, max_retries=0, http_client=http_client)

    def _post(self, request: Request) -> AbstractContextManager[Any]:
        fields = body_of(request, self.access.base_url)
        known = {name: fields.pop(name) for name in ("model", "messages")}
        create = self.sdk.chat.completions.with_streaming_response.create
        response: AbstractContextManager[Any] = create(**known, extra_body=fields, extra_headers=request.headers)
        return response

    def _said(self, error: Any) -> tuple[Any, Any, Any]:
        words = error.body.get("message") if isinstance(error.body, dict) else error.body
        return error.type, error.code, words or error.body or error.message

    def _pause_s(self, headers: Mapping[str, str]) -> float:
        return pause_of(headers)

    def _not_sent(self) -> tuple[type[Exception], ...]:
        return (self._errors.OpenAIError, *super()._not_sent())
