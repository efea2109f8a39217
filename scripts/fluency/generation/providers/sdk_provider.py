"""One HTTP call through an SDK, with bounds on its time and its body, and no key in a message."""

from __future__ import annotations

import functools
import gc
import importlib
import ipaddress
import logging
import os
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from fluency.common.errors import UserError
from fluency.core.records import Request, ToolOffer
from fluency.core.study import ModelConfig
from fluency.generation.api_keys import redact
from fluency.generation.failure import Failure, from_reply, unreadable
from fluency.generation.policies import KEY_PLACEHOLDER
from fluency.generation.reply import Reading, decode

CONNECT_S = 10.0
LONGEST_HEADER_PAUSE_S = 90.0
MOST_BYTES = 4 * 1024 * 1024
REQUEST_IDS = ("request-id", "x-request-id", "x-amzn-requestid")


@dataclass(frozen=True)
class Access:
    """Where a service is, and its key. `key_in_headers`: headers have `$KEY` in place of the key.

    `keep_alive`: connections serve several calls. Not those to a gateway, which may get out of step on one and give a
    call the reply to another.
    """

    base_url: str
    key: str
    key_in_headers: bool = False
    region: str = ""
    project: str = ""
    keep_alive: bool = False


@dataclass(frozen=True)
class Reply:
    """A successful reply, not yet decoded.

    latency_s: from sending to the last byte. pause_s: no call should start for so long, by the service's headers.
    """

    body: bytes
    latency_s: float
    pause_s: float = 0.0
    request_id: str | None = None


class Provider:
    """A connection to one endpoint with one key; safe for threads. A subclass for each wire."""

    sdk_name: str

    def __init__(self, access: Access) -> None:
        self.access = access
        self._sdk, self._http = load_sdk(self.sdk_name)
        clear_environment()
        self.client = self._open(self._http_client())
        self.name = f"{self.sdk_name} {self._sdk.__version__}"
        """The SDK and its version, as answers record it."""
        self.server = urlsplit(access.base_url).hostname or access.base_url
        """The host, as answers record it."""

    @staticmethod
    def address(model: ModelConfig, url: str | None, where: str) -> tuple[str, str]:
        """The address as the SDK wants it (None: the service's own), and a note if it had to be corrected.

        UserError if it is none.
        """
        raise NotImplementedError

    @staticmethod
    def read(message: Any, tool: ToolOffer | None) -> Reading:
        """A decoded message as an answer's parts, the answer being a call of `tool` if one was asked for.

        Failure if it is no message.
        """
        raise NotImplementedError

    @staticmethod
    def pause_s(headers: Mapping[str, str]) -> float:
        """Seconds in which no call should start, by a reply's headers."""
        raise NotImplementedError

    def prepare(self, request: Request, seconds: float) -> AbstractContextManager[Any]:
        """The SDK's call for a request, for `send`; `seconds` limits each of its steps."""
        raise NotImplementedError

    def send(self, call: AbstractContextManager[Any], seconds: float) -> Reply:
        """Send a prepared call; Failure unless a complete reply comes within the time.

        A reply that is cut, or too slow, is complete if its JSON is.
        """
        began, body, headers = time.monotonic(), bytearray(), None
        failure: Failure | None = None
        try:
            with call as response:
                headers = self._plain(response.http_response.headers)
                for chunk in bounded(response.http_response, began + seconds):
                    body += chunk
        except Exception as error:
            failure = self._failure(error)
            failure.billed |= headers is not None
            with suppress(Failure):
                decode(bytes(body))
                failure = None
        if (
            failure is not None
        ):  # raised here, so that its context is no exception that holds the key
            raise failure
        assert headers is not None  # else there is a failure
        self._check_for_key(body)
        request_id = next(filter(None, map(headers.get, REQUEST_IDS)), None)
        return Reply(bytes(body), time.monotonic() - began, self.pause_s(headers), request_id)

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    # ------------------------------------------------------------ for the wires

    def _open(self, http_client: Any) -> Any:
        """The SDK's client, without its retries."""
        raise NotImplementedError

    def _timeout(self, seconds: float) -> Any:
        """The transport's time-outs: for each of its steps, since `bounded` looks at the sum."""
        return self._http.Timeout(seconds, connect=min(CONNECT_S, seconds))

    def _check_for_key(self, body: bytes | bytearray) -> None:
        """Failure for the run if a body holds the key: it is stored as it is, or not at all."""
        text = body.decode(errors="replace")
        if redact(text, self.access.key) != text:
            hint = "make a new key and revoke this one, which others may have seen; or use another server"
            raise Failure(
                "the reply holds the API key, so it is not kept",
                scope="run",
                billed=True,
                hint=hint,
            )

    def _failure(self, error: Exception) -> Failure:
        """What the SDK, its transport or `bounded` raised, without the key in its message."""
        cause = error.__cause__ or error
        if isinstance(cause, Failure):
            return cause
        words = redact(f"{type(cause).__name__}: {cause}", self.access.key)[:300]
        if isinstance(error, self._sdk.APITimeoutError | self._http.TimeoutException):
            # The request was sent whole, so the service may have answered and billed it.
            billed = isinstance(cause, self._http.ReadTimeout)
            return Failure("no complete reply came in time", scope="retry", billed=billed)
        if isinstance(error, self._sdk.APIConnectionError | self._http.HTTPError):
            return Failure(f"the connection failed: {words}", scope="retry")
        return Failure(
            f"the request could not be sent: {words}", scope="cell", hint="check the model's entry"
        )

    # ------------------------------------------------------------ the transport

    def _http_client(self) -> Any:
        """A client without redirects, since the key is for one address; UserError for a bad proxy of the environment.

        Another machine is reached through the proxy, this one is not.
        """
        limits = self._http.Limits(max_keepalive_connections=None if self.access.keep_alive else 0)
        options: dict[str, Any] = {
            "limits": limits,
            "verify": urlsplit(self.access.base_url).scheme
            == "https",  # else loading the authorities takes long
            "headers": {"accept-encoding": "gzip"},
            "follow_redirects": False,
            "event_hooks": {"request": [self._put_key], "response": [self._refuse]},
        }
        if is_local := is_loopback(urlsplit(self.access.base_url).hostname or ""):
            # With a transport given, no proxy is looked for.
            options["transport"] = self._http.HTTPTransport(
                trust_env=False, verify=options["verify"], limits=limits
            )
        try:
            return self._sdk.DefaultHttpxClient(trust_env=not is_local, **options)
        except (ImportError, ValueError, self._http.InvalidURL) as error:
            kind = (
                "SOCKS is not supported"
                if isinstance(error, ImportError)
                else "it is no address of a proxy"
            )
            where = "environment: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY"
            hint = "write http://host:port, unset them, or put the model's host into NO_PROXY"
            raise UserError(
                f"the proxy of the environment cannot be used: {kind}", where=where, hint=hint
            ) from None

    def _put_key(self, request: Any) -> None:
        """Put the key into the headers last, so that neither records nor the SDK's logs hold it."""
        if self.access.key_in_headers:
            for name, value in request.headers.items():
                if KEY_PLACEHOLDER in value:
                    request.headers[name] = value.replace(KEY_PLACEHOLDER, self.access.key)

    def _refuse(self, response: Any) -> None:
        """Raise what an error reply means, before the SDK reads its body without a bound."""
        if response.is_success:
            return
        body, end = bytearray(), time.monotonic() + response.request.extensions["timeout"]["read"]
        with suppress(Failure, self._http.HTTPError):  # a part of the body is enough
            for chunk in bounded(response, end):
                body += chunk
        text = redact(body.decode(errors="replace"), self.access.key)
        raise from_reply(response.status_code, text, self._plain(response.headers))

    def _plain(self, headers: Any) -> dict[str, str]:
        """Headers by lower-case names, without the key."""
        pairs = (
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers.raw
        )
        return {name: redact(value, self.access.key) for name, value in pairs}


