"""One HTTP call through an SDK, with bounds on its time and its body, and no key in a message."""

import asyncio
import functools
import logging
import os
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from importlib.metadata import version
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pydantic import AnyHttpUrl

from fluency.common.errors import UserError
from fluency.common.files import JsonObject
from fluency.common.terminal import log_line
from fluency.core.records import Request, ToolOffer
from fluency.core.study import ModelConfig
from fluency.generation.api_keys import LOOPBACK, VARIABLE, redact
from fluency.generation.failure import Failure, from_reply
from fluency.generation.reply import MessageParts, decode

CONNECT_S = 10.0
ERROR_BODY_S, ERROR_BYTES = 5.0, 1 << 16
MOST_BYTES = 4 * 1024 * 1024
SDK_FIELDS = ("model", "max_tokens", "messages", "stream")
"""Fields of a body that the SDKs want by name."""
OF_TRANSPORT = frozenset({"connection", "content-length", "host", "x-stainless-raw-response"})
"""Headers that HTTP and the SDK need."""
LOGGERS = ("anthropic", "openai", "httpx2", "httpcore2")
"""What logs headers, in which a service may echo the key."""
NEW_KEY = "make a new key and revoke this one, which others may have seen; or use another server"
ENVIRONMENT_HINT = (
    "write a proxy as http://host:port (SOCKS is not supported) or put the model's host into "
    "NO_PROXY; SSL_CERT_FILE names a file of certificates"
)
REQUEST_IDS = ("request-id", "x-request-id", "x-amzn-requestid")


class Reply(NamedTuple):
    """A successful reply, not yet decoded; the latency is from sending to the last byte."""

    body: bytes
    latency_s: float
    request_id: str | None


