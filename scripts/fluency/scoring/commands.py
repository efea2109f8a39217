"""What a command calls, whether such a command exists, and which dialect it is written in."""

import itertools
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path, PurePosixPath

from fluency.core.dialects.tree import Call, Parsed
from fluency.core.grammar import BASH, POWERSHELL, parse
from fluency.core.records import Composition, MadeOf, Result
from fluency.core.shells import EVERYWHERE, Grammar, Shell
from fluency.scoring import checks


def is_known_command(name: str, grammar: Grammar | None) -> bool:
    """Whether other machines may have a command of this name.

    Of an absolute path the file's name counts.
    """
    path = PurePosixPath(name)
    if not path.is_absolute() and len(path.parts) > 1:
        return False  # a file of the project
    plain = path.name.removesuffix(".exe")
    low = plain.rpartition("\\")[2].lower() if grammar == POWERSHELL else plain
    known = words_in("programs")
    if grammar == POWERSHELL:
        nouns = rows_of("elsewhere_cmdlets").items()
        known |= {f"{verb}-{noun}".lower() for noun, verbs in nouns for verb in verbs}
        known |= words_in("cmdlets") | rows_of("aliases").keys()
    return low in known


@cache
def rows_of(name: str) -> dict[str, list[str]]:
    """A list in the data folder: the first word of each line, in lower case -> the others."""
    text = (DATA / f"{name}.txt").read_text(encoding="utf-8")
    rows = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {words[0].lower(): words[1:] for words in rows if words}


@cache
def words_in(name: str) -> frozenset[str]:
    """All words of a list in the data folder, in lower case."""
    others = " ".join(itertools.chain.from_iterable(rows_of(name).values()))
    return frozenset([*rows_of(name), *others.lower().split()])


DATA = Path(__file__).with_name("data")
_INTERPRETER = re.compile(
    r"(?:bash|sh|dash|ash|zsh|ksh|mksh|fish|csh|tcsh|busybox|pwsh|powershell|cmd|python|pypy|perl"
    r"|ruby|node|nodejs|deno|bun|php|lua|luajit|tclsh|Rscript|osascript|ipython|expect|guile|raku)"
    r"(?:-?[\d.]+)?(?:\.exe)?",
    re.IGNORECASE,
)
_RUNS_ALL = {"eval", "invoke-expression", "iex"}
"""Programs that run their arguments as a text."""
_DEEPEST_TEXT = 4
_FIND_RUNS = {"-exec", "-execdir", "-ok", "-okdir"}
_SHAPE = re.compile(r"([A-Z][A-Za-z]+)-[A-Z][A-Za-z0-9]*")
RANGE = re.compile(r"\d+\.\..*", re.DOTALL)
"""PowerShell's `1..9`, which the grammar takes for a command."""


def composition_of(grammar: Grammar, command: str, parses: bool) -> Composition:
    """The kinds of commands in an answer, without running it.

    parses: whether the shell accepts it, or where it was not run the grammar.
    """
    parsed = parse(grammar, command)
    calls = [call for call in parsed.calls if not RANGE.fullmatch(call.name)]
    if grammar == BASH:  # `l\\s` is ls
        calls = [call._replace(name=call.name.replace("\\", "")) for call in calls]
    kind = _kind(calls, parsed, command, grammar) if parses else "does-not-parse"
    return Composition(made_of=kind, commands=[call.name for call in calls])


def is_cmdlet(name: str, aliases: bool = True) -> bool:
    """Whether a name is a cmdlet or, with `aliases`, an alias of one."""
    plain = name.rpartition("\\")[2] or name
    low = plain.lower()
    if low in words_in("cmdlets") or (aliases and low in rows_of("aliases")):
        return True
    shape = _SHAPE.fullmatch(plain)
    return bool(shape and shape[1].lower() in words_in("verbs"))


