"""Shell requests in an agent's transcripts: JSON, JSON lines, or opencode's SQLite file.

Agents change their formats often, so no format is read as such. One walk visits every object, with
the ids and the tool that the objects around it name. One that has a shell's tool and a command is a
call, and every object with its id may be its result. What does not fit is skipped. `formats.yaml`
has the names of all this.
"""

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

from fluency.common.data_file import data_file
from fluency.common.errors import UserError

Json = dict[str, Any]

LONGEST_LINE = 4 << 20
LARGEST_DOCUMENT = 32 << 20
OUTPUT = 800
"""Characters of a result that are kept."""
UNKNOWN = "unknown"
"""The shell of a command if nothing in its session names one."""
RULES = data_file(__file__, "formats.yaml")
_IDS = [*RULES["result_ids"], "id"]
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
        text: the agent's description of the call or its sentence before it, or the user's prompt if
            it led to this call only.
        shell: the shell's name, or `UNKNOWN`.
        folder: the folder that the session worked in.
        ok: whether it succeeded; None if the transcript does not say.
        output: the beginning and the end of what its result says.
    """

    call_id: str
    command: str
    text: str
    shell: str
    folder: str
    ok: bool | None = None
    output: str = ""


def requests_in(documents: Iterable[Json]) -> Iterator[ShellRequest]:
    """Yield the shell requests in a session's documents, the last turn first."""
    known: dict[str, ShellRequest] = {}
    # Who said what, and the calls after it.
    turns: list[tuple[str, str, list[ShellRequest]]] = [("", "", [])]
    folder = ""
    for document in documents:
        nodes = list(_objects(document))
        for node in nodes:
            folders = [node.get("cwd"), *_list(node.get("directories")), folder]
            folder = next(one for one in folders if isinstance(one, str))
            speaker, text = _said(node)
            if call := _call(node, folder):
                same = known.get(call.command if node["tool"] == RULES["repeats"] else call.call_id)
                if not same:
                    turns[-1][2].append(call)
                elif call.shell != UNKNOWN:
                    same.shell = call.shell
                known |= dict.fromkeys((call.call_id, call.command), same or call)
            elif text and not document.get("isMeta") and not re.match(RULES["scaffolding"], text):
                turns.append((speaker, text.splitlines()[-1] if speaker == "agent" else text, []))
        interrupted = any(node.get("interrupted") is True for node in nodes)
        for node in nodes:
            if request := known.get(_id(node)):
                result = _text(next(filter(None, map(node.get, RULES["outputs"])), ""))
                if len(result) > OUTPUT:
                    result = f"{result[: OUTPUT // 2]}\n{result[-OUTPUT // 2 :]}"
                request.output = request.output or result
                said = ((key, one) for key, one in node.items() if isinstance(one, str | int))
                facts = [f"{key}={one}" for key, one in said if len(str(one)) < 40]
                ok = not interrupted and first(RULES["results"], request.output, *facts)
                if ok is not None:  # what one place calls failed has failed
                    request.ok = ok and request.ok is not False
    more = False
    for speaker, text, calls in reversed(turns):
        for call in calls:
            # A prompt with several calls was not one-shot.
            if len(calls) == 1 and not (speaker == "user" and more):
                call.text = call.text or text
            yield call
        more = speaker == "agent" and (more or bool(calls))


def _objects(document: Json) -> Iterator[Json]:
    """Yield every object in a document, in the order of the text; without recursion.

    Each has the ids of the objects around it, and as `tool` the tool that it or they name. What an
    event holds as its data counts as the event's own.
    """
    stack: list[tuple[Any, Json]] = [(document, {})]
    while stack:
        value, around = stack.pop()
        if isinstance(value, dict):
            if isinstance(data := value.get("data"), dict):
                value = {**value, **data, "data": None}
            node = around | value
            kind = _id(node) and value.get("type")
            names = (*map(value.get, RULES["tools"]), kind, around.get("tool"))
            node["tool"] = next(filter(None, names), "")
            yield node
            around = {key: node[key] for key in ("tool", *_IDS) if key in node}
            value = [
                _parse(part)
                # JavaScript with strings, as far as JSON knows them
                or {"cmd": "\n".join(_parse(x) or x[1:-1] for x in re.findall(RULES["code"], part))}
                if key in RULES["arguments"] and isinstance(part, str)
                else part
                for key, part in value.items()
            ]
        stack += [(part, around) for part in reversed(_list(value))]


def _said(node: Json) -> tuple[str, str]:
    """Who speaks, and the text; empty for anything else, also for a tool's result."""
    kinds = (str(node.get("role")), str(node.get("type")).split(".")[0])
    if speaker := next(filter(None, map(RULES["speakers"].get, kinds)), ""):
        return speaker, _text(next(filter(None, map(node.get, RULES["texts"])), "")).strip()
    return "", ""


def _text(content: object) -> str:
    """What a content says: a text, an object with one, or a list of both."""
    texts = []
    for part in _list(content) or [content]:
        if isinstance(part, dict):
            of_text = str(part.get("type", "text")).endswith("text") and not part.get("synthetic")
            part = part.get("text") if of_text else None
        texts += [part] * isinstance(part, str)
    return "\n".join(texts)


def _call(node: Json, folder: str) -> ShellRequest | None:
    """The call that an object makes in a session with this folder, if any."""
    tool, command = str(node["tool"]), next(filter(None, map(node.get, RULES["commands"])), None)
    words = _list(command) or [command]
    if not re.search(RULES["tool"], tool) or not all(isinstance(word, str) for word in words):
        return None
    text = shlex.join(words) if len(words) > 1 else words[0]
    if found := re.match(RULES["runs_text"], text):
        tool = found[1]
        text = (found["quoted"] or found["word"] or text).replace("'\"'\"'", "'")
    named = "pwsh" if re.search(RULES["cmdlet"], text) else str(node.get("shell") or tool)
    shell = first(RULES["shells"], named) or first(RULES["folders"], folder) or UNKNOWN
    described = str(node.get("description") or "").strip()
    return ShellRequest(_id(node) or text, text.strip(), described, shell, folder)


def first(rules: Iterable[tuple[str, Any]], *texts: str) -> Any:
    """What the first rule says whose pattern is found in a text; None if none is."""
    return next((by for rule, by in rules if any(re.search(rule, text) for text in texts)), None)


def _id(node: Json) -> str:
    return next((value for key in _IDS if isinstance(value := node.get(key), str)), "")


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def documents_of(path: Path, tally: Counter[str]) -> Iterator[Json]:
    """Yield the objects in a file, and count in `tally` what was skipped.

    Raises:
        UserError: the file is something else that people take for a transcript.
    """
    try:
        with path.open("rb") as stream:
            head = stream.read(200).decode("latin-1")
        if strange := first(RULES["strange"], head):
            raise UserError(strange[0], where=str(path), hint=strange[1])
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
