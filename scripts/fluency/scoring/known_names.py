"""Which of the commands that a shell did not find exist elsewhere: the room lacks those, nobody invented them.

Three lists: the programs of Debian's packages (`tools/program_names.py` makes it), programs that come from elsewhere,
and cmdlets of Windows' own and of installable modules. Beside them PowerShell's own, which an image may lack too.
"""

from __future__ import annotations

import lzma
from functools import cache
from pathlib import PurePosixPath

from fluency.core.grammar import POWERSHELL
from fluency.core.shells import Grammar
from fluency.scoring.composition import DATA, alias_names, cmdlets, data_lines


def exists_elsewhere(name: str, grammar: Grammar) -> bool:
    """Whether a command of this name, or of the file name of an absolute path, is to be had on other machines."""
    path = PurePosixPath(name)
    if not path.is_absolute() and len(path.parts) > 1:
        return False  # a file of the project
    plain = path.name.removesuffix(".exe")
    if grammar != POWERSHELL:
        return plain in debian_programs() or plain in other_programs()
    low = plain.rpartition("\\")[2].lower()
    return (
        low in elsewhere_cmdlets()
        or low in cmdlets()
        or low in alias_names()
        or low in other_programs()
        or plain in debian_programs()
    )


@cache
def debian_programs() -> frozenset[str]:
    """The programs of Debian's packages, as their files are called."""
    return frozenset(lzma.decompress((DATA / "debian_programs.txt.xz").read_bytes()).decode().split())


@cache
def other_programs() -> frozenset[str]:
    """Programs of Windows, of macOS and of installers, in lower case."""
    return frozenset(word for line in data_lines("other_programs.txt") for word in line.split())


@cache
def elsewhere_cmdlets() -> frozenset[str]:
    """Cmdlets that PowerShell on Linux does not bring along, in lower case."""
    nouns = (line.split() for line in data_lines("elsewhere_cmdlets.txt"))
    return frozenset(f"{verb}-{noun}".lower() for noun, *verbs in nouns for verb in verbs)
