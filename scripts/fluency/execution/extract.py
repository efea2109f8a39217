"""The command in a reply, strict and lenient."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from fluency.core.records import THINKING, Extraction
from fluency.core.reply_marks import WRAPPERS, thinking_end, without_end_marks

# A fenced block by the rules of CommonMark: a fence is closed by one that is as long. `%s` is what
# may follow the closing fence on its line.
_BLOCK = (
    r"^ {0,3}(?P<mark>`{3,}|~{3,})[^`\r\n]*\r?$"
    r"(?P<text>.*?)(?:^(?P<close> {0,3}(?P=mark)(?:(?<=`)`*|(?<=~)~*))%s\r?$|\Z)"
)
_FENCE = re.compile(_BLOCK % r"[ \t]*", re.MULTILINE | re.DOTALL)
# Before the opening fence a list or a label may stand; anything may follow the closing one but the
# language of an opening fence: prose, a hidden character.
_LOOSE_FENCE = re.compile(
    _BLOCK.replace(" {0,3}", r"(?:[ \t>*\d.):-]{0,12}|[A-Za-z ]{1,30}:[ *]{0,4})", 1)
    % r"(?!`|[\w+-]+[ \t]*\r?$)[^\n]*",
    re.MULTILINE | re.DOTALL,
)
_HERE = re.compile(r"<<-?[ \t]*(['\"]?)(?P<word>\w+)\1|@(?P<quote>['\"])\r?$", re.MULTILINE)
_SPAN = re.compile(r"(`+)([^`\n]+)\1|\*\*([^*\n]+)\*\*")
_TAGGED = re.compile(r"^(?:bash|sh|shell|console|powershell|pwsh|ps1) +(?=\S)", re.IGNORECASE)
_PROMPT = re.compile(r"(?:\$|PS(?: [^\n>]*)?>) +(?=\S)")
_LABEL = re.compile(
    r"\**(?:(?:the|bash|powershell|shell|final) ){0,3}(?:command|answer|solution)\**:\**\s+(?=\S)",
    re.IGNORECASE,
)
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
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
        for note, read in _READINGS:
            found = read(text, notes)
            if found is not None and found.strip() != text:
                notes.extend([note] if note and note not in notes else [])
                text = without_end_marks(found)
        if text == before:
            break
    return text


def _after_thinking(text: str, _notes: list[str]) -> str:
    return text[thinking_end(text) :]


def _unwrapped(text: str, _notes: list[str]) -> str | None:
    for opening, closing in WRAPPERS:
        start = opening.search(text)
        if start and (not start.start() or text[start.start() - 1] in "\n>"):
            end = closing.search(text, start.end())
            if end and text[end.end() :][:1] in ("", "\r", "\n", "<"):
                return text[start.end() : end.start()]
    return None


def _in_json(text: str, _notes: list[str]) -> str | None:
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


def _in_fence(text: str, notes: list[str]) -> str | None:
    block = _LOOSE_FENCE.search(text)
    if block is None or _HERE.search(text, 0, block.start()):  # a fence in a command
        return None
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
    return inside


def _after_here_document(text: str, block: re.Match[str]) -> re.Match[str] | None:
    """The closing fence behind a here-document that itself holds one; None without such."""
    here = _HERE.search(text, block.start("text"), block.end("text"))
    if here is None:
        return None
    end = rf"^\t*{here['word']}\r?$" if here["word"] else f"^{here['quote']}@"
    last = re.compile(end, re.MULTILINE).search(text, here.end())
    if last is None or last.start() < block.end("text"):
        return None
    closing = rf"^ {{0,3}}{block['mark']}[ \t]*\r?$"
    return re.compile(closing, re.MULTILINE).search(text, last.end())


def _in_span(text: str, _notes: list[str]) -> str | None:
    span = _SPAN.fullmatch(text)
    if span is None:
        return None
    inside = (span[2] or span[3]).strip()
    return _TAGGED.sub("", inside, count=1) if len(span[1] or "") >= 3 else inside


def _before_prose(text: str, _notes: list[str]) -> str | None:
    gap = _BLANK_LINE.search(text)
    line = text[gap.end() :].lstrip().partition("\n")[0].strip(" *_`") if gap else ""
    words = line.split()
    is_prose = len(words) > 2 and words[0].strip("*:,").isalpha() and words[0][0].isupper()
    return text[: gap.start()] if gap and is_prose and line[-1:] in ".:!" else None


def _after(pattern: re.Pattern[str]) -> _Reading:
    return lambda text, _notes: text[found.end() :] if (found := pattern.match(text)) else None


_Reading = Callable[[str, list[str]], str | None]
_READINGS: list[tuple[str, _Reading]] = [
    (THINKING, _after_thinking),
    ("in tags", _unwrapped),
    ("in JSON", _in_json),
    ("a label before the command", _after(_LABEL)),
    ("", _in_fence),
    ("in backticks", _in_span),
    ("a prompt sign before the command", _after(_PROMPT)),
    ("prose after the command", _before_prose),
]
"""The note of each reading, and what it finds."""
