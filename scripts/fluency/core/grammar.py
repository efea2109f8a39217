"""What a command line calls, as the shell's own parser sees it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import ModuleType

from fluency.core.dialects import bash, powershell
from fluency.core.dialects.tree import Parsed, TooManySteps
from fluency.core.shells import Condition, Grammar, Shell

MAX_BYTES = 8_000


BASH: Grammar = "bash"
POWERSHELL: Grammar = "pwsh"
DIALECTS: Mapping[Grammar, ModuleType] = {BASH: bash, POWERSHELL: powershell}
UNREAD = Parsed(True, (), frozenset(), has_dynamic_calls=True)
"""A text without a parser: nothing says that it is wrong, and anything may be called."""


@lru_cache(maxsize=4096)
def parse(grammar: Grammar | None, command: str) -> Parsed:
    """The commands in a text; never an error.

    A text longer than MAX_BYTES counts as one that does not parse, and only its head is read: no
    answer to a one-line request is that long, and a model that repeats itself must not delay the
    run. A text that takes the parser too many steps does not parse either, and has no calls.
    """
    if grammar is None:
        return UNREAD
    source = command.encode("utf-8", errors="replace")
    whole = len(source) <= MAX_BYTES and b"\0" not in source
    try:
        parsed: Parsed = DIALECTS[grammar].parse(source[:MAX_BYTES])
    except TooManySteps:
        return Parsed(False, (), frozenset())
    return parsed if whole else parsed._replace(parses=False)


def condition_applies(condition: Condition, shell: Shell, command: str) -> bool:
    """Whether a command is run under a condition: it calls, or may call, a name that it changes."""
    if not condition.only_for_calls:
        return True
    parsed = parse(shell.grammar, command)
    if not parsed.parses or parsed.has_dynamic_calls or parsed.looks_up:
        return True
    return any(call.name.lower() in condition.only_for_calls for call in parsed.calls)
