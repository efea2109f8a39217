"""Shell commands in any agent's transcripts: JSON, JSON lines, or opencode's SQLite file.

Agents change their formats often, so no format is read as such. Every object that looks like a tool call
with a command is one, in any surroundings, and every object that repeats its id is its result. What does
not fit is skipped.
"""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

Json = dict[str, Any]

LONGEST_LINE = 4 << 20
LARGEST_DOCUMENT = 32 << 20
UNKNOWN = "unknown"
"""The shell of a command if neither its tool nor its program nor its session names one."""

_IDS = ("tool_use_id", "tool_call_id", "call_id", "callID", "id")
_ARGUMENTS = ("input", "args", "arguments", "action", "parameters")
_COMMANDS = ("command", "cmd", "script")
_SHELL_TOOL = re.compile(r"(?i)bash|shell|pwsh|exec|terminal|command|cmd")
_SHELLS = {"bash": "bash", "sh": "bash", "zsh": "bash", "pwsh": "pwsh", "powershell": "pwsh"}
_STATED_SHELL = re.compile(r"<shell>\s*([\w.]+)\s*</shell>")
_CMDLET = re.compile(r"(?:^|[|({;=])\s*[A-Z][A-Za-z]{1,20}-[A-Z][A-Za-z]{1,30}\b")
_SCAFFOLDING = re.compile(r"\s*(<[a-z][\w-]*>|# AGENTS\.md|\[Request interrupted|Caveat: )")
_EXIT = re.compile(r"(?i)(?:exit(?:ed with)? code:?|\"exit_code\":)\s*(-?\d+)")
_EXIT_KEYS = ("exit_code", "exitCode", "exit", "returncode")
_FAILED = {"error", "failed", "cancelled", "canceled", "declined", "interrupted"}
_SUCCEEDED = {"success", "succeeded", "completed"}
_OPENCODE = (
    "SELECT CASE WHEN json_valid(part.data) AND json_valid(message.data)"
    " THEN json_set(message.data, '$.content', json(part.data)) ELSE part.data END"
    " FROM part JOIN message ON message.id = part.message_id"
    " ORDER BY part.session_id, part.message_id, part.id"
)


@dataclass
class ShellRequest:
    """A command and the sentence that asked for it, not redacted.

    Attributes:
        text: the agent's description of the call, or the user's prompt if it led to this call only.
        shell: the shell's name, or `UNKNOWN`.
        ok: whether it succeeded; None if the transcript does not say.
        described: whether `text` is the agent's description.
        folder: the folder that the session worked in.
        call_id: the call's id in its transcript.
    """

    text: str
    command: str
    shell: str
    described: bool
    folder: str
    call_id: str
    ok: bool | None = None


@dataclass
class _Session:
    """What a transcript said so far: its folder and shell, and the calls since the last prompt."""

    prompt: str = ""
    folder: str = ""
    shell: str = UNKNOWN
    calls: dict[str, ShellRequest] = field(default_factory=dict)

    def close_turn(self) -> Iterator[ShellRequest]:
        """Yield the calls of the last prompt. A prompt with several calls was not one-shot."""
        for call in self.calls.values():
            if not call.described and len(self.calls) == 1:
                call.text = self.prompt
            yield call
        self.calls = {}


def read_requests(path: Path, tally: Counter[str]) -> Iterator[ShellRequest]:
    """Yield the shell requests in one file, and count in `tally` what was read and what was skipped."""
    try:
        yield from requests_in(_read(path, tally))
    except (OSError, sqlite3.Error):
        tally["unreadable files"] += 1


def requests_in(documents: Iterable[Json]) -> Iterator[ShellRequest]:
    """Yield the shell requests in a session's documents, in the order of their prompts."""
    session = _Session()
    for document in documents:
        nodes = list(_objects(document))
        interrupted = any(node.get("interrupted") is True for node in nodes)
        for node in nodes:
            if isinstance(folder := node.get("cwd"), str):
                session.folder = folder
            elif isinstance(folders := node.get("directories"), list) and folders:
                session.folder = str(folders[0])
            prompt = _prompt(node)
            if stated := _STATED_SHELL.search(prompt):
                session.shell = _SHELLS.get(stated[1].lower().removesuffix(".exe"), UNKNOWN)
            if call := _call(node, session):
                session.calls.setdefault(call.call_id, call)
            elif prompt and not document.get("isMeta") and not _SCAFFOLDING.match(prompt):
                yield from session.close_turn()
                session.prompt = prompt
            _note_result(node, session.calls, interrupted)
    yield from session.close_turn()


def _objects(document: Json) -> Iterator[Json]:
    """Yield every object in a document, in the order of the text; without recursion."""
    stack: list[Any] = [document]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            function = value.get("function")
            if isinstance(function, dict):  # the id is outside of the function, its name within
                value = value | function | {"function": None}
            yield value
            stack.extend(reversed(value.values()))
        elif isinstance(value, list):
            stack.extend(reversed(value))


