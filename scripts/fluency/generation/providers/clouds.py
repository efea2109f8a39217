"""Claude in two clouds by a bearer key, through the anthropic SDK's own clients."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from fluency.common.errors import UserError
from fluency.core.records import Request
from fluency.core.study import ModelConfig
from fluency.generation.providers.messages import MessagesProvider
from fluency.generation.providers.sdk_provider import check_address


class CloudProvider(MessagesProvider):
    """The version of the API is in the body."""

    def prepare(self, request: Request, seconds: float) -> AbstractContextManager[Any]:
        headers = dict(request.headers)
        body = {**request.extra_body, "anthropic_version": headers.pop("anthropic-version")}
        return super().prepare(
            request.model_copy(update={"extra_body": body, "headers": headers}), seconds
        )


class BedrockProvider(CloudProvider):
    """Amazon Bedrock: POST /model/{id}/invoke with a Bedrock API key."""

    @staticmethod
    def address(model: ModelConfig, url: str | None, where: str) -> tuple[str, str]:
        if model.api_key_env == "AWS_SECRET_ACCESS_KEY":
            what = "a pair of AWS keys cannot be used: requests are not signed"
            hint = (
                "make a Bedrock API key and put it into AWS_BEARER_TOKEN_BEDROCK, or use a gateway"
            )
            raise UserError(what, where=f"models: {model.alias}: api_key_env", hint=hint)
        region = _stated(model.region, "region", model)
        return check_address(url or f"https://bedrock-runtime.{region}.amazonaws.com", where), ""

    def _open(self, http_client: Any) -> Any:
        region = self.access.region
        return self._sdk.AnthropicBedrock(
            api_key=self.access.key, aws_region=region, **self._options(http_client)
        )


class VertexProvider(CloudProvider):
    """Google Vertex AI: POST …/models/{id}:rawPredict with an access token, valid for an hour."""

    @staticmethod
    def address(model: ModelConfig, url: str | None, where: str) -> tuple[str, str]:
        region = _stated(model.region, "region", model)
        _stated(model.project, "project", model)
        own = {"global": "aiplatform", "us": "aiplatform.us.rep", "eu": "aiplatform.eu.rep"}
        host = own.get(region, f"{region}-aiplatform")
        return check_address(url or f"https://{host}.googleapis.com/v1", where), ""

    def _open(self, http_client: Any) -> Any:
        place = {"region": self.access.region, "project_id": self.access.project}
        return self._sdk.AnthropicVertex(
            access_token=self.access.key, **place, **self._options(http_client)
        )


def _stated(value: str | None, key: str, model: ModelConfig) -> str:
    if not value:
        what, where = (
            f"a model of the wire {model.wire} needs a {key}",
            f"models: {model.alias}: {key}",
        )
        raise UserError(what, where=where, hint=f"add `{key}: …` to the model")
    return value
