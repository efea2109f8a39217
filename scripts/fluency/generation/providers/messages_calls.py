"""Single calls of the Messages API through a client of the anthropic SDK: what its service and two clouds share."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from fluency.core.records import Request, ToolOffer
from fluency.core.study import ModelConfig
from fluency.generation.providers.messages_format import PROVIDER_URL, body_of, check_base_url, pause_of, read_message
from fluency.generation.providers.sdk_provider import SdkProvider
from fluency.generation.reply import Reading


class MessagesCalls(SdkProvider):
    """Implements `Provider` over whatever client `_open` makes."""

    sdk_name = "anthropic"

    @staticmethod
    def address(model: ModelConfig, url: str | None, where: str) -> tuple[str, str]:
        """See `Provider`."""
        return check_base_url(url or PROVIDER_URL, where)

    @staticmethod
    def read(message: Any, tool: ToolOffer | None) -> Reading:
        """See `Provider`."""
        return read_message(message, tool)

    def _options(self, http_client: Any) -> dict[str, Any]:
        """What every client of the SDK is opened with."""
        return {
            "base_url": self.access.base_url,
            "max_retries": 0,
            "open_telemetry": {"traces": False, "propagation": False},  # they follow the environment, and cost
            "http_client": http_client,
        }

    def _post(self, request: Request) -> AbstractContextManager[Any]:
        fields = body_of(request)
        known = {name: fields.pop(name) for name in ("model", "max_tokens", "messages")}
        create = self.sdk.messages.with_streaming_response.create
        response: AbstractContextManager[Any] = create(**known, extra_body=fields, extra_headers=request.headers)
        return response

    def _said(self, error: Any) -> tuple[Any, Any, Any]:
        return error.type, error.error_code, error.api_message or error.body or error.message

    def _pause_s(self, headers: Mapping[str, str]) -> float:
        return pause_of(headers)

    def _not_sent(self) -> tuple[type[Exception], ...]:
        return (self._errors.AnthropicError, *super()._not_sent())
