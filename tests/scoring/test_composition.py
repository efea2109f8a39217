"""The classifier knows a command's parts as the shells' own parsers do."""

import json
import shlex
import subprocess
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluency.core.grammar import MAX_BYTES, parse
from fluency.core.records import MadeOf
from fluency.core.shells import DESIGN_SHELLS
from fluency.scoring.commands import composition_of, is_cmdlet, rows_of, words_in
from tests.scoring.recordings import DATA, HANGING_S, read_lines, recorded


def composed(shell, command):
    return composition_of(shell, command, parse(shell, command).parses)


PARSED = read_lines("pwsh_command_names.jsonl")
UTILITY = "Microsoft.PowerShell.Utility"


@pytest.mark.parametrize("line", PARSED, ids=lambda line: line["command"][:40])
def test_parse_agrees_with_powershells_parser(line):
    found = parse("pwsh", line["command"])
    names = [command["name"] for command in line["commands"]]
    assert found.parses == (not line["parse_errors"])
    assert [call.name for call in found.calls] == names or not found.parses
    types = {command["type"] in ("Cmdlet", "Alias") for command in line["commands"]}
    kinds = {(): "no-commands", (True,): "cmdlets-only", (False,): "unix-only"}
    kind = kinds.get(tuple(types), "mixed") if found.parses else "does-not-parse"
    assert composed("pwsh", line["command"]).made_of == kind


def test_parse_accepts_what_powershell_accepted():
    """An incomplete text makes PowerShell exit with 1 and say nothing."""
    wrong = []
    for line in {line.command: line for line in recorded() if line.shell == "pwsh"}.values():
        stderr, stdout = line.result.stderr.data, line.result.stdout.data
        incomplete = line.result.exit_code == 1 and not stderr and not stdout
        refused = stderr.startswith("ParserError")
        if parse("pwsh", line.command).parses == refused and not incomplete:
            wrong.append((refused, line.command, line.task.id))
    unread = dict.fromkeys(("commit-docs", "removing-commit", "undo-file"), "-- before a path")
    unread |= {"unit-commands": "switch over a pipeline", "env-append": "+ next to -cnotin"}
    accepted = dict.fromkeys(("bench-regressions", "numbered-lines"), "$n: in a string")
    found = {(refused, task) for refused, _, task in wrong}
    assert found == {*((False, task) for task in unread), *((True, task) for task in accepted)}


def test_parse_accepts_what_bash_accepts():
    """On one text the grammar is stricter: bash looks inside backticks only when it runs them."""
    bash = [line for line in recorded() if line.shell == "bash" and line.kind != "other-dialect"]
    commands = sorted({line.command for line in bash})
    checks = (f"bash -n -c {shlex.quote(command)} 2>/dev/null; echo $?\n" for command in commands)
    done = subprocess.run(["bash"], input="".join(checks), capture_output=True, text=True)
    accepted = [code == "0" for code in done.stdout.split()]
    pairs = zip(commands, accepted, strict=True)
    wrong = [command for command, accepts in pairs if parse("bash", command).parses != accepts]
    assert wrong == ['awk "/^```console/{p=1;next} /^```/{p=0} p" docs/runbook.md']


def test_composition_of_bash_references():
    bash = [line for line in recorded() if (line.shell, line.kind) == ("bash", "reference")]
    found = [composed("bash", command) for command in {line.command for line in bash}]
    other = [made for made in found if made.made_of != "unix-only"]
    assert all("mkdir" in made.commands for made in other), "a function of PowerShell too"
    assert len(found) > 250 and len(other) < 10


