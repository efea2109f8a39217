"""Why a cell failed, on what two real shells said, and on endings made by hand."""

import time
from collections import Counter, defaultdict

import pytest

from fluency.core.records import FailureClass, Result, Stream
from fluency.core.shells import DESIGN_SHELLS, SHELLS
from fluency.execution.extract import extract
from fluency.scoring.failure_class import HeadlineRun, classify
from fluency.scoring.judgement import judge
from tests.scoring.recordings import HANGING_S, recorded, result, task_with

TASK = task_with("set", r"^[a-z]+ \d+$")
RIGHT = ["a 1", "b 2"]
SAYS = {"missing_command": r"^zsh:\d+: command not found: (.+)$"}
SAYS["syntax_error"] = r"^zsh:\d+: parse error"
ZSH = SHELLS["bash"].model_copy(update={"name": "zsh", "title": "zsh"} | SAYS)
"""A further shell with Bash's grammar and its own patterns."""
SAYS = {"missing_command": r"Command `(.+)` not found", "syntax_error": r"nu::parser::"}
NU = SHELLS["bash"].model_copy(update={"name": "nu", "title": "Nushell", "grammar": None} | SAYS)
"""A shell without a parser: nothing is read as Bash."""


def cell(*results, reply="some command", outcome="ok", shell="bash", task=TASK, expected=RIGHT):
    verdicts = [judge(task, each, expected) for each in results]
    runs = list(map(HeadlineRun, (11, 24), results, verdicts))
    return classify(outcome, extract(reply), ({**SHELLS} | {"zsh": ZSH, "nu": NU})[shell], runs)


def test_every_recording_is_judged_and_classified_as_recorded():
    """References pass in both worlds, wrong commands never in both."""
    by_command, differ, classes = defaultdict(list), [], defaultdict(Counter)
    for line in recorded():
        by_command[line.task.id, line.shell, line.kind, line.command].append(line)
    for (task, shell, kind, command), lines in by_command.items():
        runs, refused = [], True
        for line in lines:
            verdict = line.judgement()
            runs.append(HeadlineRun(line.world, line.result, verdict))
            refused = refused and line.result.stderr.data.startswith("ParserError")
            if (verdict.passed and line.result.helpers_intact) != line.passed:
                differ.append((task, shell, line.world, command, verdict.why))
        found = classify("ok", extract(command), SHELLS[shell], runs).failure_class
        if found != lines[0].failure_class:
            differ.append((task, shell, command, lines[0].failure_class, found))
        classes[shell, kind, refused][found] += 1
    assert differ == []
    assert {line.task.content for line in recorded()} >= {"set", "ordered", "paths", "keyed"}
    for shell in DESIGN_SHELLS:
        assert set(classes[shell, "reference", False]) == {None}
        assert None not in classes[shell, "wrong", False]
    assert set(classes["bash", "other-dialect", False]) == {"other-dialect"}
    assert set(classes["pwsh", "other-dialect", True]) == {"other-dialect"}
    assert set(classes["pwsh", "wrong", True]) <= {"does-not-parse"}


OK = result("a 1\nb 2\n")
NOT_FOUND = result("", 127, "bash: line 1: Here: command not found\n")
WRONG = result("a 1\nb 3\n")
CUT = Result(exit_code=0, stdout=Stream.of(b"a 1\n", 9_999_999), stderr=Stream.of(b""), wall_s=1)


