"""What Windows PowerShell 5.1 lacks of a command, and texts that only PowerShell 7 parses."""

import pytest

from fluency.core.grammar import parse
from fluency.scoring.windows_powershell import counted, lacks

CASES = {
    True: [
        "a && b", "a || b", "$x ? 1 : 2", "$x ?? 3", "$x ??= 3", "${x}?.y", "${x}?[0]", "${a b}?.Length",
        "(Get-Item x)?.Length", "$a[0]?.Name", "Get-Process &", "sleep 1 & ", "'{0}' -f 1 &", '"$(a && b)"',
        '$s -replace "a", { $_.Value }', "'a'..'c'", '"`e[0m"', '"`u{1F600}"', "0b101", "5uy", "10n",
        "function f { clean { 1 } }", "$IsLinux", "(Get-Process).CommandLine", "Get-Process | % CommandLine",
        "Get-Content x -AsByteStream", "gci -FollowSymlink:$true", "1..3 | ForEach-Object -Parallel { $_ }",
        "Get-Uptime", "Set-Content x -Encoding utf8NoBOM", "gci | sort-object -Top 3",
        "Microsoft.PowerShell.Utility\\Join-String -Separator x",
    ],
    False: [
        "'a && b'", "1..3", '$s -replace "a", "b"', "gci -Recurse | select -First 1", '"``e"', "5l",
        "Get-CimInstance Win32_Process | select CommandLine", "Get-Content x -Encoding utf8", "$_.Name",
        "$x?.y", "Get-Process | ? Id -eq 5 | % ProcessName", "'-AsByteStream'",
    ],
    None: ["[math]::Max(1,2)", "Get-Content @p", "& $x", '$a.Split(",")', "if ("],
}  # fmt: skip


@pytest.mark.parametrize(
    ("command", "lacking"), [(text, key) for key, texts in CASES.items() for text in texts]
)
def test_lacks_by_text(command, lacking):
    assert lacks(command) is lacking
    assert parse("pwsh", command).parses == (command != "if (")


def test_parse_refuses_a_misplaced_ampersand():
    """As PowerShell 7.6.9 does."""
    for command in ("ls && &", "$a = &", "1 | &", "$x? [0]"):
        assert not parse("pwsh", command).parses


def test_counted_kinds():
    assert counted(["a && b", "gci", "gci", "& $x"]) == {True: 1, False: 2, None: 1}
