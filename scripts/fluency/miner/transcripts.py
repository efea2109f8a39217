"""Shell requests in the transcripts of Claude Code, Codex CLI, Gemini CLI and opencode.

The formats are internal to their makers and change. What does not fit is skipped, and counted where it is no JSON
object; it is never an error. Files are read line by line.
"""

from __future__ import annotations

import itertools
import json
import re
import shlex
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

LONGEST_LINE = 4 << 20
LARGEST_DOCUMENT = 32 << 20
_SNIFFED = 5
_SCAFFOLDING = re.compile(r"^\s*(<[a-z][\w-]*>|# AGENTS\.md|\[Request interrupted|Caveat: )")
_EXIT = re.compile(r"(?:exit(?:ed with)? code:?|\"exit_code\":)\s*(-?\d+)", re.IGNORECASE)
_CLAUDE_SHELLS = {"Bash": "bash", "PowerShell": "pwsh"}
_CODEX_TOOLS = {"exec_command", "shell", "shell_command", "container.exec", "local_shell"}
_SHELL_PROGRAMS = {
    "bash": "bash",
    "sh": "bash",
    "zsh": "bash",
    "pwsh": "pwsh",
    "powershell": "pwsh",
}
_OPENCODE_QUERY = (
    "SELECT part.session_id, CAST(part.data AS TEXT), CAST(message.data AS TEXT) "
    "FROM part JOIN message ON message.id = part.message_id ORDER BY part.session_id, part.message_id, part.id"
)


@dataclass(frozen=True)
class Prompt:
    """A user's message."""

    text: str


@dataclass(frozen=True)
class Call:
    """A command that an agent ran; `description` is the agent's own sentence about it, if it gave one."""

    call_id: str
    command: str
    shell: str
    description: str = ""


@dataclass(frozen=True)
class Outcome:
    """How a call ended; `ok` is None where the transcript does not say."""

    call_id: str
    ok: bool | None


@dataclass(frozen=True)
class WorkingFolder:
    """The folder the session worked in."""

    folder: str


Event = Prompt | Call | Outcome | WorkingFolder


@dataclass(frozen=True)
class ShellRequest:
    """A command and the sentence that asked for it, not redacted; `text` is empty if no sentence did."""

    text: str
    command: str
    shell: str
    ok: bool | None
    described: bool
    folder: str
    call_id: str


@dataclass
class _Turn:
    prompt: str = ""
    calls: dict[str, Call] = field(default_factory=dict)
    outcomes: dict[str, bool | None] = field(default_factory=dict)


def read_requests(path: Path, files: Counter[str], tally: Counter[str]) -> Iterator[ShellRequest]:
    """The requests in one file. `files` counts the agents' transcripts; another kind of file has no request."""
    try:
        if path.suffix == ".db":
            yield from _opencode(path, files, tally)
        else:
            yield from assemble(_events(path, files, tally))
    except (OSError, sqlite3.Error):
        tally["unreadable files"] += 1


def assemble(events: Iterable[Event]) -> Iterator[ShellRequest]:
    """The requests in a session's events.

    A call with a description is a separate request. A call without one belongs to the user's prompt, and
    counts only if it was the only call that the prompt led to: anything else is not one-shot.
    """
    turn, folder = _Turn(), ""
    for event in events:
        if isinstance(event, WorkingFolder):
            folder = event.folder
        elif isinstance(event, Outcome):
            if event.call_id in turn.calls and turn.outcomes.get(event.call_id) is None:
                turn.outcomes[event.call_id] = event.ok
        elif isinstance(event, Call):
            turn.calls.setdefault(event.call_id, event)
        elif not _SCAFFOLDING.match(event.text):
            yield from _close(turn, folder)
            turn = _Turn(prompt=event.text.strip())
    yield from _close(turn, folder)


def _close(turn: _Turn, folder: str) -> Iterator[ShellRequest]:
    for call in turn.calls.values():
        yield ShellRequest(
            text=(call.description or (turn.prompt if len(turn.calls) == 1 else "")).strip(),
            command=call.command.strip(),
            shell=call.shell,
            ok=turn.outcomes.get(call.call_id),
            described=bool(call.description),
            folder=folder,
            call_id=call.call_id,
        )


def _events(path: Path, files: Counter[str], tally: Counter[str]) -> Iterator[Event]:
    """The events of a .json or .jsonl file, in the format that its first objects show."""
    if path.suffix == ".json":
        records = _read_document(path, tally) if path.name.startswith("session-") else iter(())
    else:
        records = _read_lines(path, tally)
    first = list(itertools.islice(records, _SNIFFED))
    for name, (recognises, reader) in _FORMATS.items():
        if any(map(recognises, first)):
            files[name] += 1
            yield from reader(itertools.chain(first, records))
            return