class Provider:
    """A connection for one model with one key, until `close`; safe for threads.

    A subclass for each wire. Its calls run in a separate event loop, where a deadline can end them
    at any point. Of the environment only a proxy and SSL_CERT_FILE count.
    """

    sdk: str
    adds: str
    """The path that the SDK adds to an address; `endings` are its parts that users write."""
    endings: tuple[str, ...] = ()
    root = ""
    """The path of an address that has none."""
    service: str
    """The service's own address; `{region}` is the model's."""
    limit = "max_tokens"
    """What the service calls it."""

    def __init__(self, model: ModelConfig, url: str | None, keys: Mapping[str, str]) -> None:
        """`url` None: the service's own address. UserError for a bad one.

        `keys`: placeholder in the model's entry -> the key; `$KEY` is the model's.
        """
        address, note = self.address(model, url, f"models: {model.alias}: base_url")
        if note:
            log_line(note)
        self.model, self.keys, self.key = model, keys, keys["$KEY"]
        self.server = urlsplit(address).hostname or ""
        """The host, as answers record it."""
        self._reached = False
        # A gateway may get out of step and give a call the reply to another on its connection.
        self._http = self._http_client(address, keep_alive=url is None)
        self.name = f"{self.sdk} {version(self.sdk)}"
        """The SDK and its version, as answers record it."""
        self._asks = self.connect(
            base_url=address, max_retries=0, timeout=self._http.timeout, http_client=self._http
        )
        for logger in LOGGERS:
            logging.getLogger(logger).setLevel(logging.WARNING)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Close the connections and end the event loop."""
        asyncio.run_coroutine_threadsafe(self._http.aclose(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # ------------------------------------------------------------ what a wire says

    def connect(self, **options: Any) -> Any:
        """The part of the SDK's client whose `create` asks, with these options of the client."""
        raise NotImplementedError

    @classmethod
    def home(cls, model: ModelConfig) -> str:
        """The service's own address."""
        return cls.service.format(region=model.region)

    @classmethod
    def address(cls, model: ModelConfig, url: str | None, where: str) -> tuple[str, str]:
        """The address as the SDK wants it, and a note on a correction.

        UserError if it is not an address.
        """
        if url is None:
            return cls.home(model), ""
        bare = given = check_address(url, where)
        for ending in cls.endings:
            bare = bare.removesuffix(ending)
        bare = bare.rstrip("/")
        bare = bare if urlsplit(bare).path.strip("/") else f"{bare}{cls.root}"
        note = f"{where}: {url} is used as {bare} (the client adds {cls.adds})"
        return bare, "" if bare == given else note

    @staticmethod
    def read(message: Any, tool: ToolOffer | None) -> MessageParts:
        """A decoded message as an answer's parts; Failure if it is not the model's answer.

        With a `tool`, the command in its call is the text. Missing usage and model become null.
        """
        raise NotImplementedError

    @staticmethod
    def conversation(raw: JsonObject, tool: ToolOffer | None, text: str) -> list[JsonObject]:
        """The messages after an `ok` reply: this as it came, and a text that answers it."""
        raise NotImplementedError

    def body(self, request: Request) -> JsonObject:
        """The JSON body of a request; here, what the bodies of all wires hold."""
        optional = {"temperature": request.temperature, "seed": request.seed}
        return {
            "model": request.model_id,
            self.limit: request.max_tokens,
            "messages": request.messages,
            "stream": False,  # some servers stream by default
            **request.extra_body,
            **{name: value for name, value in optional.items() if value is not None},
        }

    def headers(self, request: Request) -> dict[str, str]:
        """The headers of a request, besides the key's."""
        return request.headers

    # ------------------------------------------------------------ one call

    def send(self, request: Request, seconds: float) -> Reply:
        """Ask; Failure unless a complete reply comes within the time.

        A reply that is cut, or too slow, is complete if its JSON is.
        """
        return asyncio.run_coroutine_threadsafe(self._send(request, seconds), self._loop).result()

    async def _send(self, request: Request, seconds: float) -> Reply:
        began, body, headers = time.monotonic(), bytearray(), None
        failure: Failure | None = None
        try:
            async with asyncio.timeout(seconds), self._call(request) as response:
                self._reached = True
                headers = self._plain(response.http_response.headers)
                async for chunk in bounded(response.http_response):
                    body += chunk
        except Exception as error:
            failure = self._failure(error)
            failure.billed |= headers is not None
            with suppress(Failure):
                decode(bytes(body))
                failure = None
        if failure is not None:  # raised here, without an exception that holds the key as context
            raise failure
        assert headers is not None  # else there is a failure
        text = body.decode(errors="replace")
        if self._redact(text) != text:
            what = "the reply holds the API key, so it is not kept"
            raise Failure(what, scope="run", billed=True, hint=NEW_KEY)
        request_id = next(filter(None, map(headers.get, REQUEST_IDS)), None)
        return Reply(bytes(body), time.monotonic() - began, request_id)

    def _call(self, request: Request) -> Any:
        # The keys are filled in only here, so that no record holds them.
        body = self._with_keys(request.extra_body)
        fields = self.body(request.model_copy(update={"extra_body": body}))
        known = {name: fields.pop(name) for name in SDK_FIELDS if name in fields}
        return self._asks.with_streaming_response.create(
            **known,
            extra_body=fields,
            extra_headers=self._own_headers() | self._with_keys(self.headers(request)),
        )

    def _own_headers(self) -> dict[str, str]:
        return {
            "accept": "application/json",
            "accept-encoding": "gzip",
            "authorization": f"Bearer {self.key}",
            "content-type": "application/json",
            "user-agent": self.name,
        }

    async def _keep_own(self, request: Any) -> None:
        """Take off the headers that the SDK adds, also from the environment."""
        own = {"anthropic-version", *self._own_headers(), *map(str.lower, self.model.extra_headers)}
        for name in request.headers.keys() - own - OF_TRANSPORT:
            del request.headers[name]

    def _failure(self, error: Exception) -> Failure:
        """What the SDK, its transport or `bounded` raised, without the key in its message."""
        import httpx2

        causes = list(_causes(error))
        for cause in causes:
            if isinstance(cause, Failure):
                return cause
        if isinstance(error, TimeoutError):  # the service may have answered and billed it
            return Failure("no complete reply came in time", billed=True)
        words = self._redact(f"{type(causes[-1]).__name__}: {causes[-1]}")[:300]
        if any(isinstance(cause, httpx2.HTTPError) for cause in causes):
            what = f"the connection failed: {words}"
            lasting = any(isinstance(cause, socket.gaierror | ssl.SSLError) for cause in causes)
            if lasting and not self._reached:
                hint = "check the name in the model's `base_url`, its certificate and the network"
                return Failure(what, scope="model", hint=hint)
            return Failure(what)
        what = f"the request could not be sent: {words}"
        return Failure(what, scope="cell", hint="check the model's entry")

    # ------------------------------------------------------------ the transport

    def _http_client(self, address: str, keep_alive: bool) -> Any:
        """A client that follows no redirect, since the key is for one address.

        Another machine is reached through the environment's proxy, this one is not. UserError if
        the environment names what cannot be used.
        """
        import httpx2

        url, file = urlsplit(address), os.environ.get("SSL_CERT_FILE")
        local = LOOPBACK.fullmatch(self.server)
        verify: bool | ssl.SSLContext = url.scheme == "https"
        try:
            if verify and local and file:
                verify = ssl.create_default_context(cafile=file)
            return httpx2.AsyncClient(
                limits=httpx2.Limits(max_keepalive_connections=None if keep_alive else 0),
                timeout=httpx2.Timeout(None, connect=CONNECT_S),
                verify=verify,  # without TLS loading the authorities only takes long
                trust_env=not local,
                event_hooks={"request": [self._keep_own], "response": [self._refuse]},
            )
        except (OSError, ImportError, ValueError, httpx2.InvalidURL) as error:
            key = "SSL_CERT_FILE" if isinstance(error, OSError) else "proxy"
            where = "environment: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE"
            raise UserError(
                f"the {key} of the environment cannot be used", where=where, hint=ENVIRONMENT_HINT
            ) from None

    async def _refuse(self, response: Any) -> None:
        """Raise what an error reply means, before the SDK reads its body without a bound."""
        if response.is_success:
            return
        body = bytearray()
        with suppress(Exception):  # a part of the body is enough
            async with asyncio.timeout(ERROR_BODY_S):
                async for chunk in bounded(response):
                    body += chunk
        reply: Any = self._redact(body[:ERROR_BYTES].decode(errors="replace"))
        with suppress(Failure):
            reply = decode(reply.encode())
        raise from_reply(response.status_code, reply, self._plain(response.headers))

    def _plain(self, headers: Any) -> dict[str, str]:
        """Headers by lower-case names, without the key."""
        return {name: self._redact(value) for name, value in headers.items()}

    def _redact(self, text: str) -> str:
        return functools.reduce(redact, self.keys.values(), text)

    def _with_keys(self, value: Any) -> Any:
        """A header or field of the entry with its keys in place of the placeholders."""
        if isinstance(value, dict):
            return {name: self._with_keys(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self._with_keys(one) for one in value]
        found = VARIABLE.fullmatch(value) if isinstance(value, str) else None
        mark = f"${found[1]}" if found else ""
        return value.replace(mark, self.keys[mark]) if mark in self.keys else value


async def bounded(response: Any) -> AsyncIterator[bytes]:
    """The chunks of a body, decompressed; Failure beyond MOST_BYTES."""
    size = 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size > MOST_BYTES:
            raise Failure(f"the reply is larger than {MOST_BYTES >> 20} MB", billed=True)
        yield chunk


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def check_address(url: str, where: str) -> str:
    """The address without a slash at its end.

    UserError if it is not an address, or holds what belongs into the environment.
    """
    try:
        parts = AnyHttpUrl(url)
    except ValueError:
        what, hint = f"this is not an address: {url}", "write http://host:port or https://host"
        raise UserError(what, where=where, hint=hint) from None
    if {parts.username, parts.password, parts.query, parts.fragment} != {None}:
        what = "an address must not hold a name, a password, a fragment or a query"
        hint = "keys go into the environment; Azure takes no api-version at …/openai/v1"
        raise UserError(what, where=where, hint=hint)
    return str(parts).rstrip("/")
