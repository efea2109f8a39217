"""A call without an answer: what the service's words mean for this call and for all others. Pure."""

from __future__ import annotations

import email.utils
import math
import time
from collections.abc import Mapping
from typing import Literal

Scope = Literal["retry", "cell", "model", "run", "temperature"]
SPEND_CODES = frozenset(
    {
        "enforced_spend_limit_reached",
        "contract_spend_limit_reached",
        "linked_organization_spend_limit_reached",
        "linked_organization_billing_unavailable",
        "insufficient_quota",
        "billing_hard_limit_reached",
    }
)
RETRIED = frozenset({408, 409, 425, 429, 499})


class Failure(Exception):
    """A call without an answer.

    scope: retry (this call, later) · cell (this cell stays missing) · model, run (no further call of the model, of
    the run) · temperature (the model refuses the parameter). `unreadable`: a reply came and is of no use; `billed`:
    that, or a reply was cut or did not come in time, and may have cost. `retry_after` in seconds.
    """

    def __init__(
        self,
        what: str,
        *,
        scope: Scope,
        hint: str = "",
        retry_after: float | None = None,
        slow_down: bool = False,
        unreadable: bool = False,
        status: int | None = None,
    ) -> None:
        super().__init__(what)
        self.what, self.scope, self.hint = what, scope, hint
        self.retry_after, self.slow_down, self.unreadable = retry_after, slow_down, unreadable
        self.billed, self.status = unreadable, status


def unreadable(what: str, body: bytes = b"") -> Failure:
    """The failure of a reply that came and is no message, with the first 80 bytes of it."""
    start = body[:80].decode("ascii", "replace").replace("\n", " ").strip()
    return Failure(f"{what}{f': {start!r}' if start else ''}", scope="retry", unreadable=True)


def from_status(
    status: int, kind: str | None, code: str | None, message: str | None, headers: Mapping[str, str]
) -> Failure:
    """What an error reply means: `kind`, `code` and `message` are the API's error type, error_code and words."""
    said = f"{status}{f' {kind}' if kind and kind != 'None' else ''}: {(message or 'no words').strip()[:300]}"
    words = (message or "").lower()
    if code in SPEND_CODES or "credit balance" in words or kind == "billing_error" or status == 402:
        hint = "raise the limit or buy credit with the provider; then run again, nothing bought is lost"
        return Failure(f"the account's money is spent: {said}", scope="run", hint=hint)
    if status == 401 or kind == "authentication_error":
        return Failure(f"the key was not accepted: {said}", scope="run", hint="check the key in the environment")
    if status == 403 or kind == "permission_error":
        hint = "check what the key may do, or leave the model out"
        return Failure(f"the key may not do this: {said}", scope="run", hint=hint)
    retried = Failure(said, scope="retry", retry_after=retry_after(headers), unreadable=status == 200)
    retried.slow_down = status in (429, 503, 529) or kind in ("overloaded_error", "rate_limit_error")
    if headers.get("x-should-retry") == "true":
        return retried
    if 300 <= status < 400:
        target = headers.get("location", "an address that it does not name")[:300]
        hint = "if you trust it, set the model's `base_url` to it; redirects are not followed"
        return Failure(f"the address redirects ({status}) to {target}", scope="model", hint=hint)
    if status == 404:
        hint = "check the model's `id` and `base_url`"
        return Failure(f"there is no such model or address: {said}", scope="model", hint=hint, status=404)
    if status == 400 and "temperature" in words:
        hint = (
            "put `temperature: provider-default` into the model's entry, or `on_refused_temperature: "
            "provider-default` to let the run decide it for all of the model's cells"
        )
        return Failure(f"the model refuses the temperature: {said}", scope="temperature", hint=hint)
    kind_retried = kind in ("overloaded_error", "api_error", "rate_limit_error", "timeout_error")
    if (status in RETRIED or status >= 500 or kind_retried) and headers.get("x-should-retry") != "false":
        return retried
    if status == 200:
        return Failure(f"the reply is an error: {said}", scope="retry", unreadable=True)
    return Failure(f"the request was refused: {said}", scope="cell", hint="see the service's words above")


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds the service asks to wait (retry-after-ms, or retry-after as seconds or date); null if it does not."""
    with_ms = headers.get("retry-after-ms")
    value = headers.get("retry-after")
    try:
        seconds = float(with_ms) / 1000 if with_ms else float(value) if value else None
    except ValueError:
        try:
            date = email.utils.parsedate_to_datetime(value or "")
        except (ValueError, TypeError, IndexError):
            return None
        seconds = date.timestamp() - (time.time() if now is None else now)
    return None if seconds is None or math.isnan(seconds) else max(0.0, seconds)
