"""One call to a Messages endpoint through the SDK: the bytes of the reply, or a Failure that says what it means.

Retries, limits and the store are elsewhere. The SDK is imported on the first call (it takes seconds), once, and
sees nothing of the environment: key and address are passed in.
"""

from __future__ import annotations

import functools
import gc
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from fluency.common.errors import UserError
from fluency.core.records import Request
from fluency.generation.keys import NO_KEY, REMOVED, redact
from fluency.generation.policies import KEY_PLACEHOLDER
from fluency.generation.reply import Failure, from_status
from fluency.generation.request import body_of

PROVIDER_URL = "https://api.anthropic.com"
MOST_BYTES = 4 * 1024 * 1024
CONNECT_S = 10.0
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_environment = threading.Lock()
Result = TypeVar("Result")


@dataclass(frozen=True)
class Reply:
    """A successful reply before anyone has read it; `latency_s` from sending to the last byte."""

    body: bytes
    headers: Mapping[str, str]
    latency_s: float


class Client:
    """A connection to one endpoint with one key; safe for threads."""

    def __init__(self, base_url: str, key: str, *, key_in_headers: bool = False) -> None:
        self.base_url, self._key = base_url, key
        self._turn = threading.local()
        anthropic, httpx = _sdk()
        self._errors = anthropic
        self._transport_errors, self._timeout = httpx.HTTPError, httpx.Timeout
        parts = urlsplit(base_url)
        local = parts.hostname in _LOOPBACK
        hooks = [self._await_turn, self._put_key] if key_in_headers else [self._await_turn]
        with _without_environment():
            self.sdk = anthropic.Anthropic(
                api_key=key,
                base_url=base_url,
                max_retries=0,
                open_telemetry={"traces": False, "propagation": False},  # they follow the environment, and cost
                timeout=self.timeout(120.0),
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

    def ask(self, request: Request, start: Callable[[], float], keep: Callable[[Reply], Result]) -> Result:
        """POST /v1/messages; what `keep` makes of the reply, before anything else happens to it.

        `start` is called when the request is ready to go out: it waits for its turn and returns the seconds that the
        call may take, or raises to call it off. Failure for everything but a complete reply with status 200.
        """
        fields = body_of(request)
        known = {name: fields.pop(name) for name in ("model", "max_tokens", "messages")}
        create = self.sdk.messages.with_streaming_response.create
        self._turn.start = start

        def call() -> Result:
            with create(**known, extra_body=fields, extra_headers=request.headers) as response:
                chunks = _bounded(response.http_response.iter_bytes(), self._turn.end)
                body = self._clean(b"".join(chunks))
                latency_s = time.monotonic() - self._turn.began
                return keep(Reply(body, _plain(response.http_response.headers), latency_s))

        try:
            return self.guarded(call)
        finally:
            self._turn.start = None

    def _await_turn(self, request: Any) -> None:
        """Wait for the turn of what this thread is about to send; from here on its time counts."""
        if (start := getattr(self._turn, "start", None)) is not None:
            seconds = start()
            request.extensions["timeout"] = self.timeout(seconds).as_dict()
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

    def timeout(self, seconds: float) -> Any:
        """The SDK's form of a time-out for one attempt."""
        return self._timeout(seconds, connect=min(CONNECT_S, seconds))

    def guarded(self, call: Callable[[], Result]) -> Result:
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
            called_off = isinstance(cause, Failure | UserError)  # by `start`
            failure = cause if called_off else Failure(f"the connection failed: {words}", scope="retry")
        except (self._errors.AnthropicError, TypeError, ValueError) as error:
            words = redact(f"{type(error).__name__}: {error}", self._key)[:300]
            failure = Failure(f"the request could not be sent: {words}", scope="cell", hint="check the model's entry")
        # Raised outside of the handlers: it must not carry along an exception that holds the key.
        raise failure

    def close(self) -> None:
        """Close the connections."""
        self.sdk.close()


def check_base_url(url: str, where: str) -> tuple[str, str]:
    """The address as the SDK wants it, and a note if it had to be corrected; UserError if it is none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError(f"this is not an address: {url}", where=where, hint="write http://host:port or https://host")
    if parts.username or parts.password or parts.query:
        raise UserError(
            "an address must not hold a name, a password or a query", where=where, hint="keys go into the environment"
        )
    bare = url.rstrip("/").removesuffix("/messages").removesuffix("/v1").rstrip("/")
    note = "" if bare == url.rstrip("/") else f"{where}: {url} is used as {bare} (the client adds /v1/messages itself)"
    return bare, note


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


@functools.cache
def _sdk() -> tuple[Any, Any]:
    """The SDK and its transport, imported once."""
    with _without_environment():
        # Takes two seconds, and reads the environment that is hidden here.
        import anthropic  # noqa: PLC0415
        import httpx2  # noqa: PLC0415
    # 150,000 objects that stay: a collection that walks through them holds up all calls in flight for 0.1 s.
    gc.freeze()
    return anthropic, httpx2


@contextmanager
def _without_environment() -> Iterator[None]:
    """Hide ANTHROPIC_* (headers, tokens, addresses, profiles, logging) while the SDK might read it."""
    with _environment:
        hidden = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("ANTHROPIC_")}
        try:
            yield
        finally:
            os.environ.update(hidden)
