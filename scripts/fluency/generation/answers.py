"""A reply's bytes made into the answer that the store keeps."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from fluency.core.records import Answer, Request
from fluency.generation.reply import Reading, read_reply


def answer_of(key: str, request: Request, body: bytes, note: Mapping[str, object]) -> Answer:
    """An answer from a reply and what was noted beside it (latency, attempts, time, server); Failure if unreadable."""
    return answer_from(key, request, read_reply(body), note)


def answer_from(key: str, request: Request, reading: Reading, note: Mapping[str, object]) -> Answer:
    """An answer from a message that has been read."""
    return Answer(
        request_key=key,
        request=request,
        outcome=reading.outcome,
        text=reading.text,
        raw=reading.raw,
        stop_reason=reading.stop_reason,
        model_echoed=reading.model_echoed,
        usage=reading.usage,
        **note,
    )


def utc_now() -> str:
    """Now, as records write it."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
