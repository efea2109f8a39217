"""A symbol for each way a trial can end, and each failure class in words."""

from __future__ import annotations

MARKS: dict[str, tuple[str, str]] = {
    "passed": ("●", "passed"),
    "wrong": ("×", "wrong output"),
    "error": ("!", "error"),
    "limit": ("T", "time or resource limit"),
    "none": ("∅", "no usable answer"),
    "missing": ("·", "missing"),
    "not_measured": ("–", "shell not measured"),
}
"""Kind -> its symbol, and what it means."""
FAILURES: dict[str, tuple[str, str]] = {
    "refusal": ("none", "refused"),
    "empty": ("none", "gave an empty answer"),
    "truncated": ("none", "answer cut off"),
    "no-tool-call": ("none", "called no tool"),
    "thinking-in-answer": ("none", "put its thinking before the command"),
    "format": ("none", "gave no runnable command"),
    "other-dialect": ("error", "wrote another shell's language"),
    "does-not-parse": ("error", "did not parse"),
    "missing-program": ("error", "called a program that is not installed"),
    "invented-command": ("error", "called a command that does not exist"),
    "timeout": ("limit", "ran out of time"),
    "resource-limit": ("limit", "hit a resource limit"),
    "non-zero-exit": ("error", "ended with an error"),
    "no-output": ("wrong", "printed nothing"),
    "wrong-structure": ("wrong", "printed the wrong structure"),
    "table-noise": ("wrong", "printed objects as a table"),
    "silent-wrong": ("wrong", "printed wrong content"),
    "one-world-only": ("wrong", "right in one world only"),
    "side-effects": ("wrong", "left processes or stopped the setup"),
    "unclassified": ("wrong", "failed, not classified"),
}
"""Failure class -> the kind it is, and what the command or answer did."""


def mark_of(state: str) -> str:
    """The symbol of a trial: `passed`, `missing`, `not_measured` or any failure class."""
    kind = state if state in MARKS else FAILURES.get(state, ("wrong", ""))[0]
    return MARKS[kind][0]
