"""Gemini CLI's transcripts: ~/.gemini/tmp/<project>/chats/session-*.jsonl, older ones one .json document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fluency.miner.json_lines import as_dict, as_list, text_of
from fluency.miner.transcript import Call, Event, Outcome, Prompt, WorkingFolder

MOST_RECORDS = 20_000


def recognises(record: dict[str, Any]) -> bool:
    """Whether the first line, or the document, is of this kind."""
    return "sessionId" in record and "projectHash" in record


def events(records: Iterable[dict[str, Any]]) -> Iterator[Event]:
    """The events of one session.

    A user can go back: `$rewindTo` takes what followed a record out of the session, and a record of the
    same id replaces the earlier one. So the events are kept until the end, without the tools' output.
    """
    kept: dict[str, list[Event]] = {}
    for record in records:
        if isinstance(record.get("directories"), list) and record["directories"]:
            kept.setdefault("", []).append(WorkingFolder(str(record["directories"][0])))
        if "$rewindTo" in record:
            ids = list(kept)
            if record["$rewindTo"] in kept:
                for later in ids[ids.index(record["$rewindTo"]) + 1 :]:
                    del kept[later]
        for message in _messages(record):
            if len(kept) >= MOST_RECORDS:
                yield from (event for events in kept.values() for event in events)
                kept.clear()
            kept[str(message.get("id") or len(kept))] = list(_events(message))
    for events in kept.values():
        yield from events


def _messages(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The message that a line is, or those that a document or a `$set` brings."""
    if record.get("type") in ("user", "gemini"):
        yield record
    for holder in (record, as_dict(record.get("$set"))):
        for message in as_list(holder.get("messages")):
            if isinstance(message, dict):
                yield message


def _events(message: dict[str, Any]) -> Iterator[Event]:
    if message.get("type") == "user" and (text := text_of(message.get("content"))):
        yield Prompt(text)
    for call in as_list(message.get("toolCalls")):
        given = as_dict(as_dict(call).get("args"))
        if as_dict(call).get("name") == "run_shell_command" and isinstance(given.get("command"), str):
            yield Call(str(call.get("id")), given["command"], "bash", str(given.get("description") or ""))
            known = {"success": True, "error": False, "cancelled": False}
            yield Outcome(str(call.get("id")), known.get(str(call.get("status"))))
