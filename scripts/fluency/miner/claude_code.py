"""Claude Code's transcripts: ~/.claude/projects/<folder>/<session>.jsonl, one event a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fluency.miner.json_lines import as_dict, as_list, text_of
from fluency.miner.transcript import Call, Event, Outcome, Prompt, WorkingFolder

SHELLS = {"Bash": "bash", "PowerShell": "pwsh"}


def recognises(record: dict[str, Any]) -> bool:
    """Whether a line is of this kind."""
    return "sessionId" in record and "type" in record and ("message" in record or "uuid" in record)


def events(records: Iterable[dict[str, Any]]) -> Iterator[Event]:
    """The events of one session file."""
    for record in records:
        content = as_dict(record.get("message")).get("content")
        if isinstance(record.get("cwd"), str):
            yield WorkingFolder(record["cwd"])
        if record.get("type") == "assistant":
            yield from _calls(content)
        elif record.get("type") == "user":
            results = list(_results(content, as_dict(record.get("toolUseResult"))))
            yield from results
            if not results and not record.get("isMeta") and (text := text_of(content)):
                yield Prompt(text)


def _blocks(content: Any, kind: str) -> Iterator[dict[str, Any]]:
    for block in as_list(content):
        if isinstance(block, dict) and block.get("type") == kind:
            yield block


def _calls(content: Any) -> Iterator[Call]:
    for block in _blocks(content, "tool_use"):
        given = as_dict(block.get("input"))
        command, shell = given.get("command"), SHELLS.get(str(block.get("name")))
        if shell and isinstance(command, str):
            yield Call(str(block.get("id")), command, shell, str(given.get("description") or ""))


def _results(content: Any, extra: dict[str, Any]) -> Iterator[Outcome]:
    for block in _blocks(content, "tool_result"):
        failed = bool(block.get("is_error")) or bool(extra.get("interrupted"))
        yield Outcome(str(block.get("tool_use_id")), not failed)
