"""The conditions that an answer runs under: one entry each, and what it changes of the room as data.

A further condition is one more entry here, named by the shells that it is for (`core/shells.py`), with its mark in
`core/records/score.py` and `core/records/row.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import AfterValidator

WINDOWS_ALIASES: Mapping[str, str] = {
    "ac": "Add-Content",
    "cat": "Get-Content",
    "clear": "Clear-Host",
    "compare": "Compare-Object",
    "cp": "Copy-Item",
    "cpp": "Copy-ItemProperty",
    "diff": "Compare-Object",
    "kill": "Stop-Process",
    "ls": "Get-ChildItem",
    "man": "help",
    "mount": "New-PSDrive",
    "mv": "Move-Item",
    "ps": "Get-Process",
    "rm": "Remove-Item",
    "rmdir": "Remove-Item",
    "sleep": "Start-Sleep",
    "sort": "Sort-Object",
    "start": "Start-Process",
    "tee": "Tee-Object",
    "write": "Write-Output",
}
"""The aliases that PowerShell 7 defines on Windows alone, for the commands that it has on Linux too."""


@dataclass(frozen=True)
class Condition:
    """What is otherwise than designed while an answer runs; by default nothing is."""

    name: str
    """In configurations and records; the mark of an answer under it is `mark`."""
    title: str
    """After `passed` and `the gap`: the condition in two or three words."""
    setting: str
    """After `with` and before `for PowerShell`: what is otherwise."""
    caveat: str = ""
    """What its gap does not say, in a sentence."""
    tools: bool = True
    """Whether PATH holds the Unix programs and the shell itself."""
    leaves_out: tuple[str, ...] = ()
    """Arguments of the shell that it is started without."""
    home: Mapping[str, str] = field(default_factory=dict)
    """Files of HOME when the command starts: path relative to it -> text."""
    calls: frozenset[str] = frozenset()
    """Runs only answers that call one of these names, in lower case; the others count as designed. Empty: all run."""
    in_summary: bool = False
    """Whether its gap stands in the summary table too, and not only in the section on what answers are made of."""

    @property
    def mark(self) -> str:
        """The field of a score and the column of a table that say whether an answer passes under it."""
        return f"{self.name}_passed"


AS_DESIGNED = Condition("as_designed", "as designed", "everything as designed")
CONDITIONS: Mapping[str, Condition] = {
    condition.name: condition
    for condition in (
        AS_DESIGNED,
        Condition(
            name="no_unix_tools",
            title="without Unix tools",
            setting="no Unix tools on PATH",
            caveat="It is the same answers executed again: a model told that no Unix tools are there might have "
            "written others.",
            tools=False,
            in_summary=True,
        ),
        Condition(
            name="windows_aliases",
            title="with Windows aliases",
            setting="the aliases of Windows",
            caveat=f"They are {', '.join(WINDOWS_ALIASES)}. Only answers that call one, or of which that cannot be "
            "told, ran again; the others count as designed.",
            leaves_out=("-NoProfile",),
            home={
                ".config/powershell/profile.ps1": "".join(
                    f"Set-Alias {name} {command} -Scope Global -Option AllScope\n"
                    for name, command in WINDOWS_ALIASES.items()
                )
            },
            calls=frozenset(WINDOWS_ALIASES),
        ),
    )
}
"""Every condition there is. The first is the headline; the others stand beside it, for the shells that name them."""
BESIDE = tuple(condition for condition in CONDITIONS.values() if condition is not AS_DESIGNED)
"""All but the headline's."""
SUMMARISED = frozenset(condition.name for condition in BESIDE if condition.in_summary)
"""Those whose gap stands beside the headline wherever that is told."""


def _known(name: str) -> str:
    if name not in CONDITIONS:
        raise ValueError(f"there is no condition {name!r}; there are: {', '.join(CONDITIONS)}")
    return name


ConditionName = Annotated[str, AfterValidator(_known)]
"""A field of a configuration or record that names a condition."""