def _claude_code(records: Iterable[dict[str, Any]]) -> Iterator[Event]:
    """~/.claude/projects/<folder>/<session>.jsonl, one event a line."""
    for record in records:
        content = _dict(record.get("message")).get("content")
        blocks = [block for block in _list(content) if isinstance(block, dict)]
        if isinstance(record.get("cwd"), str):
            yield WorkingFolder(record["cwd"])
        if record.get("type") == "assistant":
            for block in blocks:
                given, shell = _dict(block.get("input")), _CLAUDE_SHELLS.get(str(block.get("name")))
                if block.get("type") == "tool_use" and shell:
                    yield from _call(block.get("id"), given.get("command"), shell, given)
        elif record.get("type") == "user":
            results = [block for block in blocks if block.get("type") == "tool_result"]
            for block in results:
                failed = block.get("is_error") or _dict(record.get("toolUseResult")).get(
                    "interrupted"
                )
                yield Outcome(str(block.get("tool_use_id")), not failed)
            if not results and not record.get("isMeta") and (text := _text(content)):
                yield Prompt(text)


def _codex(records: Iterable[dict[str, Any]]) -> Iterator[Event]:
    """~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl, lines of {timestamp, type, payload}."""
    for record in records:
        payload = _dict(record.get("payload"))
        kind, call_id = payload.get("type"), str(payload.get("call_id"))
        if isinstance(payload.get("cwd"), str):
            yield WorkingFolder(payload["cwd"])
        if record.get("type") == "event_msg" and kind == "exec_command_end":
            code = payload.get("exit_code")
            yield Outcome(call_id, code == 0 if isinstance(code, int) else None)
        elif record.get("type") == "response_item":
            if kind == "message" and payload.get("role") == "user":
                yield Prompt(_text(payload.get("content")))
            elif kind == "function_call_output":
                yield Outcome(call_id, _succeeded(payload.get("output")))
            elif kind == "local_shell_call" or (
                kind == "function_call" and str(payload.get("name")) in _CODEX_TOOLS
            ):
                given = (
                    _dict(payload.get("action"))
                    or _parse(str(payload.get("arguments")), Counter())
                    or {}
                )
                if command := unwrap(given.get("cmd") or given.get("command")):
                    yield from _call(call_id, command[1], command[0], given)


def unwrap(command: Any) -> tuple[str, str] | None:
    """Shell and text of a command given as a text or as arguments such as ["bash", "-lc", text]."""
    if isinstance(command, str):
        return "bash", command
    if (
        not isinstance(command, list)
        or not command
        or not all(isinstance(part, str) for part in command)
    ):
        return None
    name = PurePosixPath(command[0].replace("\\", "/")).name.lower().removesuffix(".exe")
    if (
        name in _SHELL_PROGRAMS
        and len(command) >= 3
        and command[-2].lower() in ("-c", "-lc", "-command")
    ):
        return _SHELL_PROGRAMS[name], command[-1]
    return "bash", shlex.join(command)


def _succeeded(output: Any) -> bool | None:
    """From an output that names an exit code near its start or end, as a text or as JSON."""
    text = output if isinstance(output, str) else json.dumps(output)
    found = _EXIT.search(text[:400]) or _EXIT.search(text[-400:])
    return int(found[1]) == 0 if found else None


def _gemini(records: Iterable[dict[str, Any]]) -> Iterator[Event]:
    """~/.gemini/tmp/<project>/chats/session-*.jsonl, older ones one .json document.

    A user can go back: `$rewindTo` takes what followed a record out of the session, and a record of the
    same id replaces the earlier one. So events are kept until the end, without the tools' output.
    """
    kept: dict[str, list[Event]] = {}
    for record in records:
        if folders := _list(record.get("directories")):
            kept.setdefault("", []).append(WorkingFolder(str(folders[0])))
        if (back := str(record.get("$rewindTo"))) in kept:
            ids = list(kept)
            for later in ids[ids.index(back) + 1 :]:
                del kept[later]
        messages = [record] if record.get("type") in ("user", "gemini") else []
        messages += _list(record.get("messages")) + _list(_dict(record.get("$set")).get("messages"))
        for message in map(_dict, messages):
            kept[str(message.get("id") or len(kept))] = list(_gemini_events(message))
    yield from itertools.chain.from_iterable(kept.values())


