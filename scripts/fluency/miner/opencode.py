"""opencode's transcripts: one SQLite file, $XDG_DATA_HOME/opencode/opencode.db, opened for reading only."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fluency.miner.json_lines import as_dict, parse
from fluency.miner.transcript import Call, Event, Outcome, Prompt, WorkingFolder

_QUERY = (
    "SELECT part.session_id, part.data, message.data FROM part JOIN message ON message.id = part.message_id "
    "ORDER BY part.session_id, part.message_id, part.id"
)
_LONGEST = 4 << 20


def recognises(path: Path) -> bool:
    """Whether a file is an SQLite database."""
    with path.open("rb") as stream:
        return stream.read(16) == b"SQLite format 3\0"


def sessions(path: Path, tally: Counter[str]) -> Iterator[Iterator[Event]]:
    """The events of each session, one after the other. A database of another shape counts as malformed."""
    try:
        with _open(path) as rows:
            current: str | None = None
            events: list[Event] = []
            for session, part, message in rows:
                tally["lines"] += 1
                tally["bytes"] += len(part or "")
                if session != current and events:
                    yield iter(events)
                    events = []
                current = session
                events.extend(_events(parse(part or "", tally), parse(message or "", tally)))
            yield iter(events)
    except sqlite3.Error:
        tally["malformed lines"] += 1


class _open:
    """Rows of a database; one that another program holds open is read as it lies on the disk."""

    def __init__(self, path: Path) -> None:
        self._path = quote(str(path.resolve()))

    def __enter__(self) -> sqlite3.Cursor:
        for mode in ("mode=ro", "immutable=1"):
            self._connection = sqlite3.connect(f"file:{self._path}?{mode}", uri=True)
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
            try:
                return self._connection.execute(_QUERY)
            except sqlite3.OperationalError as error:
                self._connection.close()
                if mode == "immutable=1" or "no such" in str(error):
                    raise
        raise AssertionError("one of the two modes returned or raised")

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def _events(part: dict[str, Any] | None, message: dict[str, Any] | None) -> Iterator[Event]:
    part = part or {}
    folder = as_dict(as_dict(message).get("path")).get("cwd")
    if isinstance(folder, str):
        yield WorkingFolder(folder)
    if part.get("type") == "text" and as_dict(message).get("role") == "user" and not part.get("synthetic"):
        yield Prompt(str(part.get("text") or ""))
    elif part.get("type") == "tool" and part.get("tool") == "bash":
        state = as_dict(part.get("state"))
        given = as_dict(state.get("input"))
        if isinstance(given.get("command"), str):
            call_id = str(part.get("callID"))
            yield Call(call_id, given["command"], "bash", str(given.get("description") or ""))
            code = as_dict(state.get("metadata")).get("exit")
            known = {"completed": code == 0 if isinstance(code, int) else None, "error": False}
            yield Outcome(call_id, known.get(str(state.get("status"))))