@pytest.mark.parametrize(
    "wanted, found",
    [
        (None, cell(OK, OK)),
        ("refusal", cell(outcome="refusal", reply="I cannot.")),
        ("truncated", cell(outcome="truncated", reply="ls |")),
        ("no-tool-call", cell(outcome="no-call", reply="")),
        ("thinking-in-answer", cell(NOT_FOUND, reply="<think>Hm.</think>\nls")),
        ("thinking-in-answer", cell(NOT_FOUND, reply="Hm.</think>\n```\nls\n```")),
        (None, cell(OK, reply="<think>Hm.</think>\nls")),
        ("empty", cell(outcome="empty", reply="")),
        ("empty", cell(reply="```bash\n```")),
        ("timeout", cell(OK, result("", None, signal=9, timed_out=True))),
        ("resource-limit", cell(result("", None, signal=25))),
        ("resource-limit", cell(result("", 137, used={"oom_killed": True}))),
        ("resource-limit", cell(result("", 153))),
        ("resource-limit", cell(result("", None, spawn_error="argument list too long"))),
        ("resource-limit", cell(result("", 254, "bash: fork: retry: Resource temporarily unavailable\n"))),
        ("resource-limit", cell(CUT)),
        ("resource-limit", cell(result("", None, lost="gone"))),
        ("non-zero-exit", cell(OK, result("a 1\nb 2\n", 1))),
        ("non-zero-exit", cell(result("", None, signal=11))),
        ("one-world-only", cell(OK, WRONG)),
        ("table-noise", cell(result("Name Count\n---- -----\na 1\nb 2\n"))),
        ("wrong-structure", cell(result("A-1\n"))),
        ("wrong-structure", cell(result(""), result("A-1\n"))),
        ("no-output", cell(result(""), result(" \n"))),
        ("no-output", cell(result("", tree_changed=True))),
        ("silent-wrong", cell(result("a 1\n", tree_changed=True))),  # the folder is its own
        ("side-effects", cell(result("a 1\n", leftover=["sleep"]))),
        ("side-effects", cell(result("a 1\nb 2\n", helpers_intact=False))),
        ("side-effects", cell(OK, result("a 1\nb 2\n", helpers_intact=False))),
        ("silent-wrong", cell(WRONG, WRONG)),
        ("wrong-structure", cell(result("Name Count\n---- -----\na 1\nb 2\n"), WRONG)),
        ("silent-wrong", cell(WRONG, WRONG, reply="`ls`")),
        (None, cell(OK, OK, reply="`ls`")),
    ],
)  # fmt: skip
def test_classify_results(wanted, found):
    assert found.failure_class == wanted
    assert found.why.isprintable() and found.why.endswith(".")


MISSING = "bash: line 1: {}: command not found\n"
UNKNOWN = "{0}: The term '{0}' is not recognized as a name of a cmdlet, function, script file, or executable program.\n"
NO_END = "bash: -c: line 1: unexpected EOF while looking for matching `''\n"
NO_SYNTAX = "bash: -c: line {}: syntax error near unexpected token `)'\n"


@pytest.mark.parametrize(
    "wanted, shell, reply, exit_code, said",
    [
        ("format", "bash", "Here is the command:\n```bash\nls\n```", 127, MISSING.format("Here")),
        ("format", "bash", "Here is the command that lists them: ls", 127, MISSING.format("Here")),
        ("format", "bash", "`ls`", 127, MISSING.format("a")),
        ("format", "pwsh", "$ ls", 1, UNKNOWN.format("$")),
        ("other-dialect", "bash", "Get-ChildItem crates", 127, MISSING.format("Get-ChildItem")),
        ("other-dialect", "pwsh", "if [ -f x ]; then ls; fi", 1, "ParserError: \nLine |\n"),
        ("other-dialect", "pwsh", "export A=1", 1, UNKNOWN.format("export")),
        ("does-not-parse", "bash", "echo 'x", 2, NO_END),
        ("does-not-parse", "pwsh", "if (", 1, ""),
        ("does-not-parse", "pwsh", '$n = 1; "$n: x"', 1, "ParserError: \n"),
        ("does-not-parse", "pwsh", "gci crates | sort < x; dir >", 1, "ParserError: \n"),
        ("does-not-parse", "bash", "echo a 1\necho )", 2, NO_SYNTAX.format(2)),
        ("non-zero-exit", "bash", "echo a 1; bash -c 'echo )'", 2, NO_SYNTAX.format(1)),
        ("invented-command", "bash", "fd -e rs", 127, MISSING.format("Here")),
        ("invented-command", "pwsh", "Foo x", 1, UNKNOWN.format("Foo")),
        ("missing-program", "bash", "fd | sort", 0, MISSING.format("fd")),
        ("missing-program", "zsh", "fd | sort", 127, "zsh:1: command not found: fd\n"),
        ("does-not-parse", "zsh", "ls |", 1, "zsh:1: parse error near `|'\n"),
        ("does-not-parse", "nu", "ls | where", 1, "Error: nu::parser::missing_positional\n"),
        ("missing-program", "nu", "if (fd x) { }", 1, "Command `fd` not found\n"),
        ("invented-command", "nu", "Get-Item x", 1, "Command `Get-Item` not found\n"),
        ("non-zero-exit", "nu", "if (", 1, ""),
        ("non-zero-exit", "nu", "cargo tree", 127, ""),
        # Nothing was said: the last program counts.
        ("missing-program", "bash", "cat x | perl -ne 1 2>/dev/null", 127, ""),
        ("missing-program", "bash", "ls | xargs cargo", 127, ""),
        ("invented-command", "bash", "cargo tree; ./vox-sched", 127, ""),
        ("invented-command", "bash", "exit 127 #", 127, ""),
    ],
)  # fmt: skip
def test_classify_complaints(wanted, shell, reply, exit_code, said):
    printed = "a 1\n" if "echo a 1" in reply else ""
    found = cell(result(printed, exit_code, said), reply=reply, shell=shell)
    assert found.failure_class == wanted
    assert found.why.isprintable() and found.why.endswith(".")