def _gemini_events(message: dict[str, Any]) -> Iterator[Event]:
    if message.get("type") == "user" and (text := _text(message.get("content"))):
        yield Prompt(text)
    for call in map(_dict, _list(message.get("toolCalls"))):
        if call.get("name") == "run_shell_command":
            given = _dict(call.get("args"))
            yield from _call(call.get("id"), given.get("command"), "bash", given)
            known = {"success": True, "error": False, "cancelled": False}
            yield Outcome(str(call.get("id")), known.get(str(call.get("status"))))


_FORMATS: dict[
    str,
    tuple[Callable[[dict[str, Any]], bool], Callable[[Iterable[dict[str, Any]]], Iterator[Event]]],
] = {
    "Claude Code": (
        lambda r: "sessionId" in r and "type" in r and ("message" in r or "uuid" in r),
        _claude_code,
    ),
    "Codex CLI": (lambda r: isinstance(r.get("payload"), dict) and "type" in r, _codex),
    "Gemini CLI": (lambda r: "sessionId" in r and "projectHash" in r, _gemini),
}
"""Agent -> whether an object is of its format, and the events of such objects."""


def _opencode(path: Path, files: Counter[str], tally: Counter[str]) -> Iterator[ShellRequest]:
    """$XDG_DATA_HOME/opencode/opencode.db, an SQLite file of several sessions, opened for reading only."""
    with path.open("rb") as stream:
        if stream.read(16) != b"SQLite format 3\0":
            return
    files["opencode"] += 1
    with closing(
        sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)
    ) as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_LINE)
        for _, rows in itertools.groupby(connection.execute(_OPENCODE_QUERY), key=itemgetter(0)):
            yield from assemble(
                e for _, part, message in rows for e in _opencode_events(part, message, tally)
            )


def _opencode_events(
    part_data: str | None, message_data: str | None, tally: Counter[str]
) -> Iterator[Event]:
    tally["lines"] += 1
    tally["bytes"] += len(part_data or "")
    part, message = _parse(part_data or "", tally) or {}, _parse(message_data or "", tally) or {}
    folder = _dict(message.get("path")).get("cwd")
    if isinstance(folder, str):
        yield WorkingFolder(folder)
    if part.get("type") == "text" and message.get("role") == "user" and not part.get("synthetic"):
        yield Prompt(str(part.get("text") or ""))
    elif part.get("type") == "tool" and part.get("tool") == "bash":
        state, call_id = _dict(part.get("state")), str(part.get("callID"))
        given, code = _dict(state.get("input")), _dict(state.get("metadata")).get("exit")
        yield from _call(call_id, given.get("command"), "bash", given)
        known = {"completed": code == 0 if isinstance(code, int) else None, "error": False}
        yield Outcome(call_id, known.get(str(state.get("status"))))


def _call(call_id: Any, command: Any, shell: str, given: dict[str, Any]) -> Iterator[Call]:
    if isinstance(command, str):
        yield Call(str(call_id), command, shell, str(given.get("description") or ""))


def _read_lines(path: Path, tally: Counter[str]) -> Iterator[dict[str, Any]]:
    """The objects of a .jsonl file. Malformed and overlong lines are skipped and counted in `tally`."""
    with path.open("rb") as stream:
        while line := stream.readline(LONGEST_LINE):
            tally["lines"] += 1
            tally["bytes"] += len(line)
            if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                tally["overlong lines"] += 1
                while (rest := stream.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                    tally["bytes"] += len(rest)
            elif line.strip() and (value := _parse(line, tally)) is not None:
                yield value


def _read_document(path: Path, tally: Counter[str]) -> Iterator[dict[str, Any]]:
    """The object in a .json file, if it is one and not too large to be a transcript."""
    if path.stat().st_size > LARGEST_DOCUMENT:
        tally["overlong lines"] += 1
        return
    data = path.read_bytes()
    tally["lines"] += 1
    tally["bytes"] += len(data)
    if (value := _parse(data, tally)) is not None:
        yield value


def _parse(data: bytes | str, tally: Counter[str]) -> dict[str, Any] | None:
    """A JSON object; None, counted in `tally`, if it is none."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return value
    tally["malformed lines"] += 1
    return None


def _text(content: Any) -> str:
    """The text of a message's content: a text, or a list of texts or blocks that have one."""
    parts = [
        part.get("text") if isinstance(part, dict) else part for part in _list(content) or [content]
    ]
    return "\n".join(part for part in parts if isinstance(part, str) and part)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
