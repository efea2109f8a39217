"""The Messages wire: one call, or a batch of them, through the anthropic SDK; or a Failure that says what went wrong.

It serves the provider's own service, gateways, and any other server with POST /v1/messages, the embedded model
included.
"""

from __future__ import annotations

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
from fluency.generation.keys import redact, without_key
from fluency.generation.policies import KEY_PLACEHOLDER
from fluency.generation.providers.anthropic_sdk import load_sdk, without_environment
from fluency.generation.providers.http_client import open_http_client, timeouts
from fluency.generation.providers.messages_format import PROVIDER_URL, body_of, check_base_url, pause_of, read_message
from fluency.generation.providers.provider import Batch, BatchResult, Listing, Reply, Result
from fluency.generation.reply import Reading

MOST_BYTES = 4 * 1024 * 1024
BATCH_CALL_S = 600.0


class MessagesProvider:
    """A connection to one endpoint with one key; safe for threads. Implements `BatchProvider`."""

    def __init__(self, base_url: str, key: str, *, key_in_headers: bool = False) -> None:
        self.base_url, self._key = base_url, key
        self._turn = threading.local()
        anthropic, httpx = load_sdk()
        self._errors = anthropic
        self._transport_errors, self._timed_out = httpx.HTTPError, (anthropic.APITimeoutError, httpx.TimeoutException)
        self._waited_in_vain = httpx.ReadTimeout
        hooks = [self._await_turn, self._put_key] if key_in_headers else [self._await_turn]
        with without_environment():
            self.sdk = anthropic.Anthropic(
                api_key=key,
                base_url=base_url,
                max_retries=0,
                open_telemetry={"traces": False, "propagation": False},  # they follow the environment, and cost
                http_client=open_http_client(base_url, hooks),
            )
        self.name = f"anthropic {anthropic.__version__}"
        self.server = urlsplit(base_url).hostname or base_url

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
        self._turn.budget_s, self._turn.replied = budget_s, False

        def call() -> Result:
            with create(**known, extra_body=fields, extra_headers=request.headers) as response:
                self._turn.replied = True
                chunks = _bounded(response.http_response.iter_bytes())
                body = self._clean(b"".join(chunks))
                latency_s = time.monotonic() - self._turn.began
                headers = self._plain(response.http_response.headers)
                return keep(Reply(body, latency_s, pause_of(headers), headers.get("request-id")))

        try:
            return self._guarded(call)
        except Failure as failure:
            failure.billed |= self._turn.replied
            raise
        finally:
            self._turn.budget_s = None

    def _await_turn(self, request: Any) -> None:
        """Wait for the turn of what this thread is about to send; from here on its time counts."""
        budget_s = getattr(self._turn, "budget_s", None)
        seconds = BATCH_CALL_S if budget_s is None else budget_s()
        self._turn.began = time.monotonic()
        request.extensions["timeout"] = timeouts(seconds, self._turn.began + seconds)

    def _clean(self, body: bytes) -> bytes:
        """A body without the key, should a server echo it."""
        return without_key(body.decode("latin-1"), self._key).encode("latin-1")

    def _plain(self, headers: Any) -> dict[str, str]:
        """Headers by lower-case names, without the key."""
        pairs = ((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers.raw)
        return {name: without_key(value, self._key) for name, value in pairs}

    def _put_key(self, request: Any) -> None:
        """Headers hold `$KEY` until the very last moment, so that neither records nor the SDK's logs hold the key."""
        for name, value in request.headers.items():
            if KEY_PLACEHOLDER in value:
                request.headers[name] = value.replace(KEY_PLACEHOLDER, self._key)

    def _guarded(self, call: Callable[[], Result]) -> Result:
        """The call's result; what the SDK or its transport raises becomes a Failure without any key in its words."""
        failure: Exception
        try:
            return call()
        except self._errors.APIStatusError as error:
            said = (error.type, error.error_code, error.api_message or error.body or error.message)
            kind, code, words = (word and redact(str(word), self._key) for word in said)
            failure = from_status(error.status_code, kind, code, words, self._plain(error.response.headers))
        except self._timed_out as error:
            failure = Failure("no complete reply came in time", scope="retry")
            # The request had gone out whole, so the service may have answered, and billed, what nobody has read.
            failure.billed = isinstance(error.__cause__ or error, self._waited_in_vain)
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
        return self._guarded(
            lambda: without_key(self._batches.create(requests=orders, extra_headers=headers).id, self._key)
        )

    def newest_batch(self) -> str:
        """See `BatchProvider`; the service lists the newest first."""
        newest = self._guarded(lambda: next(iter(self._batches.list(limit=1)), None))
        return "" if newest is None else without_key(newest.id, self._key)

    def batches_after(self, batch_id: str) -> Listing:
        """See `BatchProvider`."""

        def call() -> Listing:
            found: list[Batch] = []
            for batch in self._batches.list(limit=100):
                if batch.id == batch_id:
                    return Listing(found, True)
                counts = batch.request_counts
                size = counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired
                found.append(Batch(without_key(batch.id, self._key), size))
            return Listing(found, not batch_id)

        return self._guarded(call)

    def batch_has_ended(self, batch_id: str) -> bool:
        """Whether the results are there; a Failure of status 404 if the service does not know the batch."""
        return self._guarded(lambda: bool(self._batches.retrieve(batch_id).processing_status == "ended"))

    def batch_results(self, batch_id: str) -> list[BatchResult]:
        """The lines of the results' file that can be read."""

        def call() -> bytes:
            with self._batches.with_streaming_response.results(batch_id) as response:
                return self._clean(b"".join(response.http_response.iter_bytes()))

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


def _bounded(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The chunks of a body while it is of a sane size."""
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > MOST_BYTES:
            raise Failure(f"the reply is larger than {MOST_BYTES >> 20} MB", scope="retry", unreadable=True)
        yield chunk
