"""The conditions: what each changes, to which answers it applies, and which column it fills."""

import json
import re

import pytest

from fluency.core.grammar import condition_applies, parse
from fluency.core.shells import CONDITIONS, EXTRA_CONDITIONS, SHELLS, WINDOWS_ALIASES
from fluency.core.table import Row
from fluency.core.tasks import load_tasks
from fluency.scoring.commands import words_in
from tests.scoring.recordings import DATA

WINDOWS = CONDITIONS["windows_aliases"]
POWERSHELL = SHELLS["pwsh"]


def aliases(name):
    recorded = json.loads((DATA / name).read_text())
    return {each["Name"]: each["Definition"] for each in recorded}


def test_windows_aliases_are_those_linux_lacks():
    """Windows' list is PowerShell's own (InitialSessionState); Linux's is recorded."""
    windows, linux = aliases("pwsh_windows_aliases.json"), aliases("pwsh_aliases.json")
    more = {name: command for name, command in windows.items() if name not in linux}
    assert len(more) == 27
    there = {
        name: command for name, command in more.items() if command.lower() in words_in("cmdlets")
    }
    assert there == WINDOWS_ALIASES
    windows_only = {"gsv", "sasv", "spsv", "cnsn", "dnsn", "ogv", "shcm"}
    assert set(more) - set(WINDOWS_ALIASES) == windows_only
    assert all(linux[name] == windows[name] for name in windows.keys() & linux.keys())


@pytest.mark.parametrize("condition", EXTRA_CONDITIONS, ids=lambda condition: condition.name)
def test_condition_has_column_and_removes_existing_arguments(condition):
    assert condition.column in Row.model_fields
    assert any(condition in shell.conditions for shell in SHELLS.values())
    for shell in SHELLS.values():
        if condition in shell.conditions:
            assert set(condition.removed_arguments) <= set(shell.argv)


@pytest.mark.parametrize(
    "command",
    [
        "ls -Directory crates/", "Get-Process | sort CPU", "LS", "& 'ls' a", "& { cat x }",
        '"$(ls | measure)"', "Get-ChildItem | % { cat $_ }", "$x = ls; $x.Count",
        # In doubt it is run.
        "foreach (", "& $x", '& "$tool/x"', "Invoke-Expression $x", "iex $x", "Get-Alias ls",
        "pwsh -Command $x", "[scriptblock]::Create($x).Invoke()", ". ./more.ps1",
        "Get-Date # " + "x" * 9000,
    ],
)  # fmt: skip
def test_condition_applies_to_call_of_alias_or_doubt(command):
    assert condition_applies(WINDOWS, POWERSHELL, command)


@pytest.mark.parametrize(
    "command",
    [
        "Get-ChildItem -Path sort | Sort-Object Length", "& { Get-Date }", "$sort = 1; $sort",
        "Get-Content a | wc -l", "xargs ls", "find . -exec cat {} +", "'ls | sort'",
    ],
)  # fmt: skip
def test_condition_applies_not_without_call_of_alias(command):
    assert not condition_applies(WINDOWS, POWERSHELL, command)
    assert condition_applies(WINDOWS, POWERSHELL.model_copy(update={"grammar": None}), command)
    # This one runs every answer.
    assert condition_applies(CONDITIONS["no_unix_tools"], POWERSHELL, command)


def test_references_call_no_windows_alias():
    """So each counts as designed, also where `& $k` hides what is called."""
    references = [command for task in load_tasks() for command in task.references[POWERSHELL.name]]
    parsed = [parse(POWERSHELL.grammar, command) for command in references]
    assert all(reference.parses for reference in parsed)
    called = {call.name.lower() for reference in parsed for call in reference.calls}
    assert len(called) > 10 and not called & WINDOWS.only_for_calls
    # These `make validate` runs under it.
    in_doubt = [each for each in references if condition_applies(WINDOWS, POWERSHELL, each)]
    assert in_doubt == [each for each in references if re.search(r"& \$\w+ ", each)]
