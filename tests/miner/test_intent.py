"""Which commands are single and read-only, and what they are for."""

import pytest

from fluency.core.tasks import CATEGORIES, load_tasks
from fluency.miner.intents import Intent, Rejected, intent_of, is_single, without_cd
from fluency.miner.transcripts import unwrap


@pytest.mark.parametrize(
    ("shell", "command", "slug"),
    [
        ("bash", "find crates -name '*.rs' | xargs grep -l TODO | sort", "text-list-search-sort"),
        ("bash", "find . -name '*.rs' -exec wc -l {} +", "text-list-count"),
        ("bash", "rg TODO src | wc -l", "text-search-count"),
        ("pwsh", "Select-String TODO *.rs | Measure-Object", "text-search-count"),
        ("bash", "du -sb crates/* | sort -n | tail -3", "file-measure-sort-take"),
        ("bash", "sha256sum Cargo.lock", "file-hash"),
        ("bash", "ps aux | grep node", "process-processes-search"),
        ("bash", "curl -fsSL http://127.0.0.1/x | sha256sum", "network-fetch-hash"),
        ("bash", "curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1/x", "network-fetch"),
        ("bash", "wget -qO- http://127.0.0.1/x", "network-fetch"),
        ("bash", "ls -la 2>/dev/null", "file-list"),
        ("bash", "grep -c '=>' src/a.rs 2>&1", "text-search"),
        ("pwsh", "Get-ChildItem -Recurse | Where-Object { $_.Length -gt 3 }", "file-list-filter"),
        ("bash", "awk '$1 > 3 { print }' f", "text-reshape"),
    ],
)
def test_an_intent_is_a_category_and_steps(shell, command, slug):
    intent = intent_of(shell, command)
    assert isinstance(intent, Intent) and intent.slug == slug and intent.category in CATEGORIES


CHANGES = ["rm -rf build", "find . -name x -delete", "find . -name x -exec rm {} +", "find . | xargs rm", "sort -o f f"]
CHANGES += ["find . | xargs -n 1 chmod +x", "sed -i s/a/b/ f", "sed -Ei s/a/b/ f", "sed --in-place s/a/b/ f"]
CHANGES += ["ls > files.txt", "ls >> files.txt", "ls &> files.txt", "ls | tee files.txt", "curl -X POST http://h/x"]
CHANGES += [
    "curl -d a=b http://h/x",
    "curl -o f http://h/x",
    "curl -sSLO http://h/x",
    "curl --upload-file f http://h/x",
]
CHANGES += ["wget http://h/x", "git status", "python3 -c 'print(1)'", "sudo ls"]
SEVERAL = [
    "ls; rm x", "ls && rm x", "ls || rm x", "sleep 9 & ls", "ls\nrm x", "echo $(rm x)", "ls `rm x`", "cat <(rm x)",
]  # fmt: skip


@pytest.mark.parametrize("command", [*CHANGES, *SEVERAL, "echo hello", ""])
def test_what_changes_something_or_is_more_than_one_command_is_left_out(command):
    assert isinstance(intent_of("bash", command), Rejected)


@pytest.mark.parametrize("command", ["Remove-Item x", "Invoke-WebRequest h -OutFile f", "irm h -Method Post", "ls; ls"])
def test_the_same_in_powershell(command):
    assert isinstance(intent_of("pwsh", command), Rejected)


def test_separators_inside_of_quotes_and_groups_are_none():
    assert is_single("grep 'a;b' f") and is_single('awk "{ a; b }" f') and is_single(r"find . -exec x {} \;")
    assert is_single("ls 2>&1 | head") and not is_single("ls 'a' ; b")


def test_a_leading_change_of_folder_is_taken_off():
    assert without_cd("cd /a/b && ls -l") == "ls -l" == without_cd('cd "/a b"; ls -l')
    assert without_cd("cdecho && x") == "cdecho && x"


def test_arguments_that_call_a_shell_are_unwrapped():
    assert unwrap(["bash", "-lc", "ls | wc"]) == ("bash", "ls | wc")
    assert unwrap(["/usr/bin/pwsh", "-NoProfile", "-Command", "gci"]) == ("pwsh", "gci")
    assert unwrap(["grep", "a b", "f"]) == ("bash", "grep 'a b' f")
    assert unwrap("ls") == ("bash", "ls") and unwrap([]) is None and unwrap([1]) is None and unwrap(None) is None


def test_the_bank_s_own_references_fall_into_their_categories():
    """Three of four at least: a pipeline that starts at find can be of either of two kinds."""
    pairs = []
    for task in load_tasks():
        for command in task.references["bash"]:
            intent = intent_of("bash", command)
            if isinstance(intent, Intent):
                pairs.append((task.category, intent.category))
    assert len(pairs) >= 15
    assert sum(given == found for given, found in pairs) / len(pairs) >= 0.75, pairs
