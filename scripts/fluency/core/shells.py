"""The shells, as `shells/` states them, and the conditions that their answers run under again.

A third shell is one more file, and references for the tasks it is validated on. A further condition
is one more entry, named by its shells.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import UserDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from fluency.common.data_file import data_file
from fluency.common.errors import UserError, did_you_mean
from fluency.common.paths import ENTRIES
from fluency.core.config_files import banks, config_error, read_yaml
from fluency.core.schema import Digest, FrozenModel

WINDOWS_ALIASES: Mapping[str, str] = data_file(__file__)
"""The aliases that PowerShell 7 has on Windows alone, of the commands that it has on Linux too."""


@dataclass(frozen=True)
class Condition:
    """What differs from the design while an answer runs; by default nothing."""

    name: str  # in configurations and records
    title: str  # after `passed` and `the gap`, in two or three words
    setting: str  # after `with` and before `for PowerShell`: what differs
    caveat: str = ""  # what its gap does not say, in a sentence
    unix_tools: bool = True  # whether PATH holds the Unix programs and the shell itself
    removed_arguments: tuple[str, ...] = ()  # of the shell's own
    # Path relative to HOME -> text, before the command.
    home_files: Mapping[str, str] = field(default_factory=dict)
    # Runs only answers that call one of these names (lower case), and counts the others as
    # designed. Empty: runs all.
    only_for_calls: frozenset[str] = frozenset()
    in_summary: bool = False  # whether the summary table has its gap, too

    @property
    def column(self) -> str:
        """The column of the cells table that says whether an answer passes under it."""
        return f"{self.name}_passed"


EVERYWHERE = frozenset({"git"})
"""Programs that are on PATH in every condition: agents call them on every system."""
AS_DESIGNED = Condition("as_designed", "as designed", "everything as designed")
CONDITIONS: Mapping[str, Condition] = {
    condition.name: condition
    for condition in (
        AS_DESIGNED,
        Condition(
            name="no_unix_tools",
            title="without Unix tools",
            setting="no Unix tools on PATH",
            caveat="It is the same answers executed again: a model told that no Unix tools are "
            "there might have written others.",
            unix_tools=False,
            in_summary=True,
        ),
        Condition(
            name="windows_aliases",
            title="with Windows aliases",
            setting="the aliases of Windows",
            caveat=f"They are {', '.join(WINDOWS_ALIASES)}. Only answers that call one, or of "
            "which that cannot be told, ran again; the others count as designed.",
            removed_arguments=("-NoProfile",),
            home_files={
                ".config/powershell/profile.ps1": "".join(
                    f"Set-Alias {name} {command} -Scope Global -Option AllScope\n"
                    for name, command in WINDOWS_ALIASES.items()
                )
            },
            only_for_calls=frozenset(WINDOWS_ALIASES),
        ),
    )
}
"""The first is the headline; the others are for the shells that name them."""
EXTRA_CONDITIONS = tuple(CONDITIONS.values())[1:]


def one_of(known: Collection[str], noun: str, further: str = "") -> AfterValidator:
    """A validator of names; the noun is what they name, `further` ends its message."""

    def check(name: str) -> str:
        if name not in known:
            raise ValueError(f"unknown {noun} {name!r}; {did_you_mean(name, known)}{further}")
        return name

    return AfterValidator(check)


ConditionName = Annotated[str, one_of(CONDITIONS, "condition")]
Grammar = Literal["bash", "pwsh"]
"""The language a shell reads, which decides the parser and the dialect an answer is taken for."""
Architecture = Literal["x64", "arm64"]
QUOTING: Mapping[str, tuple[Callable[[str], str], str]] = {
    "bash": (shlex.quote, " "),
    "pwsh": (lambda line: "'" + line.replace("'", "''") + "'", ", "),
    "json": (partial(json.dumps, ensure_ascii=False), ", "),
}
"""How a language writes a text, and what is between two of them."""
COMMAND, LINES = "{command}", "{lines}"
PAGE = "docs/own-language.md"
LAYERS = "/opt/languages"
"""The folder in the images for what is a separate layer."""


def _argv(words: list[str]) -> list[str]:
    if words[-1:] != [COMMAND]:
        raise ValueError(f'no place for the command: the last word must be "{COMMAND}"')
    if not words[0].startswith("/"):
        raise ValueError("the first word must be the absolute path of a program in the image")
    return words[:-1]


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    return text


def _condition(name: object) -> object:
    known = {extra.name: extra for extra in EXTRA_CONDITIONS}
    if name not in known:
        raise ValueError(f"unknown condition {name!r}; {did_you_mean(str(name), known)}")
    return known[str(name)]


Pattern = Annotated[str, AfterValidator(_pattern)]
Title = Annotated[str, Field(pattern=r"^\w[\w .+#-]{0,39}$")]
"""Stands in Markdown as it is."""
NEVER = r"(?!)"


class Archive(FrozenModel):
    """What holds a program: a `.tar.gz` or `.tgz`, or the program itself."""

    file: str
    """Its name beside the entry or beside the Makefile; `{architecture}` is x64 or arm64."""
    program: str
    """The program's path in it, or its end; the files next to it are installed, too."""
    sha256: dict[Architecture, Digest]
    """Architecture -> the pinned hash."""
    variable: str = ""
    """The environment variable that names another file."""
    release: str = ""
    """The address of the folder that the build downloads it from; empty: it is given."""
    build_argument: str = ""
    """The Dockerfile's argument for it; empty: it is a layer on the common image."""

    @property
    def is_packed(self) -> bool:
        return self.file.endswith((".tar.gz", ".tgz"))