@pytest.mark.parametrize(
    "shell, command, made_of, commands",
    [
        ("pwsh", "gci | ? Length -gt 3 | % Name", "cmdlets-only", ["gci", "?", "%"]),
        ("pwsh", "ls | sort", "unix-only", ["ls", "sort"]),
        ("pwsh", "Get-Content x | grep y", "mixed", ["Get-Content", "grep"]),
        ("pwsh", "[IO.File]::ReadAllText('x').Length", "no-commands", []),
        ("pwsh", "bash -c 'ls'", "delegation", ["bash"]),
        ("pwsh", "& '/bin/sh' -c ls", "delegation", ["/bin/sh"]),
        ("pwsh", "Start-Process -Wait bash", "delegation", ["Start-Process"]),
        ("pwsh", "function Get-It { ls } Get-It", "unix-only", ["ls", "Get-It"]),
        ("pwsh", "& $tool x", "no-commands", []),
        ("pwsh", "git log | select -First 1", "cmdlets-only", ["git", "select"]),
        ("pwsh", "git log | head", "unix-only", ["git", "head"]),
        ("pwsh", "1..9 | % { $_ }; foreach ($i in 0..$n) { $i }; 0..($n - 1)", "cmdlets-only", ["%"]),
        ("pwsh", f"{UTILITY}\\Get-Date", "cmdlets-only", [f"{UTILITY}\\Get-Date"]),
        ("pwsh", "update-alternatives x", "unix-only", ["update-alternatives"]),
        ("pwsh", "if (", "does-not-parse", []),
        ("pwsh", "ls | sort @{ e = 'a'; Descending = $true }, b", "unix-only", ["ls", "sort"]),
        ("pwsh", "find . ! -name x -exec wc -l {} +", "unix-only", ["find"]),
        ("pwsh", "cut -d',' -f1,2 x | sort -k1,1nr", "unix-only", ["cut", "sort"]),
        ("pwsh", "switch (1) { 1 { ls } 2 { Get-Date } default { } }", "mixed", ["ls", "Get-Date"]),
        # An escaped piece does not end a string, and a piece inside a string is not mended.
        ("pwsh", 'sort -k1,1 -t"`t" x', "unix-only", ["sort"]),
        ("pwsh", """find . ! -name "x -a'" | grep ' y'""", "unix-only", ["find", "grep"]),
        ("pwsh", """find . ! -name "x`" -a'" | grep ' y'""", "unix-only", ["find", "grep"]),
        ("pwsh", """find . ! -name 'x'' -a"' | grep " y\"""", "unix-only", ["find", "grep"]),
        ("pwsh", """find . ! -name "x"" -a'" | grep ' y'""", "unix-only", ["find", "grep"]),
        ("pwsh", """Get-Date | % { "`$n: x" }""", "cmdlets-only", ["Get-Date", "%"]),
        ("pwsh", "$a | ? { $_ -cnotin $b }", "cmdlets-only", ["?"]),
        ("bash", "find . -name '*.rs' | xargs wc -l", "unix-only", ["find", "xargs"]),
        ("bash", "find . | xargs -n 1 -I {} sh -c 'x {}'", "delegation", ["find", "xargs"]),
        ("bash", "find . -exec bash -c x \\;", "delegation", ["find"]),
        ("bash", "find . -name python", "unix-only", ["find"]),
        ("bash", "[ -f x ] && echo y", "unix-only", ["[", "echo"]),
        ("bash", "x=$(ls); export y=1", "unix-only", ["ls", "export"]),
        ("bash", "f() { ls; }; f", "unix-only", ["ls", "f"]),
        ("bash", "Get-ChildItem crates", "cmdlets-only", ["Get-ChildItem"]),
        ("bash", "for f in *; do echo $f", "does-not-parse", ["echo"]),
        *[("bash", f"env {given}", "delegation", ["env"]) for given in
            ("LC_ALL=C nice -n 5 python3 x", "--chdir /tmp python3")],
        ("bash", "eval 'python3 x'", "delegation", ["eval"]),
        ("bash", "p=python3; $p x", "unix-only", ["$p"]),
        ("bash", "p\\ython3 x", "delegation", ["python3"]),
        ("bash", "command -v python3", "unix-only", ["command"]),
        ("pwsh", "Invoke-Expression 'python3 x'", "delegation", ["Invoke-Expression"]),
        ("pwsh", "Get-Command python3", "cmdlets-only", ["Get-Command"]),
        ("bash", "", "no-commands", []),
    ],
)  # fmt: skip
def test_composition_of(shell, command, made_of, commands):
    found = composed(shell, command)
    assert (found.made_of, found.commands) == (made_of, commands)


def test_aliases_and_cmdlets_as_recorded():
    aliases = json.loads((DATA / "pwsh_aliases.json").read_text())
    assert rows_of("aliases") == {each["Name"].lower(): [each["Definition"]] for each in aliases}
    assert {each["Definition"].lower() for each in aliases} <= words_in("cmdlets")
    called = [command for line in PARSED for command in line["commands"]]
    assert all(is_cmdlet(command["name"]) for command in called if command["type"] == "Cmdlet")
    unix = "ls cat cp mv rm ps sort diff tee sleep curl wget"
    assert not any(map(is_cmdlet, unix.split()))


@given(
    st.sampled_from(DESIGN_SHELLS),
    st.text(alphabet=st.sampled_from("ab |;&{}()[]$'\"`\n<>@%-=,#\0é\ud800"), max_size=60),
)
@settings(max_examples=500, deadline=None)
def test_composition_of_any_text(shell, command):
    assert composed(shell, command).made_of in MadeOf.__args__


NASTY = [
    "a|", "(", "-d'x' ", '"`', ") , a", "@{", "a\n", "-a,b,", " -oa,b", ",aa", "'", '"', "\\", "-",
    " ", "$x:",
    # Long recovery from errors.
    "<+", "++=", "!--%", "\rx()\\", "}{", "${", "do ${..", "(1@", ")", "a=(", '"$(',
]  # fmt: skip


@pytest.mark.parametrize("shell", DESIGN_SHELLS)
@pytest.mark.parametrize("size", [MAX_BYTES, 1_000_000])
@pytest.mark.parametrize("unit", NASTY)
def test_parse_long_repetition_stops_at_limit(shell, unit, size):
    started = time.process_time()
    found = parse(shell, (unit * size)[:size])
    assert time.process_time() - started < HANGING_S
    assert size == MAX_BYTES or not found.parses
    assert len(found.calls) <= MAX_BYTES
    assert parse(shell, "ls | sort").parses, "the parser has no memory of it"
