"""The command in a reply, strict and lenient."""

import json
import re
from collections.abc import Iterable
from typing import Any

from fluency.core.records import THINKING, Extraction
from fluency.core.reply_marks import READINGS, WRAPPERS, thinking_end, without_end_marks

# A fenced block by the rules of CommonMark: a fence is closed by one that is as long. `%s` is what
# may follow the closing fence on its line.
_BLOCK = (
    r"^ {0,3}(?P<mark>`{3,}|~{3,})[^`\r\n]*\r?$"
    r"(?P<text>.*?)(?:^(?P<close> {0,3}(?P=mark)(?:(?<=`)`*|(?<=~)~*))%s\r?$|\Z)"
)
_FENCE = re.compile(_BLOCK % r"[ \t]*", re.MULTILINE | re.DOTALL)
# A list, a label or a hidden character may precede the opening fence; anything may follow the
# closing one but the language of an opening fence: prose, a hidden character.
_LOOSE_FENCE = re.compile(
    _BLOCK.replace(
        " {0,3}",
        r"(?:[ \t>*\d.):\u200b-\u200d\u2060\ufeff-]{0,12}|\**[A-Za-z\d ]{1,30}\**:[ *]{0,4})",
        1,
    )
    % r"(?!`|[\w+-]+[ \t]*\r?$)[^\n]*",
    re.MULTILINE | re.DOTALL,
)
_HERE = re.compile(r"<<-?[ \t]*(['\"]?)(?P<word>\w+)\1|@(?P<quote>['\"])\r?$", re.MULTILINE)
_CALL = re.compile(r"[\w\[\]\s]{0,80}")
"""What may stand before a call in JSON: its tool, and marks in brackets."""
_FIELDS = ("command", "cmd", "script", "code")
_ARGUMENTS = ("arguments", "parameters", "input", "args", "function")
_NESTED = 4


def extract(reply: str) -> Extraction:
    """Both readings of a reply and notes on how they were found.

    Pure, and linear in the reply's length.
    """
    bare = without_end_marks(reply)
    if not bare:
        return Extraction(strict=None, lenient=None, notes=["the reply is empty"])
    notes = ["holds a NUL byte"] if "\0" in bare else []
    inside = _whole_fence(bare)
    # A fence in a fence is read leniently only.
    fenced = inside is not None and _whole_fence(inside) is None
    strict = inside if fenced else bare
    lenient = _lenient(strict or "", notes)
    return Extraction(strict=strict or None, lenient=lenient or None, fenced=fenced, notes=notes)


def _whole_fence(text: str) -> str | None:
    """What is in the one fence that is all of a text, stripped; None if it is not such a fence."""
    block = _FENCE.match(text)
    if block and block.end("close") == len(text):
        return block["text"].strip()
    return None


def _lenient(text: str, notes: list[str]) -> str:
    for _ in range(_NESTED):
        before = text
        if start := thinking_end(text):
            text = _noted(THINKING, text[start:], notes)
        text = _taken_off(WRAPPERS, text, notes)
        if (command := _in_json(text)) is not None:
            text = _noted("in JSON", command, notes)
        text = _taken_off(READINGS, _in_fence(text, notes), notes)
        if text == before:
            break
    return text


def _taken_off(table: Iterable[tuple[str, re.Pattern[str]]], text: str, notes: list[str]) -> str:
    for note, pattern in table:
        if found := pattern.search(text):
            text = _noted(note, found["command"], notes)
    return text


def _noted(note: str, text: str, notes: list[str]) -> str:
    if note not in notes:
        notes.append(note)
    return without_end_marks(text)


def _in_json(text: str) -> str | None:
    """The command in a tool call that was written as text."""
    before, brace, after = text.partition("{")
    value: Any = brace + after if _CALL.fullmatch(before) else None
    for _ in range(_NESTED):
        if isinstance(value, str):
            try:
                value = json.JSONDecoder().raw_decode(value)[0]
            except (ValueError, RecursionError):
                return None
        if not isinstance(value, dict):
            return None
        for name in _FIELDS:
            if isinstance(value.get(name), str):
                return str(value[name])
        value = next(filter(None, map(value.get, _ARGUMENTS)), None)
    return None


def _in_fence(text: str, notes: list[str]) -> str:
    block = _LOOSE_FENCE.search(text)
    if block is None or _HERE.search(text, 0, block.start()):  # a fence in a command
        return text
    inside, end = block["text"], block.end("close")
    if end < 0:
        notes.append("the fence is not closed")
        inside, mark, after = inside.partition(block["mark"])
        end = len(text) - len(after) if mark else len(text)
    elif further := _after_here_document(text, block):
        inside, end = text[block.start("text") : further.start()], further.end()
    if (text[: block.start()] + text[end:]).strip():
        notes.append("prose around a fenced block")
        if _LOOSE_FENCE.search(text, end):
            notes.append("several fenced blocks")
    return inside.strip()


def _after_here_document(text: str, block: re.Match[str]) -> re.Match[str] | None:
    """The closing fence behind a here-document that itself holds one."""
    here = _HERE.search(text, block.start("text"), block.end("text"))
    if here is None:
        return None
    end = rf"^\t*{here['word']}\r?$" if here["word"] else f"^{here['quote']}@"
    last = re.compile(end, re.MULTILINE).search(text, here.end())
    if last is None or last.start() < block.end("text"):
        return None
    closing = rf"^ {{0,3}}{block['mark']}[ \t]*\r?$"
    return re.compile(closing, re.MULTILINE).search(text, last.end())
