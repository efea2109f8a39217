"""Claude in two clouds, through the anthropic SDK's own clients: their addresses, their keys, and the same messages."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from fluency.common.errors import UserError
from fluency.core.records import Request
from fluency.core.study import ModelConfig
from fluency.generation.providers.http_client import check_address
from fluency.generation.providers.messages_calls import MessagesCalls
from fluency.generation.providers.provider import Access
from fluency.generation.providers.sigv4 import KeyPair, signed_headers

PAIR = "AWS_SECRET_ACCESS_KEY"
"""The variable whose value signs requests instead of going out with them."""


class CloudProvider(MessagesCalls):
    """What both have in common: no batches, and the version of the API in the body."""

    def _post(self, request: Request) -> AbstractContextManager[Any]:
        headers = dict(request.headers)
        body = {**request.extra_body, "anthropic_version": headers.pop("anthropic-version")}
        return super()._post(request.model_copy(update={"extra_body": body, "headers": headers}))


class BedrockProvider(CloudProvider):
    """Amazon Bedrock: POST /model/{id}/invoke with a bearer key, or signed with a key pair (Signature Version 4)."""

    def __init__(self, access: Access) -> None:
        self._pair = _pair(access.key, access.environ) if access.key_env == PAIR else None
        super().__init__(access)

    @staticmethod
    def address(model: ModelConfig, url: str | None, where: str) -> tuple[str, str]:
        """See `Provider`."""
        region = _stated(model.region, "region", model)
        return _cloud_address(url or f"https://bedrock-runtime.{region}.amazonaws.com", where)

    def _open(self, http_client: Any) -> Any:
        if self._pair is not None:
            http_client.event_hooks = {"request": [*http_client.event_hooks["request"], self._sign]}
        key = self.access.key if self._pair is None else "signed"
        region = self.access.region
        return self._errors.AnthropicBedrock(api_key=key, aws_region=region, **self._options(http_client))

    def _sign(self, request: Any) -> None:
        """Put the signature where the SDK put a bearer key, once nothing changes any more, at the time of sending."""
        assert self._pair is not None  # else this is no hook
        at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        signed = {"content-type": request.headers["content-type"]}
        place = {"region": self.access.region, "service": "bedrock"}
        request.headers.update(
            signed_headers(self._pair, request.method, str(request.url), request.read(), headers=signed, at=at, **place)
        )

    def _secrets(self) -> list[str]:
        return [self.access.key, self._pair.token if self._pair else ""]


class VertexProvider(CloudProvider):
    """Google Vertex AI: POST …/models/{id}:rawPredict with an access token, which holds for an hour."""

    @staticmethod
    def address(model: ModelConfig, url: str | None, where: str) -> tuple[str, str]:
        """See `Provider`."""
        region = _stated(model.region, "region", model)
        _stated(model.project, "project", model)
        own = {"global": "aiplatform", "us": "aiplatform.us.rep", "eu": "aiplatform.eu.rep"}
        return _cloud_address(url or f"https://{own.get(region, f'{region}-aiplatform')}.googleapis.com/v1", where)

    def _open(self, http_client: Any) -> Any:
        place = {"region": self.access.region, "project_id": self.access.project}
        return self._errors.AnthropicVertex(access_token=self.access.key, **place, **self._options(http_client))


def _cloud_address(url: str, where: str) -> tuple[str, str]:
    check_address(url, where)
    return url.rstrip("/"), ""


def _stated(value: str | None, key: str, model: ModelConfig) -> str:
    if not value:
        raise UserError(
            f"a model of the wire {model.wire} needs a {key}",
            where=f"models: {model.alias}: {key}",
            hint=f"add `{key}: …` to the model",
        )
    return value


def _pair(secret: str, environ: Mapping[str, str]) -> KeyPair:
    """The key pair of the environment; UserError if half of it is missing."""
    name = "AWS_ACCESS_KEY_ID"
    if not (access_key := environ.get(name, "").strip()):
        raise UserError(
            f"the environment variable {name} is not set",
            where=f"environment: {name}",
            hint="`aws configure export-credentials --format env` prints what a profile or a login stands for",
        )
    return KeyPair(access_key, secret, environ.get("AWS_SESSION_TOKEN", "").strip())
