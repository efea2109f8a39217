"""Whether a shell took a text, in its own words, and whether the text was written in the other dialect."""

from __future__ import annotations

import re
from functools import cache

from fluency.core.grammar import BASH, parse
from fluency.core.records import Result
from fluency.core.shells import Shell, other_dialect
from fluency.scoring import normalise
from fluency.scoring.composition import is_cmdlet

_BASH_ONLY = re.compile(
    r"\w+\+?=.*|\[\[?|test|\(\(|let|export|local|declare|typeset|read|mapfile|readarray|source|shopt|getopts|eval|unset|then"
    r"|do|done|fi|esac|elif|trap|type",
    re.DOTALL,
)
_PROGRAM = re.compile(r"(?:/[\w./-]*)?[a-z_\[][\w.+-]*|\[\[?")
_PWSH_MARK = re.compile(r"\$_\b|\]::|@\{|\$PSItem\b|\|\s*%\s*\{")


def stderr_of(result: Result) -> str:
    """The kept standard error as clean text."""
    return normalise.clean(result.stderr.raw())


def is_syntax_error(shell: Shell, result: Result, grammar_takes_it: bool) -> bool:
    """Whether the shell refused the text.

    PowerShell says nothing at all about a text that is merely incomplete. Bash runs the lines before the one that it
    refuses, so an output proves nothing by itself; but a complaint after an output, about a text that the grammar
    takes, comes from another Bash that the command called.
    """
    if result.exit_code in (0, None):
        return False
    stderr = stderr_of(result)
    complains = _pattern(shell.syntax_error).search(stderr) is not None
    if shell.grammar == BASH:
        return complains and not (grammar_takes_it and result.stdout.bytes)
    silent = result.exit_code == 1 and not stderr.strip() and not result.stdout.bytes
    return complains or (silent and not grammar_takes_it)


def missing_commands(shell: Shell, result: Result) -> list[str]:
    """The names the shell did not find, in its own words."""
    return _pattern(shell.missing_command).findall(stderr_of(result))


def is_other_dialect(command: str, shell: Shell, broken: bool, missing: list[str]) -> bool:
    """Whether the other dialect's grammar reads it, with names or marks that only that dialect has."""
    theirs = parse(other_dialect(shell).grammar, command)
    names = [call.name for call in theirs.calls]
    cmdlet = any(is_cmdlet(name, aliases=False) and "-" in name for name in names)
    if shell.grammar == BASH:
        return cmdlet or (broken and theirs.parses and bool(_PWSH_MARK.search(command)))
    if cmdlet or _PWSH_MARK.search(command):
        return False
    programs = any(_PROGRAM.fullmatch(name) and not is_cmdlet(name) for name in names)
    return (broken and theirs.parses and programs) or any(_BASH_ONLY.fullmatch(name) for name in missing)


@cache
def _pattern(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.MULTILINE)
