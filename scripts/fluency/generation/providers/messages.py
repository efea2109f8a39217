"""The Messages wire: one call, or a batch of them, through the anthropic SDK; or a Failure that says what went wrong.

It serves the provider's own service, gateways, and any other server with POST /v1/messages, the embedded model
included.
"""

from __future__ import annotations

import datetime as dt
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from fluency.common.errors import UserError
from fluency.core.records import Request
from fluency.generation.failure import Failure, from_status
from fluency.generation.keys import NO_KEY, REMOVED, redact
from fluency.generation.policies import KEY_PLACEHOLDER
from fluency.generation.providers.anthropic_sdk import load_sdk, without_environment
from fluency.generation.providers.messages_format import PROVIDER_URL, body_of, check_base_url, pause_of, read_message
from fluency.generation.providers.provider import Batch, BatchResult, Reply, Result
from fluency.generation.reply import Reading

MOST_BYTES = 4 * 1024 * 1024
CONNECT_S = 10.0
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class MessagesProvider:
    """A connection to one endpoint with one key; safe for threads. Implements `BatchProvider`."""

    def __init__(self, base_url: str, key: str, *, key_in_headers: bool = False) -> None:
        self.base_url, self._key = base_url, key
        self._turn = threading.local()
        anthropic, httpx = load_sdk()
        self._errors = anthropic
        self._transport_errors, self._timeout = httpx.HTTPError, httpx.Timeout
        parts = urlsplit(base_url)
        local = parts.hostname in _LOOPBACK
        hooks = [self._await_turn, self._put_key] if key_in_headers else [self._await_turn]
        with without_environment():
            self.sdk = anthropic.Anthropic(
                api_key=key,
                base_url=base_url,
                max_retries=0,
                open_telemetry={"traces": False, "propagation": False},  # they follow the environment, and cost
                timeout=self._timeout_of(120.0),
                http_client=anthropic.DefaultHttpxClient(
                    # A proxy from the environment must not stand between the run and its own machine.
                    trust_env=not local,
                    mounts={"all://": None, "http://": None, "https://": None} if local else {},
                    # Without TLS there is nothing to verify, and loading the authorities takes long.
                    verify=parts.scheme == "https",
                    follow_redirects=False,  # a key goes to the address it was given for
                    event_hooks={"request": hooks},
                ),
            )
        self.name = f"anthropic {anthropic.__version__}"
        self.server = parts.hostname or base_url

    @staticmethod
    def address(url: str | None, where: str) -> tuple[str, str]:
        """See `Provider`."""
        return check_base_url(url or PROVIDER_URL, where)

    @staticmethod
    def read(message: Any) -> Reading:
        """See `Provider`."""
        return read_message(message)

    def ask(self, request: Request, budget_s: Callable[[], float], keep: Callable[[Reply], Result]) -> Result:
        """POST /v1/messages; see `Provider`."""
        fields = body_of(request)
        known = {name: fields.pop(name) for name in ("model", "max_tokens", "messages")}
        create = self.sdk.messages.with_streaming_response.create
        self._turn.budget_s = budget_s

        def call() -> Result:
            with create(**known, extra_body=fields, extra_headers=request.headers) as response:
                chunks = _bounded(response.http_response.iter_bytes(), self._turn.end)
                body = self._clean(b"".join(chunks))
                latency_s = time.monotonic() - self._turn.began
                headers = _plain(response.http_response.headers)
                return keep(Reply(body, latency_s, pause_of(headers), headers.get("request-id")))

        try:
            return self._guarded(call)
        finally:
            self._turn.budget_s = None

    def _await_turn(self, request: Any) -> None:
        """Wait for the turn of what this thread is about to send; from here on its time counts."""
        if (budget_s := getattr(self._turn, "budget_s", None)) is not None:
            seconds = budget_s()
            request.extensions["timeout"] = self._timeout_of(seconds).as_dict()
            self._turn.began = time.monotonic()
            self._turn.end = self._turn.began + seconds

    def _clean(self, body: bytes) -> bytes:
        """The body without the key, should a server echo it."""
        return body if self._key == NO_KEY else body.replace(self._key.encode(), REMOVED.encode())

    def _put_key(self, request: Any) -> None:
        """Headers hold `$KEY` until the very last moment, so that neither records nor the SDK's logs hold the key."""
        for name, value in request.headers.items():
            if KEY_PLACEHOLDER in value:
                request.headers[name] = value.replace(KEY_PLACEHOLDER, self._key)

    def _timeout_of(self, seconds: float) -> Any:
        """The SDK's form of a time-out in seconds for one attempt."""
        return self._timeout(seconds, connect=min(CONNECT_S, seconds))

    def _guarded(self, call: Callable[[], Result]) -> Result:
        """The call's result; what the SDK or its transport raises becomes a Failure without any key in its words."""
        failure: Exception
        try:
            return call()
        except self._errors.APIStatusError as error:
            headers = {name.lower(): value for name, value in error.response.headers.items()}
            words = error.api_message or str(error.body or error.message)
            failure = from_status(
                error.status_code, error.type, error.error_code, redact(str(words), self._key), headers
            )
        except self._errors.APITimeoutError:
            failure = Failure("no complete reply came in time", scope="retry")
        except (self._errors.APIConnectionError, self._transport_errors) as error:
            cause = error.__cause__ or error
            words = redact(f"{type(cause).__name__}: {cause}", self._key)[:300]
            called_off = isinstance(cause, Failure | UserError)  # by `budget_s`
            failure = cause if called_off else Failure(f"the connection failed: {words}", scope="retry")
        except (self._errors.AnthropicError, TypeError, ValueError) as error:
            words = redact(f"{type(error).__name__}: {error}", self._key)[:300]
            failure = Failure(f"the request could not be sent: {words}", scope="cell", hint="check the model's entry")
        # Raised outside of the handlers: it must not carry along an exception that holds the key.
        raise failure

    # ------------------------------------------------------------ batches

    def order_batch(self, requests: Mapping[str, Request]) -> str:
        """POST /v1/messages/batches, with the version header that all the requests share."""
        orders = [{"custom_id": key, "params": body_of(request)} for key, request in requests.items()]
        headers = next(iter(requests.values())).headers
        batch_id: str = self._guarded(lambda: self._batches.create(requests=orders, extra_headers=headers).id)
        return batch_id

    def batches_since(self, moment: dt.datetime) -> list[Batch]:
        """The batches made since a moment, the newest first, as the service lists them."""

        def call() -> list[Batch]:
            found = []
            for batch in self._batches.list(limit=100):
                if batch.created_at < moment:
                    break
                counts = batch.request_counts
                size = counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired
                found.append(Batch(batch.id, size))
            return found

        return self._guarded(call)

    def batch_has_ended(self, batch_id: str) -> bool:
        """Whether the results are there; a Failure of status 404 if the service does not know the batch."""
        return self._guarded(lambda: bool(self._batches.retrieve(batch_id).processing_status == "ended"))

    def batch_results(self, batch_id: str) -> list[BatchResult]:
        """The lines of the results' file that can be read."""

        def call() -> bytes:
            with self._batches.with_streaming_response.results(batch_id) as response:
                return b"".join(response.http_response.iter_bytes())

        results = []
        for line in self._guarded(call).splitlines():
            with suppress(ValueError, KeyError, TypeError):
                entry = json.loads(line)
                result = entry["result"]
                message = result["message"] if result["type"] == "succeeded" else None
                results.append(BatchResult(str(entry["custom_id"]), message))
        return results

    @property
    def _batches(self) -> Any:
        return self.sdk.messages.batches

    def close(self) -> None:
        """Close the connections."""
        self.sdk.close()


def _bounded(chunks: Iterator[bytes], end: float) -> Iterator[bytes]:
    """The chunks of a body while there is time and the body is of a sane size."""
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > MOST_BYTES:
            raise Failure(f"the reply is larger than {MOST_BYTES >> 20} MB", scope="retry", unreadable=True)
        if time.monotonic() > end:
            raise Failure("the reply came too slowly to be complete in time", scope="retry")
        yield chunk


def _plain(headers: Any) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers.raw}