def bounded(response: Any, end: float) -> Iterator[bytes]:
    """The chunks of a body, decompressed; Failure beyond MOST_BYTES or after `end`."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip"):  # no other was asked for
        raise unreadable(f"the reply is compressed as {encoding[:40]}")
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 16) if encoding == "gzip" else None
    size = 0
    for chunk in response.iter_raw():
        if unpack is not None:
            try:
                chunk = unpack.decompress(chunk, MOST_BYTES + 1)
            except zlib.error:
                raise unreadable("the reply cannot be decompressed") from None
        size += len(chunk)
        if size > MOST_BYTES:
            raise Failure(
                f"the reply is larger than {MOST_BYTES >> 20} MB", scope="retry", billed=True
            )
        yield chunk
        if time.monotonic() > end:
            raise Failure("no complete reply came in time", scope="retry", billed=True)


@functools.cache
def load_sdk(name: str = "anthropic") -> tuple[Any, Any]:
    """An SDK and its transport, imported once, which takes seconds."""
    clear_environment()
    sdk, http = importlib.import_module(name), importlib.import_module("httpx2")
    for logger in (
        name,
        "httpx2",
        "httpcore2",
    ):  # they log headers, in which a service may echo the key
        logging.getLogger(logger).setLevel(logging.WARNING)
    # Else each garbage collection visits 150,000 objects, which delays all calls under way by 0.1 s.
    gc.freeze()
    return sdk, http


def clear_environment() -> None:
    """Remove what the SDKs would read from the environment: headers, tokens, addresses, profiles, logging."""
    for name in [name for name in os.environ if name.startswith(("ANTHROPIC_", "OPENAI_"))]:
        del os.environ[name]


def check_address(url: str, where: str) -> str:
    """The address without a slash at its end; UserError if it is none, or holds what belongs into the environment."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError(
            f"this is not an address: {url}",
            where=where,
            hint="write http://host:port or https://host",
        )
    if parts.username or parts.password or parts.query:
        what = "an address must not hold a name, a password or a query"
        raise UserError(what, where=where, hint="keys go into the environment")
    return url.rstrip("/")


def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its name or number."""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")