def test_classify_tests_cover_every_class():
    tables = (test_classify_results, test_classify_complaints)
    tested = {row[0] for test in tables for row in test.pytestmark[0].args[1] if row[0]}
    assert tested == set(FailureClass.__args__)


def test_classify_why_quotes_the_shell():
    stderr = "ParserError: \nLine |\n   1 |  Get-Date |\n     |     ~\n     | An empty pipe element is not allowed.\n"
    found = cell(result("", 1, stderr), reply="Get-Date |", shell="pwsh")
    assert found.why == "PowerShell 7 cannot parse it ('An empty pipe element is not allowed.')."
    assert cell(NOT_FOUND, NOT_FOUND, reply="fd").why == "Bash does not find 'Here'."
    found = cell(result("", 127, "zsh:1: command not found: fd\n"), reply="fd", shell="zsh")
    assert found.why == "zsh does not find 'fd'."
    once = "Right in another world, but in world 24: line 'b 2' is missing"
    assert cell(OK, WRONG).why.startswith(once)


METER = (
    "  % Total    % Received % Xferd  Average Speed   Time    Time     Time  Current\n"
    "                                 Dload  Upload   Total   Spent    Left  Speed\n"
    "\r  0     0    0     0    0     0      0      0 --:--:-- --:--:-- --:--:--     0"
)
"""As curl writes it, with the bar on one line with what comes next."""
BAR = "\r100  1248  100  1248    0     0   138k      0 --:--:-- 0:00:01 --:--:--  152k\n"


@pytest.mark.parametrize(
    "stderr, quoted",
    [
        ("curl: (6) Could not resolve host: dl\n", " ('curl: (6) Could not resolve host: dl')"),
        (f"{BAR}jq: no\n", " ('jq: no')"),
        ("\n", ""),
    ],
)
def test_classify_why_skips_progress_meter(stderr, quoted):
    found = cell(result("", 1, METER + stderr), reply="curl x | jq")
    assert found.why == f"World 11: exit code 1, and nothing was printed{quoted}."


@pytest.mark.parametrize(
    "unit", ["The term '", ": The term '", "bash: line 1: ", "/a", "A a ", "1 | ", "-", " ", "0  "]
)
def test_classify_long_complaint_in_linear_time(unit):
    failed = result("", 1, stderr=unit * (1_000_000 // len(unit)))
    for shell in SHELLS:
        started = time.process_time()
        cell(failed, shell=shell)
        assert time.process_time() - started < HANGING_S


def test_classify_long_reply_in_linear_time():
    start = time.process_time()
    found = cell(NOT_FOUND, reply="Here are words " * 8_000, shell="bash")
    assert found.failure_class == "invented-command"
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    "shell, wanted, commands",
    [
        ("bash", "missing-program", ["cargo", "perl", "rg", "findstr", "/usr/bin/python3"]),
        ("bash", "invented-command", ["vox-worker", "./vox-sched", "bin/perl", "cargo vox-worker"]),
        ("pwsh", "missing-program", ["git", "findstr", "python.exe", "Get-CimInstance"]),
        ("pwsh", "missing-program", ["get-nettcpconnection", "ConvertFrom-Markdown"]),
        ("pwsh", "invented-command", ["Get-ChildProcess", "Sort-Count", "Get-WebClient", "Join"]),
        ("pwsh", "invented-command", ["changelog.md", "cargo Sort-Count"]),
    ],
)
def test_classify_missing_or_invented_command(shell, wanted, commands):
    """One invented name is enough: no machine runs such a command."""
    said = {"bash": MISSING, "pwsh": UNKNOWN}[shell]
    for names in commands:
        stderr = "".join(said.format(name) for name in names.split())
        found = cell(result("", 1 if shell == "pwsh" else 127, stderr), reply=names, shell=shell)
        assert found.failure_class == wanted, names
