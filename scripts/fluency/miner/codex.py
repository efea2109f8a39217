"""Codex CLI's transcripts: ~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl, lines of {timestamp, type, payload}."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

from fluency.miner.json_lines import as_dict, text_of
from fluency.miner.transcript import Call, Event, Outcome, Prompt, WorkingFolder

_TOOLS = {"exec_command", "shell", "shell_command", "container.exec", "local_shell"}
_SHELLS = {"bash": "bash", "sh": "bash", "zsh": "bash", "pwsh": "pwsh", "powershell": "pwsh"}
_EXIT = re.compile(r"(?:exit(?:ed with)? code:?|\"exit_code\":)\s*(-?\d+)", re.IGNORECASE)


def recognises(record: dict[str, Any]) -> bool:
    """Whether a line is of this kind."""
    return isinstance(record.get("payload"), dict) and "type" in record


def events(records: Iterable[dict[str, Any]]) -> Iterator[Event]:
    """The events of one rollout file."""
    for record in records:
        payload = as_dict(record.get("payload"))
        kind = payload.get("type")
        if isinstance(payload.get("cwd"), str):
            yield WorkingFolder(payload["cwd"])
        if record.get("type") == "event_msg" and kind == "exec_command_end":
            code = payload.get("exit_code")
            yield Outcome(str(payload.get("call_id")), code == 0 if isinstance(code, int) else None)
        elif record.get("type") == "response_item":
            if kind == "message" and payload.get("role") == "user":
                yield Prompt(text_of(payload.get("content")))
            elif kind in ("function_call", "local_shell_call"):
                yield from _call(payload)
            elif kind == "function_call_output":
                yield Outcome(str(payload.get("call_id")), _succeeded(payload.get("output")))


def _call(payload: dict[str, Any]) -> Iterator[Call]:
    if payload.get("type") == "local_shell_call":
        given = as_dict(payload.get("action"))
    elif payload.get("name") in _TOOLS:
        try:
            given = as_dict(json.loads(payload.get("arguments") or ""))
        except (TypeError, ValueError):
            return
    else:
        return
    command = unwrap(given.get("cmd") or given.get("command"))
    if command:
        yield Call(str(payload.get("call_id")), command[1], command[0], str(given.get("description") or ""))


def unwrap(command: Any) -> tuple[str, str] | None:
    """Shell and text of a command given as a text or as arguments such as ["bash", "-lc", text]."""
    if isinstance(command, str):
        return "bash", command
    if not isinstance(command, list) or not command or not all(isinstance(part, str) for part in command):
        return None
    name = PurePosixPath(command[0].replace("\\", "/")).name.lower().removesuffix(".exe")
    if name in _SHELLS and len(command) >= 3 and command[-2].lower() in ("-c", "-lc", "-command"):
        return _SHELLS[name], command[-1]
    return "bash", shlex.join(command)


def _succeeded(output: Any) -> bool | None:
    """From an output that names an exit code somewhere at its head, as a text or as JSON."""
    text = output if isinstance(output, str) else json.dumps(output)
    found = _EXIT.search(text[:400]) or _EXIT.search(text[-400:])
    return int(found[1]) == 0 if found else None
