"""Shell requests in an agent's transcripts: JSON, JSON lines, or opencode's SQLite file.

Agents change their formats often, so no format is read as such. One walk visits every object, with
the ids and the tool that the objects around it name. One that has a shell's tool and a command is a
call, and every object with its id may be its result. What does not fit is skipped.
"""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]

LONGEST_LINE = 4 << 20
LARGEST_DOCUMENT = 32 << 20
UNKNOWN = "unknown"
"""The shell of a command if neither its tool nor its program nor its session names one."""

_RESULT_IDS = ("tool_use_id", "tool_call_id", "call_id", "callID")
_IDS = (*_RESULT_IDS, "id")
_ARGUMENTS = ("input", "args", "arguments", "action", "parameters")
_COMMANDS = ("command", "cmd", "script")
_SHELL_TOOL = re.compile(r"(?i)bash|shell|pwsh|exec|terminal|command|cmd")
_SHELL = re.compile(r"(?i)(pwsh|powershell)|bash|zsh|\bsh\b")
_STATED_SHELL = re.compile(r"<shell>\s*([\w.]+)\s*</shell>")
_CMDLET = re.compile(r"(?:^|[|({;=])\s*[A-Z][A-Za-z]{1,20}-[A-Z][A-Za-z]{1,30}\b")
_SCAFFOLDING = re.compile(r"\s*(<[a-z][\w-]*>|# AGENTS\.md|\[Request interrupted|Caveat: )")
_EXIT = re.compile(r"(?i)(?:exit(?:ed with)? code:?|\"exit_code\":)\s*(-?\d+)")
_EXIT_KEYS = ("is_error", "exit_code", "exitCode", "exit", "returncode")
"""Keys whose value is false or 0 if a call succeeded."""
_FAILED = {"error", "failed", "cancelled", "canceled", "declined", "interrupted"}
_SUCCEEDED = {"success", "succeeded", "completed"}
_OPENCODE = """
    SELECT CASE WHEN json_valid(part.data) AND json_valid(message.data)
    THEN json_set(message.data, '$.content', json(part.data)) ELSE part.data END
    FROM part JOIN message ON message.id = part.message_id
    WHERE length(part.data) < 4194304
    ORDER BY part.session_id, part.message_id, part.id
"""


@dataclass
class ShellRequest:
    """A command and the sentence that asked for it, not redacted.

    Attributes:
        call_id: the call's id in its transcript.
        text: the agent's description of the call, or the user's prompt if it led to this call only.
        shell: the shell's name, or `UNKNOWN`.
        folder: the folder that the session worked in.
        ok: whether it succeeded; None if the transcript does not say.
    """

    call_id: str
    command: str
    text: str
    shell: str
    folder: str
    ok: bool | None = None


def requests_in(documents: Iterable[Json]) -> Iterator[ShellRequest]:
    """Yield the shell requests in a session's documents, in the order of their prompts."""
    calls, results = dict[str, ShellRequest](), dict[str, bool]()
    turns = [("", calls, results)]
    folder, shell = "", UNKNOWN
    for document in documents:
        nodes = list(_objects(document))
        interrupted = any(node.get("interrupted") is True for node in nodes)
        for node in nodes:
            folders = [node.get("cwd"), *_list(node.get("directories")), folder]
            folder = next(one for one in folders if isinstance(one, str))
            prompt = _prompt(node)
            if stated := _STATED_SHELL.search(prompt):
                shell = _shell_of(stated[1]) or UNKNOWN
            if call := _call(node, shell, folder):
                known = calls.setdefault(call.call_id, call)
                known.shell = known.shell if call.shell == UNKNOWN else call.shell
            elif prompt and not document.get("isMeta") and not _SCAFFOLDING.match(prompt):
                calls, results = {}, {}
                turns.append((prompt, calls, results))
            ok = False if interrupted else _succeeded(node)
            if ok is not None:  # what one place calls failed has failed
                results[_id(node)] = ok and results.get(_id(node), True)
    for prompt, calls, results in turns:
        for call in calls.values():
            if len(calls) == 1:  # a prompt with several calls was not one-shot
                call.text = call.text or prompt
            call.ok = results.get(call.call_id)
            yield call


