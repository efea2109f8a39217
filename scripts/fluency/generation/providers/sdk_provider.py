"""A call through an SDK, whatever its wire: its turn, its deadline, its bytes, and never a key in anyone's words."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import urlsplit

from fluency.common.errors import UserError
from fluency.core.records import Request
from fluency.generation.failure import Failure, from_status
from fluency.generation.keys import redact, without_key
from fluency.generation.policies import KEY_PLACEHOLDER
from fluency.generation.providers.http_client import open_http_client, timeouts
from fluency.generation.providers.provider import Access, Reply, Result
from fluency.generation.providers.sdk import load_sdk, without_environment

MOST_BYTES = 4 * 1024 * 1024
NO_TURN_S = 600.0
"""Seconds of a call that answers no cell: about a batch, or about a model."""
REQUEST_IDS = ("request-id", "x-request-id", "x-amzn-requestid")


class SdkProvider:
    """A connection to one endpoint with one key; safe for threads. A wire says which client, what is sent."""

    sdk_name: str

    def __init__(self, access: Access) -> None:
        self.access, self.base_url = access, access.base_url
        self._turn = threading.local()
        loaded = load_sdk(self.sdk_name)
        self._errors, httpx = loaded
        self._transport_errors, self._timed_out = (
            httpx.HTTPError,
            (self._errors.APITimeoutError, httpx.TimeoutException),
        )
        self._waited_in_vain = httpx.ReadTimeout
        hooks = [self._await_turn, self._put_key] if access.key_in_headers else [self._await_turn]
        with without_environment():
            self.sdk = self._open(open_http_client(loaded, access.base_url, hooks))
        self.name = f"{self.sdk_name} {self._errors.__version__}"
        self.server = urlsplit(access.base_url).hostname or access.base_url

    def _open(self, http_client: Any) -> Any:
        """The SDK's client, without retries of its own."""
        raise NotImplementedError

    def _post(self, request: Request) -> AbstractContextManager[Any]:
        """The SDK's streamed response to one request."""
        raise NotImplementedError

    def _said(self, error: Any) -> tuple[Any, Any, Any]:
        """An error reply's type, code and words; null where it has none."""
        raise NotImplementedError

    def _pause_s(self, headers: Mapping[str, str]) -> float:
        """Seconds to start no call for, by a reply's headers."""
        return 0.0

    def _secrets(self) -> list[str]:
        """What must stand in no record and no message."""
        return [self.access.key]

    def ask(self, request: Request, budget_s: Callable[[], float], keep: Callable[[Reply], Result]) -> Result:
        """See `Provider`."""
        self._turn.budget_s, self._turn.replied = budget_s, False

        def call() -> Result:
            with self._post(request) as response:
                self._turn.replied = True
                chunks = _bounded(response.http_response.iter_bytes())
                body = self._clean(b"".join(chunks))
                latency_s = time.monotonic() - self._turn.began
                headers = self._plain(response.http_response.headers)
                request_id = next(filter(None, map(headers.get, REQUEST_IDS)), None)
                return keep(Reply(body, latency_s, self._pause_s(headers), request_id))

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
        seconds = NO_TURN_S if budget_s is None else budget_s()
        self._turn.began = time.monotonic()
        request.extensions["timeout"] = timeouts(seconds, self._turn.began + seconds)

    def _without_keys(self, text: str) -> str:
        for secret in self._secrets():
            text = without_key(text, secret)
        return text

    def _redacted(self, text: str) -> str:
        return redact(self._without_keys(text), self.access.key)

    def _clean(self, body: bytes) -> bytes:
        """A body without the key, should a server echo it."""
        return self._without_keys(body.decode("latin-1")).encode("latin-1")

    def _plain(self, headers: Any) -> dict[str, str]:
        """Headers by lower-case names, without the key."""
        pairs = ((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers.raw)
        return {name: self._without_keys(value) for name, value in pairs}

    def _put_key(self, request: Any) -> None:
        """Headers hold `$KEY` until the very last moment, so that neither records nor the SDK's logs hold the key."""
        for name, value in request.headers.items():
            if KEY_PLACEHOLDER in value:
                request.headers[name] = value.replace(KEY_PLACEHOLDER, self.access.key)

    def _guarded(self, call: Callable[[], Result]) -> Result:
        """The call's result; what the SDK or its transport raises becomes a Failure without any key in its words."""
        failure: Exception
        try:
            return call()
        except self._errors.APIStatusError as error:
            kind, code, words = (word and self._redacted(str(word)) for word in self._said(error))
            failure = from_status(error.status_code, kind, code, words, self._plain(error.response.headers))
        except self._timed_out as error:
            failure = Failure("no complete reply came in time", scope="retry")
            # The request had gone out whole, so the service may have answered, and billed, what nobody has read.
            failure.billed = isinstance(error.__cause__ or error, self._waited_in_vain)
        except (self._errors.APIConnectionError, self._transport_errors) as error:
            cause = error.__cause__ or error
            words = self._redacted(f"{type(cause).__name__}: {cause}")[:300]
            called_off = isinstance(cause, Failure | UserError)  # by `budget_s`
            failure = cause if called_off else Failure(f"the connection failed: {words}", scope="retry")
        except self._not_sent() as error:
            words = self._redacted(f"{type(error).__name__}: {error}")[:300]
            failure = Failure(f"the request could not be sent: {words}", scope="cell", hint="check the model's entry")
        # Raised outside of the handlers: it must not carry along an exception that holds the key.
        raise failure

    def _not_sent(self) -> tuple[type[Exception], ...]:
        """What the SDK raises before it sends anything."""
        return (self._errors.APIError, TypeError, ValueError)

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
