"""What of a rule's param is another than when its product was made, in words: both stand in Snakemake's reason."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

WORDS: Mapping[str, str] = {
    "content": "the sandbox's sources",
    "powershell": "the PowerShell archive",
    "code": "the code that decides it",
    "worlds": "the worlds",
    "needs": "what the task needs beside files",
    "limits": "the limits",
    "timeout_s": "the time a command has",
    "check": "the task's check",
    "request": "the request",
}
"""The keys of the params in `rerun_keys` that are not their own words."""
_STRING = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_BOTH = re.compile(rf"before: {_STRING} now: {_STRING}")
_TEXT = "the text of "


def changed_parts(reason: str) -> list[str]:
    """The parts of a param that differ, from a reason of Snakemake's; empty if it does not hold both params."""
    found = _before_and_now(reason)
    if found is None:
        return []
    before, now = found
    parts = [part for key in sorted({*before, *now}) for part in _differing(key, before.get(key), now.get(key))]
    # A file of the configuration differs with every change of the design; alone it is its text.
    return [part for part in parts if not part.startswith(_TEXT)] or parts


def _differing(key: str, before: Any, now: Any) -> Iterator[str]:
    if before == now:
        return
    if key not in ("study", "tasks", "files") or not (isinstance(before, dict) and isinstance(now, dict)):
        yield WORDS.get(key, f"the {key}")
        return
    names = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    if key == "study":
        yield from (name.replace("_", " ") for name in names)
    elif key == "files":
        yield from (f"{_TEXT}{name}" for name in names)
    else:
        yield f"the tasks ({', '.join(names[:3])}{', …' if len(names) > 3 else ''})"


def _before_and_now(reason: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
    if not (found := _BOTH.search(reason)):
        return None
    try:
        before, now = (json.loads(ast.literal_eval(text)) for text in found.groups())
    except (ValueError, SyntaxError):
        return None
    return (before, now) if isinstance(before, dict) and isinstance(now, dict) else None