def _objects(document: Json) -> Iterator[Json]:
    """Yield every object in a document, in the order of the text; without recursion.

    Each has the ids of the objects around it, and as `tool` the tool that it or they name.
    """
    stack: list[tuple[Any, Json]] = [(document, {})]
    while stack:
        value, around = stack.pop()
        if isinstance(value, dict):
            node = around | value
            names = [value.get("name"), value.get("tool"), _id(node) and value.get("type")]
            node["tool"] = next(filter(None, names), around.get("tool", ""))
            yield node
            around = {key: node[key] for key in ("tool", *_IDS) if key in node}
            value = [
                _parse(part) if key in _ARGUMENTS and isinstance(part, str) else part
                for key, part in value.items()
            ]
        stack += [(part, around) for part in reversed(_list(value))]


def _prompt(node: Json) -> str:
    """The text of a user's message; empty for anything else, also for a tool's result."""
    content = node.get("content")
    parts = [
        part if isinstance(part, dict) else {"text": part} for part in _list(content) or [content]
    ]
    is_user = "user" in (node.get("role"), node.get("type"))
    if not is_user or any(key in part for part in parts for key in _RESULT_IDS):
        return ""
    texts = [part.get("text") for part in parts if not part.get("synthetic")]
    return "\n".join(text for text in texts if isinstance(text, str)).strip()


def _call(node: Json, shell: str, folder: str) -> ShellRequest | None:
    """The call that an object makes in a session with this shell and folder, if any."""
    tool, command = str(node["tool"]), next(filter(None, map(node.get, _COMMANDS)), None)
    words = _list(command) or [command]
    if not _SHELL_TOOL.search(tool) or not all(isinstance(word, str) for word in words):
        return None
    *before, text = words
    program = ""
    if before and before[-1].lower() in ("-c", "-lc", "-command"):
        program = _shell_of(before[0])  # which runs the text
    if before and not program:
        text = shlex.join(words)
    shell = program or _shell_of("pwsh" if _CMDLET.search(text) else tool) or shell
    described = str(node.get("description") or "").strip()
    return ShellRequest(_id(node) or text, text.strip(), described, shell, folder)


def _shell_of(name: str) -> str:
    """The shell that the name of a tool or the path of a program names, if any."""
    found = _SHELL.search(name)
    return ("pwsh" if found[1] else "bash") if found else ""


def _succeeded(node: Json) -> bool | None:
    """Whether a call succeeded: by its status, its exit code, or the words around its output."""
    status = str(node.get("status"))
    signs = [False] * (status in _FAILED)
    signs += [not node[key] for key in _EXIT_KEYS if isinstance(node.get(key), int)]
    for text in (node.get("output"), node.get("content")):
        if isinstance(text, str):
            signs += [code == "0" for code in _EXIT.findall(f"{text[:400]}\n{text[-400:]}")]
    signs += [True] * (node.get("type") == "tool_result" or status in _SUCCEEDED)
    return signs[0] if signs else None


def _id(node: Json) -> str:
    return next((value for key in _IDS if isinstance(value := node.get(key), str)), "")


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def documents_of(path: Path, tally: Counter[str]) -> Iterator[Json]:
    """Yield the objects in a file, and count in `tally` what was skipped."""
    try:
        for text in _database(path) if path.suffix == ".db" else _texts(path):
            document = _parse(text)
            if isinstance(document, dict | list):
                yield document if isinstance(document, dict) else {"": document}
            elif text.strip():
                tally["malformed lines"] += 1
    except (OSError, sqlite3.Error):
        tally["unreadable files"] += 1


def _texts(path: Path) -> Iterator[bytes]:
    """Yield a .json file as a whole, and another file line by line; an overlong text in pieces."""
    with path.open("rb") as stream:
        if path.suffix == ".json":
            yield stream.read(LARGEST_DOCUMENT)
        while text := stream.readline(LONGEST_LINE):
            yield text


def _database(path: Path) -> Iterator[str]:
    """Yield opencode's messages, each with one of its parts as content, from a read-only file."""
    uri = f"{path.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        yield from (str(text) for (text,) in connection.execute(_OPENCODE))


def _parse(text: str | bytes) -> Any:
    """The value of a JSON text; None if it is malformed."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