def calls_of(call: Call, grammar: Grammar, depth: int = 0) -> Iterator[Call]:
    """A call, and those that it makes as a wrapper, as find, or from a text."""
    words = (call.name, *call.arguments)
    while words:
        name, rest = words[0], words[1:]
        yield Call(name, rest)
        plain = PurePosixPath(name).name.lower()
        if plain == "find":
            for at, flag in enumerate(rest[:-1], 1):
                if flag in _FIND_RUNS:
                    yield Call(rest[at], rest[at + 1 :])
        if plain in _RUNS_ALL and depth < _DEEPEST_TEXT:
            text = " ".join(word for word in rest if not word.startswith("-"))
            for inner in parse(grammar, text).calls:
                yield from calls_of(inner, grammar, depth + 1)
        words = _wrapped(plain, rest)


def _wrapped(wrapper: str, arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The program that a wrapper runs, with its arguments; empty if it runs none."""
    options = rows_of("wrappers").get(wrapper)
    if options is None or (wrapper == "command" and arguments[:1] in (("-v",), ("-V",))):
        return ()  # `command -v` only asks where the program is
    before = ""
    for position, word in enumerate(arguments):
        is_option = word.startswith("-") or "=" in word or word == "{}"
        if not is_option and before not in options:
            return arguments[position:]
        before = word
    return ()


def _kind(calls: Sequence[Call], parsed: Parsed, command: str, grammar: Grammar) -> MadeOf:
    run = [made.name for call in calls for made in calls_of(call, grammar)]
    plain = (PurePosixPath(name.replace("\\", "/")).name for name in run)
    if any(map(_INTERPRETER.fullmatch, plain)):
        return "delegation"
    own = {name.lower() for name in parsed.functions}
    names = {call.name for call in calls if call.name.lower() not in own}
    if grammar == POWERSHELL:
        names -= EVERYWHERE
    kinds = {is_cmdlet(name, grammar == POWERSHELL) for name in names}
    if not kinds:
        return "no-commands"
    if len(kinds) == 2:
        return "mixed"
    return "cmdlets-only" if True in kinds else "unix-only"


_BASH_ONLY = re.compile(
    r"\w+\+?=.*|\[\[?|test|\(\(|let|export|local|declare|typeset|read|mapfile|readarray|source"
    r"|shopt|getopts|eval|unset|then|do|done|fi|esac|elif|trap|type",
    re.DOTALL,
)
_PROGRAM = re.compile(r"(?:/(?:[\w.-]*+/)*+(?:(?![a-z_])[\w.-])*+)?[a-z_\[][\w.+-]*|\[\[")
_PWSH_MARK = re.compile(r"\$_\b|\]::|@\{|\$PSItem\b|\|\s*%\s*\{")


def stderr_of(result: Result) -> str:
    """The kept standard error as clean text."""
    return checks.clean(result.stderr.raw())


def is_syntax_error(shell: Shell, result: Result, grammar_accepts: bool) -> bool:
    """Whether the shell rejected the text.

    PowerShell prints nothing about a text that is only incomplete. Bash runs the lines before the
    one that it rejects, so an output alone proves nothing; but where the grammar accepts the
    text, a complaint after an output comes from another Bash that the command called.
    """
    if result.exit_code in (0, None):
        return False
    stderr = stderr_of(result)
    complains = re.search(shell.syntax_error, stderr, re.MULTILINE) is not None
    if shell.grammar == BASH:
        return complains and not (grammar_accepts and result.stdout.bytes)
    silent = result.exit_code == 1 and not stderr.strip() and not result.stdout.bytes
    return complains or (silent and not grammar_accepts)


def is_other_dialect(command: str, shell: Shell, broken: bool, missing: list[str]) -> bool:
    """Whether a command is written in the other dialect.

    Its grammar says so, or names or marks of that dialect alone.
    """
    theirs = parse(shell.other_dialect.grammar, command)
    names = [call.name for call in theirs.calls]
    cmdlet = any(is_cmdlet(name, aliases=False) and "-" in name for name in names)
    if shell.grammar == BASH:
        return cmdlet or (broken and theirs.parses and bool(_PWSH_MARK.search(command)))
    if cmdlet or _PWSH_MARK.search(command):
        return False
    programs = any(_PROGRAM.fullmatch(name) and not is_cmdlet(name) for name in names)
    return (broken and theirs.parses and programs) or any(map(_BASH_ONLY.fullmatch, missing))