class Install(FrozenModel):
    """How an image gets the program of a shell; nothing else has it."""

    packages: tuple[str, ...] = ()
    """Debian packages."""
    interpreter: Literal["runner"] | None = None
    """runner: the Python that runs the commands, copied."""
    archive: Archive | None = None

    @property
    def is_layer(self) -> bool:
        """Whether the program is added to the common image in a separate layer."""
        given = self.archive is not None and not self.archive.build_argument
        return given or self.interpreter is not None


class Shell(FrozenModel):
    """A shell, or another language, that models are asked for: a file in `shells/`."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,19}$")
    """In configurations, paths and records; the file's name."""
    title: Title
    """In full, with the version that is asked for."""
    short_title: Title = Field(default_factory=lambda entry: entry.get("title", ""))
    """In sentences and narrow columns."""
    prompt_line: str
    """The only words by which the prompts of two shells differ."""
    tool_name: str
    """Of the tool whose call is the answer, with `interface: tool`."""
    argv: Annotated[list[str], AfterValidator(_argv)]
    """The path of the program and its arguments; the last is `{command}`."""
    version_command: str
    """Prints the shell's version and nothing else."""
    install: Install = Install()
    install_hint: str = "rebuild the image: `make image`"
    """How to have it, where the image lacks it."""
    empty_command: str
    """Ends at once with exit code 0, to measure the shell's start."""
    trivial_answers: tuple[str, ...]
    """Commands that do nothing, which no task may accept."""
    print_lines: str
    """The command that prints lines, with `{lines}` where they are written."""
    quoting: str = "json"
    """How each line is written."""
    lexer: str = "text"
    """Of Pygments."""
    grammar: Annotated[
        Grammar | None, BeforeValidator(lambda name: None if name == "none" else name)
    ]
    """none: without a parser, its own messages alone say what went wrong."""
    missing_command: Pattern = NEVER
    """Matches its message about an unknown command; the group is the command's name."""
    syntax_error: Pattern = NEVER
    """Matches its message about a text that it cannot parse."""
    conditions: tuple[Annotated[Condition, BeforeValidator(_condition)], ...] = ()
    """Under which answers run again, where the study asks for them."""
    policy: str = ""
    """The policy that prefers this shell, if there is one."""
    unix_programs_note: str = ""
    """Why an answer to it need not be in its language, in a sentence."""

    _file: Path = PrivateAttr(ENTRIES)

    @field_validator("quoting")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in QUOTING:
            raise ValueError(f"unknown quoting; {did_you_mean(name, QUOTING)}")
        return name

    @model_validator(mode="after")
    def _layer_is_apart(self) -> Shell:
        if self.install.is_layer and not self.argv[0].startswith(f"{LAYERS}/{self.name}/"):
            raise ValueError(f"argv: its program is put below {LAYERS}/{self.name}/")
        return self

    @property
    def file(self) -> Path:
        return self._file

    def where(self, key: str) -> str:
        """A key of the entry, for an error."""
        return f"{self._file}: {key}"

    @property
    def facts(self) -> dict[str, Any]:
        """The entry as JSON data."""
        stated = self.model_dump(mode="json", exclude={"conditions"})
        return stated | {"conditions": [one.name for one in self.conditions]}

    @property
    def deciding(self) -> dict[str, Any]:
        """What of the entry decides a score."""
        of = ("title", "grammar", "missing_command", "syntax_error", "conditions")
        return {key: self.facts[key] for key in of}

    @property
    def other_dialect(self) -> Shell:
        """The first of another grammar, which an answer in the wrong language was written for."""
        return next(other for other in SHELLS.values() if other.grammar != self.grammar)

    def print_command(self, lines: Sequence[str]) -> str:
        """The command that prints lines."""
        quote, between = QUOTING[self.quoting]
        return self.print_lines.replace(LINES, between.join(map(quote, lines)))


