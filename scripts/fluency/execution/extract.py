"""The command in a reply, strict and lenient."""

from __future__ import annotations

import re
from typing import NamedTuple, TypeGuard

from fluency.core.records import THINKING, Extraction

_OPEN = re.compile(r"^ {0,3}(`{3,}|~{3,})([^`\r\n]*)\r?$", re.MULTILINE)
_SPAN = re.compile(r"(`+)([^`\n]+)\1")
_TAGGED = re.compile(r"^(?:bash|sh|shell|console|powershell|pwsh|ps1) +(?=\S)", re.IGNORECASE)
_PROMPT = re.compile(r"(?:\$|PS(?: [^\n>]*)?>) +(?=\S)")
_THINKING = re.compile(
    r".*(?:</think(?:ing)?>|\[/THINK\])|<think(?:ing)?>|\[THINK\]", re.DOTALL | re.IGNORECASE
)
_NESTED = 3
_LOOSE = r"(?!`|[\w+-]+[ \t]*\r?$).*"
"""Anything but the language of an opening fence: an end mark of a model, prose, a hidden character."""


class _Block(NamedTuple):
    """A fenced block: where it starts and ends in the reply (fences included), its text, whether it is closed."""

    start: int
    end: int
    text: str
    closed: bool


def extract(reply: str) -> Extraction:
    """Both readings of a reply and notes on how they were found; pure, and linear in the reply's length."""
    bare = reply.strip()
    if not bare:
        return Extraction(strict=None, lenient=None, notes=["the reply is empty"])
    notes: list[str] = []
    if "\0" in bare:
        notes.append("holds a NUL byte")
    inside = _whole_fence(bare)
    fenced = inside is not None
    strict = inside if fenced else bare
    lenient = _lenient(strict or "", notes)
    return Extraction(strict=strict or None, lenient=lenient or None, fenced=fenced, notes=notes)


def _whole_fence(bare: str) -> str | None:
    """The text in the one fence that is all of the reply, stripped; None if the reply is not such a fence."""
    block = _block(bare, 0)
    if not _is_all_of(block, bare):
        return None
    inner = block.text.strip()
    return None if _is_all_of(_block(inner, 0), inner) else inner


def _is_all_of(block: _Block | None, text: str) -> TypeGuard[_Block]:
    return block is not None and block.closed and (block.start, block.end) == (0, len(text))


def _lenient(text: str, notes: list[str]) -> str:
    if thinking := _THINKING.match(text):
        notes.append(THINKING)
        text = text[thinking.end() :].strip()
    for _ in range(_NESTED):
        block = _block(text, 0, _LOOSE)
        if block is None:
            break
        if not block.closed:
            notes.append("the fence is not closed")
        if (text[: block.start] + text[block.end :]).strip():
            notes.append("prose around a fenced block")
            if _block(text, block.end, _LOOSE) is not None:
                notes.append("several fenced blocks")
        text = block.text.strip()
    span = _SPAN.fullmatch(text)
    if span:
        notes.append("in backticks")
        text = span[2].strip()
        if len(span[1]) >= 3:
            text = _TAGGED.sub("", text, count=1)
    prompt = _PROMPT.match(text)
    if prompt:
        notes.append("a prompt sign before the command")
        text = text[prompt.end() :]
    return text.strip()


def _block(text: str, start: int, behind: str = r"[ \t]*") -> _Block | None:
    """The first fenced block at or after `start`, by the rules of CommonMark: a fence is closed by one as long.

    `behind`: what may follow the closing fence on its line.
    """
    opening = _OPEN.search(text, start)
    if opening is None:
        return None
    mark = opening[1]
    closing = re.compile(
        rf"^( {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}){behind}\r?$", re.MULTILINE
    )
    end = closing.search(text, opening.end() + 1)
    if end is None:
        return _Block(opening.start(), len(text), text[opening.end() :], closed=False)
    return _Block(opening.start(), end.end(1), text[opening.end() : end.start()], closed=True)
