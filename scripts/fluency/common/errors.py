"""Errors for users: what is wrong, where, and how to fix it.

UserError                a person's mistake, or a file that cannot be used: one sentence, exit 2
├── ArchiveError         an archive that is refused
├── WorldError           two worlds of a task that must differ and do not (world/)
├── SandboxError         the cell is executed again
│   └── ResultLost       the command had started; its cell is abandoned after some attempts
│       └── MachineBusy  other work on the machine left the command no processor time
└── CallError            one cell has no answer; the run goes on with the others
    └── StopRun          the whole run stops
        ├── ModelStop    this model is asked no more, the others are (generation/)
        └── RunEnded     the run was ended by a signal
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from fluency.common.terminal import one_line

REBUILD_HINT = "delete the file and run again; no answer is asked for twice"
"""For a damaged file that a run makes."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint for a mistyped name: the most similar known one; else the first eight."""
    names = list(known)
    for near in get_close_matches(name, names, 1):
        return f'did you mean "{near}"?'
    more = f", … ({len(names)} in all)" if len(names) > 8 else ""
    return f"there are: {', '.join(names[:8])}{more}"


class UserError(Exception):
    """What is wrong, where it is, and how to fix it."""

    def __init__(
        self, what: str, *, where: str | Path = "", hint: str = "", paste: Iterable[str] = ()
    ) -> None:
        """`paste`: lines for the user's file, which the hint announces."""
        self.what = what
        self.where = str(where)
        self.hint = hint
        self.paste = "".join(f"\n    {one_line(line)}" for line in paste)
        super().__init__(what, where, hint)

    def __str__(self) -> str:
        text = one_line(f"{self.where}: {self.what}" if self.where else self.what)
        return f"{text}\nHint: {one_line(self.hint)}{self.paste}" if self.hint else text


class SandboxError(UserError):
    """The sandbox failed, not the command; nothing may be scored from it."""


class ResultLost(SandboxError):
    """A command had started, but its result was lost, and not by its fault."""


class MachineBusy(ResultLost):
    """A command was interrupted: other work on the machine left it too little processor time."""


class CallError(UserError):
    """A model gave no answer within the cell's deadline."""


class StopRun(CallError):
    """A reason that holds for every further call: bad key, spend cap, budget, unknown model."""


class RunEnded(StopRun):
    """The run was ended by a signal; nothing failed."""


class ArchiveError(UserError):
    """An archive that is damaged, incomplete, too new, or hostile."""
