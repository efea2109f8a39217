"""A call without an answer: what it means for this call and for others, and when to try again."""

import email.utils
import json
import math
import random
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fluency.common.data_file import data_file
from fluency.common.errors import StopRun
from fluency.core.study import ModelConfig

Scope = Literal["retry", "cell", "context", "prompt", "model", "run"]
ERRORS = ("error", "errors", "base_resp")
"""Fields of a reply that hold its error; MiniMax has the last one in each reply."""
_TABLE = data_file(__file__)
THINKING_HINT: str = _TABLE["thinking_hint"]


class ModelStop(StopRun):
    """A reason that holds for every further call of one model."""


@dataclass(eq=False)
class Failure(Exception):
    """A call without an answer.

    Attributes:
        scope: What it ends. retry: this call, which may be tried again; cell: the cell, which
            stays missing; context: a conversation that is too long, else the cell; prompt: all
            cells with its prompt, which the service's filter refuses; model, run: all calls of the
            model, or of the run.
        retry_after: Seconds that the service asks to wait.
        slow_down: Whether all calls of the model wait.
        billed: Whether the service may have billed a reply that is of no use or was not read.
    """

    what: str
    scope: Scope = "retry"
    hint: str = ""
    retry_after: float | None = None
    slow_down: bool = False
    billed: bool = False
    status: int | None = None


def unreadable(what: str, body: bytes) -> Failure:
    """The failure of a reply that is not a message, with its start."""
    start = body[:200].decode("ascii", "replace").replace("\n", " ").strip()
    return Failure(f"{what}{f': {start!r}' if start else ''}", billed=True)


def no_message(value: Any) -> Failure:
    """The failure of a reply in JSON of another form, with its start."""
    return unreadable("the reply is JSON, but not a message", json.dumps(value).encode())


# ------------------------------------------------------------ error replies


def refuse_failed(*parts: Any) -> None:
    """Failure if a part of a successful reply says that the service failed."""
    for part in parts:
        if isinstance(part, dict) and (
            part.get("error")
            or part.get("errors")
            or _error_in(part).get("status_code") not in (None, 0, 200)
            or part.get("status") in ("failed", "error", "cancelled")
        ):
            raise from_reply(200, part, {})


def _error_in(reply: Any) -> dict[str, Any]:
    said = reply if isinstance(reply, dict) else {}
    error = next((said[name] for name in ERRORS if said.get(name)), reply)
    error = error[0] if isinstance(error, list) and error else error
    return error if isinstance(error, dict) else {"message": error}


def from_reply(status: int, reply: Any, headers: Mapping[str, str]) -> Failure:
    """What an error reply means by the table of failures.

    `reply` is its JSON value, else its text, which is shown where it has no message.
    """
    error, billed = _error_in(reply), status == 200
    details = error.get("details")
    code = error.get("code") or error.get("status_code")
    code = code or (details.get("error_code") if isinstance(details, dict) else "")
    if billed and isinstance(code, int) and 400 <= code < 600:
        status = code
    kind = str(error.get("type") or headers.get("x-amzn-errortype") or error.get("status") or "")
    message = str(error.get("message") or error.get("status_msg") or reply or "no message").strip()
    again, param = headers.get("x-should-retry"), error.get("param") or ""
    line = f"{status} again={again} type={kind} code={code} param={param}: {message}".lower()
    row = next(row for row in _TABLE["rows"] if re.search(row["when"], line, re.DOTALL))
    what = row["what"].format(
        entry=f"{status}{f' {kind}' if kind else ''}: {message[:300]}",
        status=status,
        target=headers.get("location", "an address that it does not name")[:300],
    )
    slow_down = bool(re.search(_TABLE["slow_down"], line))
    return Failure(what, row["scope"], row["hint"], retry_after(headers), slow_down, billed, status)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the service asks to wait; null if it does not.

    It says so in retry-after-ms, or in retry-after as seconds or a date.
    """
    with_ms, value = headers.get("retry-after-ms"), headers.get("retry-after", "")
    try:
        seconds = float(with_ms) / 1000 if with_ms else float(value)
    except ValueError:
        try:
            date = email.utils.parsedate_to_datetime(value).timestamp()
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
        seconds = date - time.time()
    return min(max(0.0, seconds), 1e8) if math.isfinite(seconds) else None


# ------------------------------------------------------------ trying again


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how long one cell is asked.

    Attributes:
        attempt_s: Seconds of one attempt; deadline_s: of all attempts of a cell.
        billed_attempts: The most attempts if one may have been billed.
        first_wait_s: Seconds before the second attempt; they double up to longest_wait_s.
        lost_cells: This number in a row without an answer stops a model.
    """

    attempt_s: float = 120.0
    deadline_s: float = 600.0
    attempts: int = 8
    billed_attempts: int = 3
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0
    lost_cells: int = 5


LOCAL_SERVER_RETRY = RetryPolicy(attempt_s=600.0, deadline_s=1800.0)
"""For servers on the user's own machine, where one answer may take minutes."""


def retry_policy_for(model: ModelConfig) -> RetryPolicy:
    """The policy of one model."""
    return RetryPolicy() if model.needs_key else LOCAL_SERVER_RETRY


def wait_s(policy: RetryPolicy, failure: Failure, attempt: int) -> float:
    """Seconds until the next attempt: doubling, at least what the service asks, plus jitter."""
    wait = min(policy.first_wait_s * 2.0 ** (attempt - 1), policy.longest_wait_s)
    return max(wait, failure.retry_after or 0.0) * (1 + random.random() / 4)
