"""The SDK's connections: no proxy before the own machine, no redirect, and one deadline over all reads of a call."""

from __future__ import annotations

import ipaddress
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from fluency.common.errors import UserError

CONNECT_S = 10.0


def check_address(url: str, where: str) -> None:
    """UserError if a text is no address of a server, or holds what belongs into the environment."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError(f"this is not an address: {url}", where=where, hint="write http://host:port or https://host")
    if parts.username or parts.password or parts.query:
        raise UserError(
            "an address must not hold a name, a password or a query", where=where, hint="keys go into the environment"
        )


class TimeLeft:
    """The seconds until a moment, as a socket takes a time-out: asked anew before every read, whole, rounded up.

    A number would hold for each read alone, and a service that sends a byte now and then would never meet it.
    """

    def __init__(self, end: float) -> None:
        self._end = end

    def __index__(self) -> int:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the call took too long")
        return math.ceil(left)


def timeouts(seconds: float, end: float) -> dict[str, Any]:
    """The transport's time-outs of one call that may take so long, and no longer than to a moment (monotonic)."""
    left = TimeLeft(end)
    return {"connect": min(CONNECT_S, seconds), "pool": seconds, "read": left, "write": left}


def open_http_client(loaded: tuple[Any, Any], base_url: str, hooks: Sequence[Callable[[Any], None]]) -> Any:
    """A client for one address, through the environment's proxy if it is another machine; UserError for an odd one.

    `loaded`: the SDK that is to use it, and its transport.
    """
    sdk, httpx = loaded
    # Without TLS there is nothing to verify, and loading the authorities takes long.
    options = {"verify": urlsplit(base_url).scheme == "https"}
    if local := is_loopback(urlsplit(base_url).hostname or ""):
        options["transport"] = httpx.HTTPTransport(
            trust_env=False, **options
        )  # with one given, nobody looks for proxies
    try:
        return sdk.DefaultHttpxClient(
            trust_env=not local,
            follow_redirects=False,  # a key goes to the address it was given for
            event_hooks={"request": list(hooks)},
            **options,
        )
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        kind = "SOCKS is not supported" if isinstance(error, ImportError) else "it is no address of a proxy"
        raise UserError(
            f"the proxy of the environment cannot be used: {kind}",
            where="environment: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY",
            hint="write http://host:port, unset them, or put the model's host into NO_PROXY",
        ) from None


def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its name or number."""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")
