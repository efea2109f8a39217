"""The rows of the table of the room in docs/method.md that can be tried."""

import pytest

from fluency.execution.isolation import isolation
from fluency.execution.protocol import Invocation
from fluency.scoring.checks import clean
from tests.execution.run_it import LIMITS, SMALL, bash, pwsh, text

pytestmark = pytest.mark.engine


def test_bash_loop_that_ends_in_false_test_exits_1(sandbox):
    for name, last, code in (("main.rs", "src/\n", 1), ("README.md", "./\n", 0)):
        found = bash(sandbox, f'for d in */ ./; do [ -f "$d/{name}" ] && echo "$d"; done')
        assert (found.stdout.data, found.exit_code) == (last, code)


@pytest.mark.pwsh
def test_powershell_loop_that_ends_in_false_test_exits_0(sandbox):
    loop = "foreach ($d in 'src', '.') { if (Test-Path \"$d/main.rs\") { $d } }"
    filtered = "'src', '.' | Where-Object { Test-Path \"$_/main.rs\" }"
    for command in (loop, filtered):
        result = pwsh(sandbox, command)
        assert (result.stdout.data, result.exit_code) == ("src\n", 0)


def test_bash_messages_are_english_in_any_locale(sandbox):
    for language in ("", "LC_ALL=de_DE.UTF-8", "LC_ALL= LANG=fr_FR.UTF-8"):
        commands = ("ls nothing", "date -d 2026-01-05 '+%A %B'", "sort <<< $'b\\na\\nB'")
        said = bash(sandbox, ";".join(f"{language} {command}" for command in commands))
        assert "No such file or directory" in said.stderr.data
        assert said.stdout.data == "Monday January\nB\na\nb\n"


@pytest.mark.pwsh
def test_powershell_messages_are_english(sandbox):
    day = "(Get-Date 2026-01-05).ToString('dddd MMMM')"
    said = pwsh(sandbox, f"Get-Item nothing; {day}; (1234.5).ToString()")
    assert "Cannot find path" in said.stderr.data and said.stdout.data == "Monday January\n1234.5\n"


@pytest.mark.pwsh
def test_table_is_the_same_with_and_without_terminal(sandbox):
    """With a name that no column holds, so that it has to be cut somewhere."""
    table = f"[pscustomobject]@{{ Name = '{'n' * 100}'; Length = 5; Path = '{'p' * 60}' }} | Format-Table"
    start = '/opt/microsoft/powershell/7/pwsh -NoProfile -NonInteractive -Command "$T"'
    command = f"$env:T = @'\n{table}\n'@\nscript -qec 'stty rows 24 cols 80; {start}' /dev/null"
    with_terminals = isolation(LIMITS, sandbox.engine["name"]) | {"masked": {}}
    terminal = sandbox._run(Invocation("pwsh", command, SMALL, LIMITS, 30), with_terminals)
    none = pwsh(sandbox, table)
    assert none.exit_code == 0 and "…" in none.stdout.data

    def lines(result):
        return [line.rstrip() for line in clean(result.stdout.raw()).splitlines() if line.strip()]

    assert lines(terminal) == lines(none) and max(map(len, lines(none))) <= 80


def test_unix_programs_without_terminal_cut_no_line(sandbox):
    long = "x" * 300
    shown = bash(sandbox, f"sleep 5 & exec -a {long} sleep 5 & sleep 0.2; ps -eo args; kill %1 %2")
    assert long in shown.stdout.data
    assert text(bash(sandbox, f"echo {long} b | column -t | head -1")) == f"{long}  b"