class _Shells(UserDict[str, Shell]):
    """The entries by name, read at first use: a bad one is an error of the command that needs it.

    In the order of reports: the design's, the project's, the private ones.
    """

    def __init__(self) -> None: ...

    @cached_property
    def data(self) -> dict[str, Shell]:  # type: ignore[override]  # an attribute there
        found: dict[str, Shell] = {}
        for folder in banks(ENTRIES, VARIABLE):
            for path in sorted(folder.glob("*.yaml")):
                shell = read_shell(path)
                if shell.name in found:
                    hint = "give it another name: `name:` and the file's"
                    what = f"the name {shell.name} is taken"
                    raise UserError(what, where=shell.where("name"), hint=hint)
                found[shell.name] = shell
        first = {name: found.pop(name) for name in DESIGN_SHELLS}
        return first | found

    @contextmanager
    def replaced(self, others: Iterable[Shell]) -> Iterator[None]:
        """Inside the block others are known, too, and replace entries of the same names."""
        own = self.data
        self.data = own | {shell.name: shell for shell in others}
        try:
            yield
        finally:
            self.data = own


def read_shell(path: Path, keys: Collection[str] = ()) -> Shell:
    """An entry, or these keys of it alone; UserError names the file and the key."""
    stated = read_yaml(path)
    try:
        shell = Shell.model_validate(
            {key: stated[key] for key in stated if key in (keys or stated)}
        )
    except ValidationError as error:
        raise config_error(error, [path], Shell, PAGE) from None
    shell._file = path
    if shell.name != path.stem:
        what = f"the name is {shell.name}, the file's {path.name}"
        raise UserError(what, where=shell.where("name"), hint=f"call the file {shell.name}.yaml")
    return shell


def foreign_shell(path: Path) -> Shell | None:
    """An entry that others wrote; None if it says what this checkout's of its name says."""
    own = SHELLS.get(path.stem)
    return None if own and read_yaml(path) == read_yaml(own.file) else read_shell(path, HARMLESS)


HARMLESS = (
    *("name", "title", "short_title", "prompt_line", "tool_name", "argv", "version_command"),
    *("install", "empty_command", "trivial_answers", "print_lines", "grammar", "conditions"),
)
"""What of a foreign entry is read: no pattern is compiled, and no sentence is quoted."""
VARIABLE = "SHELLS_PRIVATE"
"""Environment variable that names the folder of private entries."""
SHELLS = _Shells()
"""All shells; a study's first is the baseline of its gaps."""
DESIGN_SHELLS: tuple[str, str] = ("bash", "pwsh")
"""The shells of the study as designed: every task has references in both."""


ShellName = Annotated[str, one_of(SHELLS, "shell", f"; a private one needs {VARIABLE}=its folder")]


def arms(names: Sequence[str]) -> tuple[str, ...]:
    """The baseline, which is the first, and its challengers.

    The design's two alone are in its order, and a study of one shell gets another of them.
    """
    named = list(dict.fromkeys(names))
    if len(named) < 2:
        named.insert(0, next(shell for shell in DESIGN_SHELLS if shell not in named))
    return DESIGN_SHELLS if {*named} == {*DESIGN_SHELLS} else tuple(named)


def gap_pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """The baseline with each challenger."""
    baseline, *challengers = arms(names)
    return [(baseline, challenger) for challenger in challengers]
