"""What a transcript holds for the miner: events in order, and the shell requests that they amount to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

LONGEST_PROMPT = 600
LONGEST_COMMAND = 2000
CALLS_A_TURN = 500
_SCAFFOLDING = re.compile(r"^\s*(<[a-z][\w-]*>|# AGENTS\.md|\[Request interrupted|Caveat: )")


@dataclass(frozen=True)
class Prompt:
    """What the user said."""

    text: str


@dataclass(frozen=True)
class Call:
    """A command that an agent ran; `description` is the agent's own sentence about it, if it gave one."""

    call_id: str
    command: str
    shell: str
    description: str = ""


@dataclass(frozen=True)
class Outcome:
    """How a call ended; `ok` is None where the transcript does not tell."""

    call_id: str
    ok: bool | None


@dataclass(frozen=True)
class WorkingFolder:
    """The folder the session worked in."""

    folder: str


Event = Prompt | Call | Outcome | WorkingFolder


@dataclass(frozen=True)
class ShellRequest:
    """A sentence and the one command that answered it, as the transcript has them (nothing is redacted yet)."""

    text: str
    command: str
    shell: str
    ok: bool | None
    described: bool
    folder: str
    call_id: str


@dataclass
class _Turn:
    prompt: str = ""
    calls: dict[str, Call] = field(default_factory=dict)
    outcomes: dict[str, bool | None] = field(default_factory=dict)
    total: int = 0


def assemble(events: Iterable[Event]) -> Iterator[ShellRequest]:
    """The requests in a session's events.

    A call with a description is a request of its own. A call without one belongs to the user's prompt, and
    counts only if it was the only call that the prompt led to: anything else is not one-shot.
    """
    turn, folder = _Turn(), ""
    for event in events:
        if isinstance(event, WorkingFolder):
            folder = event.folder
        elif isinstance(event, Outcome):
            if event.call_id in turn.calls and turn.outcomes.get(event.call_id) is None:
                turn.outcomes[event.call_id] = event.ok
        elif isinstance(event, Prompt):
            if not _SCAFFOLDING.match(event.text):
                yield from _close(turn, folder)
                turn = _Turn(prompt=event.text.strip())
        elif event.call_id not in turn.calls:
            if len(turn.calls) >= CALLS_A_TURN:
                yield from _close(turn, folder)
                turn = _Turn(total=turn.total)
            turn.calls[event.call_id] = event
            turn.total += 1
    yield from _close(turn, folder)


def _close(turn: _Turn, folder: str) -> Iterator[ShellRequest]:
    for call in turn.calls.values():
        text = call.description or (turn.prompt if turn.total == 1 else "")
        yield ShellRequest(
            text=text.strip(),
            command=call.command.strip(),
            shell=call.shell,
            ok=turn.outcomes.get(call.call_id),
            described=bool(call.description),
            folder=folder,
            call_id=call.call_id,
        )
