"""The shells, and the conditions that their answers run under again: here and nowhere else.

A third shell is one more entry, and references for the tasks it is validated on. A further
condition is one more entry, named by its shells.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import AfterValidator

from fluency.common.errors import did_you_mean

# fmt: off
WINDOWS_ALIASES: Mapping[str, str] = {
    "ac": "Add-Content", "cat": "Get-Content", "clear": "Clear-Host", "compare": "Compare-Object",
    "cp": "Copy-Item", "cpp": "Copy-ItemProperty", "diff": "Compare-Object", "kill": "Stop-Process",
    "ls": "Get-ChildItem", "man": "help", "mount": "New-PSDrive", "mv": "Move-Item",
    "ps": "Get-Process", "rm": "Remove-Item", "rmdir": "Remove-Item", "sleep": "Start-Sleep",
    "sort": "Sort-Object", "start": "Start-Process", "tee": "Tee-Object", "write": "Write-Output",
}
# fmt: on
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


def one_of(known: Collection[str], noun: str) -> AfterValidator:
    """A validator of names; the noun is what they name."""

    def check(name: str) -> str:
        if name not in known:
            raise ValueError(f"there is no {noun} {name!r}; {did_you_mean(name, known)}")
        return name

    return AfterValidator(check)


ConditionName = Annotated[str, one_of(CONDITIONS, "condition")]
Grammar = Literal["bash", "pwsh"]
"""The language a shell reads, which decides the parser and the dialect an answer is taken for."""


@dataclass(frozen=True)
class Shell:
    """A shell that models are asked for."""

    name: str  # in configurations, paths and records
    title: str  # in full, with the version that is asked for
    short_title: str  # in sentences and narrow columns
    prompt_line: str  # the only words by which the prompts of two shells differ
    tool_name: str  # of the tool whose call is the answer, with `interface: tool`
    argv: tuple[str, ...]  # the path of the program and its arguments; the command is the last
    version_command: str  # prints the shell's version and nothing else
    packages: tuple[str, ...]  # Debian packages for the image
    empty_command: str  # ends at once with exit code 0, to measure the shell's start
    trivial_answers: tuple[str, ...]  # commands that do nothing, which no task may accept
    # The command that prints the lines, quoted for this shell.
    print_command: Callable[[Sequence[str]], str]
    lexer: str  # of Pygments
    grammar: Grammar | None  # None: without a parser, its own messages alone say what went wrong
    # Regular expressions of its messages about an unknown command, whose group is the name, and
    # about a text that it cannot parse.
    missing_command: str
    syntax_error: str
    archived: bool = False  # its image takes it from its release's archive
    # Under which answers run again, where the study asks for them.
    conditions: tuple[Condition, ...] = ()
    install_hint: str = "rebuild the image: `make image`"  # where the image lacks it
    policy: str = ""  # the policy that prefers this shell, if there is one
    unix_programs_note: str = ""  # why an answer to it need not be in its language, in a sentence


SHELLS: dict[str, Shell] = {
    shell.name: shell
    for shell in (
        Shell(
            name="bash",
            title="Bash",
            short_title="Bash",
            prompt_line="Solve this with a single bash command (or bash one-liner pipeline). "
            "Output only the command.",
            tool_name="bash",
            argv=("/usr/bin/bash", "--noprofile", "--norc", "-c"),
            version_command='echo "$BASH_VERSION"',
            packages=("bash",),
            empty_command=":",
            trivial_answers=(":", "true", "echo"),
            print_command=lambda lines: "printf '%s\\n' " + shlex.join(lines),
            lexer="bash",
            grammar="bash",
            missing_command=r"^(?:/\S+/)?(?:ba|da)?sh: (?:-c: )?line \d+: (.+): command not found$",
            syntax_error=r"^bash: (?:-c: )?line \d+: "
            r".*(?:syntax error|unexpected (?:EOF|end of file))",
        ),
        Shell(
            name="pwsh",
            title="PowerShell 7",
            short_title="PowerShell",
            prompt_line="Solve this with a single PowerShell 7 command (or pipeline). "
            "Output only the command.",
            tool_name="powershell",
            argv=("/opt/microsoft/powershell/7/pwsh", "-NoProfile", "-NonInteractive", "-Command"),
            version_command="$PSVersionTable.PSVersion.ToString()",
            packages=("libicu72",),
            archived=True,
            empty_command="exit",
            trivial_answers=("$null", "$true", "Write-Output ''"),
            print_command=lambda lines: ", ".join(
                "'" + line.replace("'", "''") + "'" for line in lines
            ),
            lexer="powershell",
            grammar="pwsh",
            missing_command=r"(?:^|(?<=: ))The term '((?:(?!: The term ').)+?)' "
            r"is not recognized as a name of a cmdlet",
            syntax_error=r"\AParserError",
            conditions=(CONDITIONS["no_unix_tools"], CONDITIONS["windows_aliases"]),
            install_hint="put its release's tarball beside the Makefile and run `make image`",
            policy="PowerShell-first",
            unix_programs_note="PowerShell on Linux runs Unix programs too: 35 of the 60 Bash "
            "references of the task bank run unchanged in it.",
        ),
    )
}
"""All shells in the order of reports; the gap is the second one's pass@1 less the first one's."""
DESIGN_SHELLS: tuple[str, str] = ("bash", "pwsh")
"""The shells of the study as designed: every task has references in both."""


def other_dialect(shell: Shell) -> Shell:
    """The first shell of another grammar, which an answer in the wrong language was written for."""
    return next(other for other in SHELLS.values() if other.grammar != shell.grammar)


ShellName = Annotated[str, one_of(SHELLS, "shell")]


def sort_shells(names: Sequence[str]) -> tuple[str, ...]:
    """Shells in the order of reports, however a configuration lists them."""
    return tuple(name for name in SHELLS if name in names)


def gap_shells(names: Sequence[str]) -> tuple[str, str]:
    """Baseline and challenger: the first two of `names` in the order of reports.

    Where a study has one shell, the first other one of the design is added.
    """
    asked = dict.fromkeys([*sort_shells(names)[:2], *DESIGN_SHELLS])
    baseline, challenger = sort_shells(list(asked)[:2])
    return baseline, challenger
