"""The miner on transcripts of every agent: candidates, what they are for, what is redacted."""

import json
import string
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from fluency.common.errors import UserError
from fluency.common.paths import ROOT
from fluency.core.tasks import CATEGORIES, load_task
from fluency.miner.intents import Intent, intent_of, without_cd
from fluency.miner.mine import GENERIC_NAMES, default_places, main, mine, redact, user_names
from fluency.miner.transcripts import requests_in
from tests.miner import logs

EXPECTED = dict.fromkeys(CATEGORIES, 1) | {"text-processing": 2}
LEFT = dict.fromkeys(("failed", "more than one command", "runs something else"), 1)
CANDIDATES = ["file-list-sort-take", "network-fetch", "process-processes"]
CANDIDATES += ["text-search", "text-search-count"]


@pytest.mark.parametrize("name", logs.FORMATS)
def test_mine_finds_same_candidates_in_each_format(name, tmp_path):
    logs.FORMATS[name](tmp_path / "logs")
    report = mine([tmp_path / "logs"], tmp_path / "out")
    assert report.tally["files"] == 1
    assert report.tally["commands"] == len(logs.REQUESTS)
    assert (dict(report.categories), dict(report.rejected)) == (EXPECTED, LEFT)
    assert report.tally["malformed lines"] == (name != "Gemini CLI")
    drafts = sorted(path.parent.name for path in (tmp_path / "out").glob("*/task.yaml"))
    assert sorted(intent.slug for intent in report.candidates) == drafts == CANDIDATES
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    written = "\n".join(f"{path.name} {path.read_text()}" for path in files).lower()
    assert "grep -rn todo " in written and "| wc -l" in written, "public text is kept"
    for canary in logs.CANARIES:
        assert canary.lower() not in written, canary


def test_mine_draft_is_refused_by_loader_and_stays_when_edited(tmp_path):
    logs.claude_code(tmp_path / "logs")
    mine([tmp_path / "logs"], tmp_path / "out")
    folder = tmp_path / "out/file-list-sort-take"
    draft = yaml.safe_load((folder / "task.yaml").read_text())
    assert draft["draft"] is True and "expected" not in json.dumps(draft)
    assert draft["prompt"] == "List the five largest files"
    assert draft["seen"]["commands"] == {"bash": [logs.REQUESTS[1][1]]}
    assert not (folder / "answer.py").exists()
    with pytest.raises(UserError):
        load_task(folder)
    page = (tmp_path / "out/README.md").read_bytes()
    (folder / "task.yaml").write_text("draft: true\nprompt: my own words\n")
    mine([tmp_path / "logs"], tmp_path / "out")
    assert "my own words" in (folder / "task.yaml").read_text()
    assert (tmp_path / "out/README.md").read_bytes() == page


def test_mine_table_counts_categories_and_candidates(tmp_path):
    often = [("Count lines", f"wc -l src/{n}.rs", True) for n in range(6)]
    often += [("Size", "du -sb src", True)] * 2
    logs.claude_code(tmp_path / "logs", [*often, *logs.REQUESTS])
    mine([tmp_path / "logs"], tmp_path / "out")
    page = (tmp_path / "out/README.md").read_text()
    assert "| text-processing | 8 | 62 % |" in page
    assert "| [text-count](text-count/task.yaml) | 6 | 75 % | 6 | 0 | 0 | 6 |" in page
    assert "| runs something else | 1 |" in page


