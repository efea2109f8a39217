"""What an answer is made of: cmdlets, Unix programs, both, or a call to another shell or interpreter.

An alias counts as what it stands for, a function that the answer defines itself counts as nothing. A name is a cmdlet
if PowerShell brings it along or if it has the shape Verb-Noun with an approved verb, capitalised as one writes it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

from fluency.core.grammar import POWERSHELL, Call, Parsed, parse
from fluency.core.records import Composition, MadeOf
from fluency.core.shells import Grammar

DATA = Path(__file__).with_name("data")
_INTERPRETER = re.compile(
    r"(?:bash|sh|dash|ash|zsh|ksh|mksh|fish|csh|tcsh|busybox|pwsh|powershell|cmd|python|pypy|perl|ruby|node|nodejs"
    r"|deno|bun|php|lua|luajit|tclsh|Rscript|osascript|ipython|expect|guile|raku)(?:-?[\d.]+)?(?:\.exe)?",
    re.IGNORECASE,
)
_WRAPPER = re.compile(
    r"xargs|env|exec|command|builtin|nohup|nice|ionice|time|timeout|setsid|stdbuf|sudo|doas|chroot|parallel|watch|unbuffer"
    r"|start-process|saps|start",
    re.IGNORECASE,
)
_TAKES_VALUE = re.compile(r"-[InPLdsEauSkioeCj]")
_FIND_RUNS = frozenset(["-exec", "-execdir", "-ok", "-okdir"])
_SHAPE = re.compile(r"([A-Z][A-Za-z]+)-[A-Z][A-Za-z0-9]*")
_NO_PROGRAM = re.compile(r"-.*|[\d.]+[smhd]?|\w+=.*|\{\}", re.DOTALL)


def composition_of(grammar: Grammar, command: str, parses: bool | None = None) -> Composition:
    """What a command is made of, without running it.

    `parses` is what the shell itself said about it, if it was run; it outweighs the grammar's opinion.
    """
    parsed = parse(grammar, command)
    names = [call.name for call in parsed.calls]
    ok = parsed.parses if parses is None else parses
    kind = _kind(parsed, aliases=grammar == POWERSHELL) if ok else "does-not-parse"
    return Composition(made_of=kind, commands=names)


def is_cmdlet(name: str, aliases: bool = True) -> bool:
    """Whether a name is PowerShell's own: a cmdlet, or (if asked) an alias of one."""
    plain = name.rpartition("\\")[2] or name
    if plain.lower() in cmdlets() or (aliases and plain.lower() in alias_names()):
        return True
    shape = _SHAPE.fullmatch(plain)
    return shape is not None and shape[1] in _verbs()


def is_interpreter(name: str) -> bool:
    """Whether a name, with or without a path, is a shell or a script interpreter."""
    return _INTERPRETER.fullmatch(PurePosixPath(name.replace("\\", "/")).name) is not None


def programs_of(call: Call) -> Iterator[str]:
    """The programs a call names: itself, and what it is told to run if it is a wrapper or find."""
    name, rest = call.name, call.arguments
    yield name
    if PurePosixPath(name).name == "find":
        yield from (after for flag, after in itertools.pairwise(rest) if flag in _FIND_RUNS)
    while _WRAPPER.fullmatch(PurePosixPath(name).name):
        position = _first_program(rest)
        if position is None:
            return
        name, rest = rest[position], rest[position + 1 :]
        yield name


@cache
def cmdlets() -> frozenset[str]:
    """The names PowerShell brings along, in lower case."""
    return frozenset(line.lower() for line in data_lines("cmdlets.txt"))


@cache
def alias_names() -> dict[str, str]:
    """Alias in lower case -> what it stands for."""
    return {name.lower(): target for name, target in (line.split() for line in data_lines("aliases.txt"))}


def data_lines(name: str) -> list[str]:
    """The lines of a list in the data folder, without comments and empty ones."""
    text = (DATA / name).read_text(encoding="utf-8")
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


@cache
def _verbs() -> frozenset[str]:
    return frozenset(word for line in data_lines("verbs.txt") for word in line.split())


def _kind(parsed: Parsed, aliases: bool) -> MadeOf:
    if any(is_interpreter(name) for call in parsed.calls for name in programs_of(call)):
        return "delegation"
    own = {name.lower() for name in parsed.functions}
    kinds = {is_cmdlet(call.name, aliases) for call in parsed.calls if call.name.lower() not in own}
    if not kinds:
        return "no-commands"
    if len(kinds) == 2:
        return "mixed"
    return "cmdlets-only" if kinds == {True} else "unix-only"


def _first_program(arguments: tuple[str, ...]) -> int | None:
    skip = False
    for position, word in enumerate(arguments):
        if skip:
            skip = False
        elif _TAKES_VALUE.fullmatch(word):
            skip = True
        elif not _NO_PROGRAM.fullmatch(word):
            return position
    return None