def _prompt(node: Json) -> str:
    """Return the text of a user's message; empty for anything else, also for a tool's result."""
    if "user" not in (node.get("role"), node.get("type")):
        return ""
    content = node.get("content")
    parts = content if isinstance(content, list) else [content]
    if any(isinstance(part, dict) and _id(part, _IDS[:4]) for part in parts):
        return ""
    texts = [
        part.get("text") if isinstance(part, dict) and not part.get("synthetic") else part
        for part in parts
    ]
    return "\n".join(text for text in texts if isinstance(text, str)).strip()


def _call(node: Json, session: _Session) -> ShellRequest | None:
    """Return the call that an object makes, or None if it makes none."""
    tool = str(node.get("name") or node.get("tool") or node.get("type"))
    if not _SHELL_TOOL.search(tool):
        return None
    state = node.get("state")
    places = [node, state] if isinstance(state, dict) else [node]
    given = next((found for place in places if (found := _arguments(place))), {})
    if not given and _id(node):
        given = node
    command = next((given[key] for key in _COMMANDS if given.get(key)), None)
    program, text = _program_and_text(command)
    if not text:
        return None
    description = given.get("description")
    described = isinstance(description, str) and bool(description.strip())
    return ShellRequest(
        text=str(description).strip() if described else "",
        command=text.strip(),
        shell=_shell(program, text, tool, session.shell),
        described=described,
        folder=session.folder,
        call_id=_id(node) or text,
    )


def _arguments(node: Json) -> Json:
    for key in _ARGUMENTS:
        value = node.get(key)
        if isinstance(value, str):
            value = _parse(value)
        if isinstance(value, dict):
            return value
    return {}


def _program_and_text(command: object) -> tuple[str, str]:
    """Return the shell that a list of arguments starts, if any, and the command's text."""
    if isinstance(command, str):
        return "", command
    if not isinstance(command, list) or not all(isinstance(part, str) for part in command):
        return "", ""
    if not command:
        return "", ""
    name = command[0].replace("\\", "/").rsplit("/", 1)[-1].lower().removesuffix(".exe")
    options = [part.lower() for part in command]
    if name in _SHELLS and len(options) > 2 and options[-2] in ("-c", "-lc", "-command"):
        return _SHELLS[name], command[-1]
    return "", shlex.join(command)


def _shell(program: str, text: str, tool: str, stated: str) -> str:
    """Return the shell by the program, by a cmdlet in the text, by the tool's name, or as stated."""
    if program:
        return program
    if _CMDLET.search(text) or re.search("(?i)powershell|pwsh", tool):
        return "pwsh"
    return "bash" if "bash" in tool.lower() else stated


def _note_result(node: Json, calls: dict[str, ShellRequest], interrupted: bool) -> None:
    """Note how a call ended, if the object says it. What one place calls failed has failed."""
    call = calls.get(_id(node))
    if call is None:
        return
    ok = False if interrupted else _succeeded(node)
    if ok is not None and call.ok is not False:
        call.ok = ok
    program, _ = _program_and_text(node.get("command"))
    if program:
        call.shell = program


def _succeeded(node: Json) -> bool | None:
    """Return whether a call or result succeeded: by its exit code, its status, or the words around its output."""
    for part in _objects({key: value for key, value in node.items() if key not in _ARGUMENTS}):
        if part.get("is_error") is True or str(part.get("status")) in _FAILED:
            return False
        if part.get("is_error") is False:
            return True
        for key in _EXIT_KEYS:
            if type(part.get(key)) is int:
                return bool(part[key] == 0)
        for key in ("output", "content"):
            text = part.get(key)
            if isinstance(text, str) and (
                found := _EXIT.search(text[:400]) or _EXIT.search(text[-400:])
            ):
                return int(found[1]) == 0
    known = node.get("type") == "tool_result" or str(node.get("status")) in _SUCCEEDED
    return True if known else None


def _id(node: Json, keys: Iterable[str] = _IDS) -> str:
    return next((value for key in keys if isinstance(value := node.get(key), str)), "")


def _read(path: Path, tally: Counter[str]) -> Iterator[Json]:
    """Yield the objects in a file. Malformed and overlong texts are skipped and counted in `tally`."""
    for data in _database(path) if path.suffix == ".db" else _texts(path, tally):
        tally["lines"] += 1
        tally["bytes"] += len(data)
        document = _parse(data)
        if isinstance(document, dict):
            yield document
        elif isinstance(document, list):
            yield {"": document}
        elif data.strip():
            tally["malformed lines"] += 1


def _texts(path: Path, tally: Counter[str]) -> Iterator[bytes]:
    """Yield a .json file as a whole, and another file line by line."""
    with path.open("rb") as stream:
        limit = LARGEST_DOCUMENT if path.suffix == ".json" else LONGEST_LINE
        read = stream.read if path.suffix == ".json" else stream.readline
        while text := read(limit):
            if len(text) < limit or text.endswith(b"\n"):
                yield text
                continue
            tally["overlong lines"] += 1
            while (rest := read(limit)) and not rest.endswith(b"\n"):
                tally["bytes"] += len(rest)


def _database(path: Path) -> Iterator[str]:
    """Yield opencode's messages, each with one of its parts as content. The file is opened for reading only."""
    uri = f"file:{quote(str(path.resolve()))}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_LINE)
        yield from (str(text) for (text,) in connection.execute(_OPENCODE))


def _parse(text: str | bytes) -> Any:
    """Return the value of a JSON text; None if it is malformed."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
