"""The command in a reply, strict and lenient."""

from __future__ import annotations

import re

from fluency.core.records import THINKING, Extraction

# A fenced block by the rules of CommonMark: a fence is closed by one that is as long. `%s` is what
# may follow the closing fence on its line.
_BLOCK = (
    r"^ {0,3}(?P<mark>`{3,}|~{3,})[^`\r\n]*\r?$"
    r"(?P<text>.*?)(?:^(?P<close> {0,3}(?P=mark)(?:(?<=`)`*|(?<=~)~*))%s\r?$|\Z)"
)
_FENCE = re.compile(_BLOCK % r"[ \t]*", re.MULTILINE | re.DOTALL)
# Anything may follow but the language of an opening fence: an end mark of a model, prose, a hidden
# character.
_LOOSE_FENCE = re.compile(_BLOCK % r"(?!`|[\w+-]+[ \t]*\r?$)[^\n]*", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(`+)([^`\n]+)\1")
_TAGGED = re.compile(r"^(?:bash|sh|shell|console|powershell|pwsh|ps1) +(?=\S)", re.IGNORECASE)
_PROMPT = re.compile(r"(?:\$|PS(?: [^\n>]*)?>) +(?=\S)")
_THINKING = re.compile(
    r".*(?:</think(?:ing)?>|\[/THINK\])|<think(?:ing)?>|\[THINK\]", re.DOTALL | re.IGNORECASE
)
_NESTED = 3


def extract(reply: str) -> Extraction:
    """Both readings of a reply and notes on how they were found.

    Pure, and linear in the reply's length.
    """
    bare = reply.strip()
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
    if thinking := _THINKING.match(text):
        notes.append(THINKING)
        text = text[thinking.end() :].strip()
    for _ in range(_NESTED):
        block = _LOOSE_FENCE.search(text)
        if block is None:
            break
        end = block.end("close")
        if end < 0:
            notes.append("the fence is not closed")
            end = len(text)
        if (text[: block.start()] + text[end:]).strip():
            notes.append("prose around a fenced block")
            if _LOOSE_FENCE.search(text, end):
                notes.append("several fenced blocks")
        text = block["text"].strip()
    if span := _SPAN.fullmatch(text):
        notes.append("in backticks")
        text = span[2].strip()
        if len(span[1]) >= 3:
            text = _TAGGED.sub("", text, count=1)
    if prompt := _PROMPT.match(text):
        notes.append("a prompt sign before the command")
        text = text[prompt.end() :]
    return text.strip()