def test_mine_merges_shells_of_one_intent(tmp_path):
    logs.claude_code(tmp_path / "a", [("Count TODO", "grep -r TODO src | wc -l", True)])
    powershell = [("Count TODO", "Select-String -Path *.rs TODO | Measure-Object", True)]
    logs.claude_code(tmp_path / "b", powershell, shell="PowerShell")
    mine([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    (path,) = (tmp_path / "out").glob("*/task.yaml")
    assert set(yaml.safe_load(path.read_text())["seen"]["commands"]) == {"bash", "pwsh"}


def test_mine_leaves_out_prompt_with_several_commands(tmp_path):
    path = logs.codex(tmp_path / "logs", [("Look around", "ls", True), ("Count", "wc -l a", True)])
    lines = path.read_text().splitlines()
    second = next(line for line in lines if '"call_1"' in line and "function_call" in line)
    logs.write_lines(path, [*lines, second.replace("call_1", "call_2").replace("-l a", "-l b")])
    report = mine([tmp_path / "logs"], tmp_path / "out")
    assert [intent.slug for intent in report.candidates] == ["file-list"]
    assert dict(report.rejected) == {"one of several for its prompt": 2}


CALL = '{"payload": {"type": "function_call", "name": "shell", "arguments": ARGUMENTS}}'
HOSTILE = [
    "null",
    "[]",
    '{"type": "assistant", "message": {"content": [7, null, {"type": "tool_use"}]}}',
    '{"message": {"content": [{"type": "tool_use", "name": "Bash", "input": 3}]}}',
    '{"type": "user", "message": {"content": {"a": [{}]}}}',
    '{"type": "user", "message": null, "cwd": 5, "directories": [3]}',
    CALL.replace("ARGUMENTS", '"{"'),
    CALL.replace("ARGUMENTS", '"{\\"command\\": [1]}"'),
    CALL.replace("ARGUMENTS", "7"),
    '{"payload": {"type": "exec_command_end", "call_id": [], "exit_code": "x"}}',
    '{"type": "gemini", "toolCalls": [1, {"args": 5}, {"name": ["run_shell_command"]}]}',
    '{"a": ' * 3000,
    "\ud83d broken".encode("utf-8", "surrogatepass").decode("latin-1"),
]


@pytest.mark.parametrize("make", [logs.claude_code, logs.codex])
def test_mine_skips_malformed_lines(make, tmp_path):
    path = make(tmp_path / "logs")
    path.write_text(path.read_text() + "".join(f"{line}\n" for line in HOSTILE))
    for number, _ in enumerate(HOSTILE):
        rotated = HOSTILE[number:] + HOSTILE[:number]
        logs.write_lines(tmp_path / f"logs/{number}.jsonl", list(rotated))
    (tmp_path / "logs/opencode.db").write_bytes(b"SQLite format 3\0" + b"junk" * 100)
    (tmp_path / "logs/other.db").write_bytes(b"no database")
    (tmp_path / "logs/session-x.json").write_text("[")
    (tmp_path / "logs/loop.jsonl").symlink_to(tmp_path / "logs/loop.jsonl")
    report = mine([tmp_path / "logs"], tmp_path / "out")
    assert report.categories == EXPECTED
    assert report.tally["malformed lines"] > len(HOSTILE) and report.tally["unreadable files"] == 2


def test_mine_skips_overlong_line_and_copied_session(tmp_path):
    path = logs.claude_code(tmp_path / "logs")
    data = path.read_bytes()
    (path.parent / "copy.jsonl").write_bytes(data)
    path.write_bytes(b'{"junk": "' + b"x" * (9 << 20) + b'"}\n' + data)
    report = mine([tmp_path / "logs"], tmp_path / "out")
    assert report.tally["files"] == 1 and report.categories == EXPECTED


def test_mine_refuses_logs_without_commands(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/notes.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(UserError, match="no file has a shell command"):
        mine([tmp_path / "empty"], tmp_path / "out")
    with pytest.raises(UserError, match="no such file"):
        mine([tmp_path / "nowhere"], tmp_path / "out")


def test_mine_reads_default_places_or_several_arguments(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert default_places() == []
    for make, place in {
        logs.claude_code: ".claude/projects/p/1.jsonl",
        logs.codex: ".codex/sessions/2026/rollout-1.jsonl",
        logs.gemini: ".gemini/tmp/h/chats/session-1.json",
        logs.opencode: ".local/share/opencode/opencode.db",
    }.items():
        make(tmp_path / "x").rename(_folder((tmp_path / place).parent) / Path(place).name)
    assert main([Path("")], tmp_path / "out") == 0
    assert "Files with shell commands: 4 " in capsys.readouterr().out
    one, two = logs.claude_code(tmp_path / "a a").parent, logs.codex(tmp_path / "b").parent
    main([Path(f"'{one}' {two}")], tmp_path / "out")
    assert "Files with shell commands: 2 " in capsys.readouterr().out


def _folder(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


WATCHED = """
import resource, sys
from pathlib import Path
touched = []
watched = ("socket.", "urllib.", "subprocess.", "os.exec", "os.posix_spawn")
sys.addaudithook(lambda event, args: event.startswith(watched) and touched.append(event))
from fluency.miner.mine import main
main([Path(sys.argv[1])], Path(sys.argv[2]))
print(touched, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_mine_memory_is_bounded_without_sockets_or_programs(tmp_path):
    """The peak grows by less than 25 MB from sessions of 1 MB, most of it tool output, to 40 MB."""
    records = logs.claude_code(tmp_path / "seed").read_text()
    records += next(line for line in records.splitlines() if "tool_result" in line)
    records = records.replace('"out"', json.dumps("output " * 12_000))
    peaks = []
    for megabytes in (1, 40):
        folder = _folder(tmp_path / f"{megabytes}")
        with (folder / "session.jsonl").open("w") as stream:
            while stream.tell() < megabytes * 1_000_000:
                own = f"{stream.tell()}"
                stream.write(records.replace("toolu_", own).replace("src", own) + "\n")
        for make in logs.FORMATS.values():
            make(folder)
        command = [sys.executable, "-c", WATCHED, str(folder), str(tmp_path / "out")]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=300, check=True)
        touched, peak = done.stdout.splitlines()[-1].rsplit(" ", 1)
        assert touched == "[]"
        peaks.append(int(peak))
    assert peaks[1] - peaks[0] < 25_000, peaks


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
        ("bash", "awk '$1 > 3 { print; print }' f", "text-reshape"),
        ("bash", r"find . -exec grep 'a;b' {} \; 2>&1 | head", "text-list-search-take"),
    ],
)
def test_intent_of_reading_command(shell, command, slug):
    intent = intent_of(shell, command)
    assert isinstance(intent, Intent) and intent.slug == slug and intent.category in CATEGORIES


CHANGES = [
    "rm -rf build", "find . -name x -delete", "find . -name x -exec rm {} +", "find . | xargs rm",
    "sort -o f f", "find . | xargs -n 1 chmod +x", "sed -i s/a/b/ f", "sed -Ei s/a/b/ f",
    "sed --in-place s/a/b/ f", "ls > files.txt", "ls >> files.txt", "ls &> files.txt",
    "ls | tee files.txt", "curl -X POST http://h/x", "curl -d a=b http://h/x",
    "curl -o f http://h/x", "curl -sSLO http://h/x", "curl --upload-file f http://h/x",
    "wget -O f http://h/x", "find . | xargs rm ls", "fd -x rm", "ss -K", 'awk \'{print > "f"}\' g',
    "sed 's/a/b/w f' g", "uniq a b", "wget http://h/x", "git status", "python3 -c 'print(1)'",
    "sudo ls",
]  # fmt: skip
SEVERAL = [
    "ls; rm x", "ls && rm x", "ls || rm x", "sleep 9 & ls", "ls\nrm x", "echo $(rm x)", "ls `rm x`",
    "cat <(rm x)",
]  # fmt: skip

LEFT_OUT = [("bash", command) for command in (*CHANGES, *SEVERAL, "echo hello", "")]
POWERSHELL = [
    "ls | % { Remove-Item $_ }", "ls | % { $_.Delete() }", "ls | % Delete",
    "ls | % { $_.IsReadOnly = $true }",
    "[IO.File]::Delete('x')", "ls | % { & $x }", "Remove-Item x", "irm h -Method Post",
    "iwr h -OutFile f", "ls; ls",
]  # fmt: skip
LEFT_OUT += [("pwsh", command) for command in POWERSHELL]


@pytest.mark.parametrize(("shell", "command"), LEFT_OUT)
def test_intent_of_rejects_changes_and_several_commands(shell, command):
    assert isinstance(intent_of(shell, command), str)


def test_without_cd_removes_leading_cd():
    assert without_cd("cd /a/b && ls -l") == "ls -l" == without_cd('cd "/a b"; ls -l')
    assert without_cd("cdecho && x") == "cdecho && x"


def call(name: str, given: object, **more: object) -> dict:
    return {"type": "tool_use", "id": "1", "name": name, "input": given, **more}


CALLS = [
    (call("shell", {"command": ["bash", "-lc", "ls | wc"]}), "bash", "ls | wc"),
    (call("shell", {"command": ["/usr/bin/pwsh", "-NoProfile", "-Command", "gci"]}), "pwsh", "gci"),
    (call("exec", {"cmd": ["grep", "a b", "f"]}), "unknown", "grep 'a b' f"),
    (call("run_in_terminal", '{"command": "ls"}'), "unknown", "ls"),
    (call("bash", {"command": "Get-Item x"}), "pwsh", "Get-Item x"),
    ({"id": "1", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}, "bash", "ls"),
    ({"id": "1", "type": "command_execution", "command": "bash x"}, "unknown", "bash x"),
    ({"type": "local_shell_call", "call_id": "1", "action": {"command": ["ls"]}}, "unknown", "ls"),
]


@pytest.mark.parametrize(("node", "shell", "command"), CALLS)
def test_requests_in_any_form_of_call(node, shell, command):
    (found,) = requests_in([{"anything": [{"around": node}]}])
    assert (found.shell, found.command) == (shell, command)


def test_requests_in_other_objects():
    others = [call("Edit", {"command": "view"}), call("bash", {"command": []}), call("bash", 3)]
    assert list(requests_in([*others, {"cmd": "ls"}])) == []


@pytest.mark.parametrize(
    ("result", "ok"),
    [
        ({"type": "tool_result", "tool_use_id": "1", "content": "x"}, True),
        ({"type": "tool_result", "tool_use_id": "1", "is_error": True}, False),
        ({"call_id": "1", "output": "Exit code: 3\nOutput:"}, False),
        ({"call_id": "1", "output": '{"output": "", "metadata": {"exit_code": 0}}'}, True),
        ({"callID": "1", "state": {"status": "completed", "metadata": {"exit": 1}}}, False),
        ({"id": "1", "status": "success", "result": [{"output": "Exit Code: 2"}]}, False),
        ({"id": "1", "status": "cancelled"}, False),
        ({"id": "2", "status": "success"}, None),
    ],
)
def test_requests_in_result_found_by_id(result, ok):
    (found,) = requests_in([call("bash", {"command": "ls"}), result])
    assert found.ok is ok


SESSIONS = {
    "cc_opening": ({"bash": 1, "pwsh": 1}, {}),
    "cc_summaries": ({"bash": 1, "pwsh": 1}, {}),
    "codex_deletes": ({}, {"runs something else": 4}),
    "codex_windows": ({"pwsh": 4}, {}),
    "gemini_exit": ({}, {"failed": 1}),
    "gemini_windows": ({"pwsh": 4}, {}),
}
"""Session in tests/data/miner -> commands of each shell, and of each reason to leave one out."""


@pytest.mark.parametrize("name", SESSIONS)
def test_mine_session_of_current_agents(name, tmp_path):
    report = mine([ROOT / "tests/data/miner" / f"{name}.jsonl"], tmp_path)
    shells = Counter[str]()
    for path in tmp_path.glob("*/task.yaml"):
        seen = yaml.safe_load(path.read_text())["seen"]["commands"]
        shells.update({shell: len(commands) for shell, commands in seen.items()})
    assert (shells, dict(report.rejected)) == SESSIONS[name]


LONG = ["key-", "-key", "a.", "a:", "://a@", "curl ", "http://", "\\", "a@", "home/users/"]


@pytest.mark.parametrize("repeated", LONG)
def test_redact_takes_linear_time(repeated):
    def seconds(times: int) -> float:
        started = time.process_time()
        redact(repeated * times)
        return time.process_time() - started

    few, many = (min(seconds(times) for _ in range(3)) for times in (800, 6_400))
    assert many < 16 * max(few, 0.02)


LETTERS = string.ascii_lowercase
NAME = st.text(LETTERS, min_size=5, max_size=12).map(lambda text: f"q{text}z")
LETTERS_OR_DIGITS = st.text(string.ascii_letters + string.digits, min_size=24, max_size=60)
TOKEN = LETTERS_OR_DIGITS.filter(lambda text: not text.isalpha() and not text.isdigit())
AROUND = [
    "{}", " {} ", "'{}'", '"{}"', "({})", "grep {} log | head", "see {}, please", "a={}", "{}: x",
    "[{}]",
]  # fmt: skip
AROUND += ["find . -name x; {}", "Über '{}'", "a\nb {}", "--flag ({})"]
ENDINGS = st.sampled_from(["com", "internal", "co.uk", "corp", "dev", "io"])
HOST = st.tuples(NAME, ENDINGS).map(".".join)
PRIVATE = {
    "the name in a home folder": (
        NAME,
        r"/home/{}/x | /Users/{}/a b | C:\Users\{}\x | C:\\Users\\{}\\x | /mnt/c/Users/{}/x | ~{}/x"
        " | -home-{}-x",
    ),
    "a host": (
        HOST,
        "{} | a.{} | https://{}/p?q=1 | http://{}:8080/ | postgres://{}/db | ssh://u@{} | {}:443"
        " | me@{}",
    ),
    "a host without a domain": (NAME, "https://{}/x | http://{}:80 | {}:8080 | me@{} | redis://{}"),
    "a user's mail address": (NAME, "{}@host.org | {}+tag@other.example.com | x.{}@mail.other.de"),
    "a mail address's host": (NAME, "me@{}.org | me+tag@{}.example.com | x.me@mail.{}.de"),
    "a key": (
        TOKEN,
        "{} | sk-{} | ghp_{} | AKIA{} | Bearer {} | x-api-key: {} | --token {} | --password={}",
    ),
    "a key in its place": (
        TOKEN,
        "API_KEY={} | export DB_PASSWORD='{}' | curl -u me:{} x | https://me:{}@h/x"
        " | https://h/x?sig={} | eyJ{}.{}",
    ),
    "a weak secret in its place": (
        NAME,
        "--password {} | --api-key={} | PASSWORD={} | my_secret: {} | Authorization: {}"
        " | Cookie: sid={} | curl -u {}:x http://h | https://{}:x@h/ | https://u:{}@h/",
    ),
}


@pytest.mark.parametrize("kind", PRIVATE)
@given(data=st.data())
def test_redact_removes_private_text(kind, data):
    secrets, forms = PRIVATE[kind]
    secret, form = data.draw(secrets), data.draw(st.sampled_from(forms.split(" | ")))
    text = redact(data.draw(st.sampled_from(AROUND)).format(form.replace("{}", secret)))
    assert secret.partition(".")[0] not in text


@given(NAME, st.ip_addresses(), st.sampled_from(AROUND))
def test_redact_removes_known_names_and_addresses(name, address, around):
    assert name not in redact(around.format(name.upper()), {name}).lower()
    assume(not address.is_loopback and not address.is_unspecified)
    assert str(address) not in redact(around.format(address)).replace("<ip>", "")


@pytest.mark.parametrize(
    "text",
    [
        "find crates/vox-ml-cli -type f -mtime -7 -size +10240c",
        "grep -rn 'fn main' src/main.rs | cut -d: -f1 | sort -u",
        "curl -fsS http://127.0.0.1:8765/api/crates | jq -r '.crates[].name'",
        "curl http://localhost:8080/healthz",
        "ps -eo pid=,rss=,comm= --sort=-rss | head -n 2 2>/dev/null",
        "Get-ChildItem -Recurse | Where-Object { $_.Length -gt 10KB } | ForEach-Object FullName",
        "awk -F'\"' '{print $2}' Cargo.toml",
        "stat -c '%s %n' Cargo.lock README.md",
        "rg 'std::fs::read' --type rust -c",
        "grep -n '12:30:45' app.log",
        "List the files of the last 7 days that are larger than 10 KB.",
    ],
)
def test_redact_keeps_plain_commands(text):
    assert redact(text, {"zaphod"}, "/srv/work") == text


def test_redact_replaces_session_folder_and_skips_generic_names():
    folder = "/home/zaphod/heart-of-gold"
    text = redact(f"ls {folder}/src {folder} {folder}-two/x", (), folder)
    assert text == "ls src . ~/heart-of-gold-two/x"
    assert user_names("/home/zaphod/x") == {"zaphod"} == user_names(r"C:\Users\zaphod\x")
    assert user_names("/srv/x") == set() == user_names("/home/ubuntu/x")
    assert redact("ls /dev/null", GENERIC_NAMES & {"ubuntu"}) == "ls /dev/null"
