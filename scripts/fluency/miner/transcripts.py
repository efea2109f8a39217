"""Shell requests in an agent's transcripts: JSON, JSON lines, or opencode's SQLite file.

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
_OPENCODE = """
    SELECT CASE WHEN json_valid(part.data) AND json_valid(message.data)
    THEN json_set(message.data, '$.content', json(part.data)) ELSE part.data END
    FROM part JOIN message ON message.id = part.message_id
    ORDER BY part.session_id, part.message_id, part.id
"""


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

    def rank(self) -> tuple[object, ...]:
        """The place of a request among examples: success, a description, brevity; the texts make it definite."""
        return not self.ok, not self.described, len(self.text), self.text, self.command


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
            folders = [node.get("cwd"), *_list(node.get("directories"))]
            session.folder = next((one for one in folders if isinstance(one, str)), session.folder)
            prompt = _prompt(node)
            if stated := _STATED_SHELL.search(prompt):
                session.shell = _shell_of(stated[1]) or UNKNOWN
            if call := _call(node, session):
                session.calls.setdefault(call.call_id, call)
            elif prompt and not document.get("isMeta") and not _SCAFFOLDING.match(prompt):
                yield from session.close_turn()
                session.prompt = prompt
            if known := session.calls.get(_id(node)):
                ok = False if interrupted else _succeeded(node)
                # What one place calls failed has failed.
                known.ok = known.ok if ok is None or known.ok is False else ok
                known.shell = _program_and_text(node.get("command"))[0] or known.shell
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
            value = list(value.values())
        stack += reversed(_list(value))


def _prompt(node: Json) -> str:
    """The text of a user's message; empty for anything else, also for a tool's result."""
    if "user" not in (node.get("role"), node.get("type")):
        return ""
    content = node.get("content")
    texts = []
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, dict):
            if _id(part, _IDS[:4]):
                return ""
            part = None if part.get("synthetic") else part.get("text")
        texts += [part] if isinstance(part, str) else []
    return "\n".join(texts).strip()


def _call(node: Json, session: _Session) -> ShellRequest | None:
    """The call that an object makes; None if it makes none."""
    tool = str(node.get("name") or node.get("tool") or node.get("type"))
    if not _SHELL_TOOL.search(tool):
        return None
    given = _arguments(node) or _arguments(node.get("state")) or (node if _id(node) else {})
    program, text = _program_and_text(next(filter(None, map(given.get, _COMMANDS)), None))
    if not text:
        return None
    description = given.get("description")
    description = description.strip() if isinstance(description, str) else ""
    if not program and (_CMDLET.search(text) or re.search("(?i)powershell|pwsh", tool)):
        program = "pwsh"
    return ShellRequest(
        text=description,
        command=text.strip(),
        shell=program or ("bash" if "bash" in tool.lower() else session.shell),
        described=bool(description),
        folder=session.folder,
        call_id=_id(node) or text,
    )


def _arguments(node: Any) -> Json:
    for key in _ARGUMENTS if isinstance(node, dict) else ():
        value = node.get(key)
        value = _parse(value) if isinstance(value, str) else value
        if isinstance(value, dict):
            return value
    return {}


def _program_and_text(command: object) -> tuple[str, str]:
    """The shell that a list of arguments starts, if any, and the command's text."""
    if isinstance(command, str):
        return "", command
    words = _list(command)
    if not words or not all(isinstance(word, str) for word in words):
        return "", ""
    program = _shell_of(words[0])
    if program and len(words) > 2 and words[-2].lower() in ("-c", "-lc", "-command"):
        return program, words[-1]
    return "", shlex.join(words)


def _shell_of(program: str) -> str:
    """The shell by the name or path of its program; empty if it is another program."""
    name = re.split(r"[/\\]", program)[-1].lower().removesuffix(".exe")
    return _SHELLS.get(name, "")


def _succeeded(node: Json) -> bool | None:
    """Whether a call or result succeeded: by its exit code, its status, or the words around its output."""
    for part in _objects({key: value for key, value in node.items() if key not in _ARGUMENTS}):
        if part.get("is_error") is True or str(part.get("status")) in _FAILED:
            return False
        if part.get("is_error") is False:
            return True
        codes = [part[key] for key in _EXIT_KEYS if type(part.get(key)) is int]
        for text in (part.get("output"), part.get("content")):
            if isinstance(text, str):
                codes += map(int, _EXIT.findall(text[:400]) or _EXIT.findall(text[-400:]))
        if codes:
            return bool(codes[0] == 0)
    known = node.get("type") == "tool_result" or str(node.get("status")) in _SUCCEEDED
    return True if known else None


def _id(node: Json, keys: Iterable[str] = _IDS) -> str:
    return next((value for key in keys if isinstance(value := node.get(key), str)), "")


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _read(path: Path, tally: Counter[str]) -> Iterator[Json]:
    """Yield the objects in a file. Malformed and overlong texts are skipped and counted in `tally`."""
    for data in _database(path) if path.suffix == ".db" else _texts(path, tally):
        tally["lines"] += 1
        tally["bytes"] += len(data)
        document = _parse(data)
        if isinstance(document, dict | list):
            yield document if isinstance(document, dict) else {"": document}
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
    """The value of a JSON text; None if it is malformed."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
