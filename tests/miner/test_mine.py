"""The miner on transcripts of every agent: candidates, what they are for, what is redacted."""

import json
import re
import string
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fluency.common.errors import UserError
from fluency.common.paths import ROOT
from fluency.core.tasks import CATEGORIES
from fluency.miner.intents import Intent, intent_of, without_cd
from fluency.miner.mine import (
    GENERIC_NAMES,
    Report,
    default_places,
    main,
    mine,
    redact,
    user_names,
)
from fluency.miner.transcripts import requests_in
from tests.miner import logs

LEFT = {"failed": 1}
QUESTIONS = {
    "Count TODO comments under src": ("text-processing", "yes"),
    "List the five largest files": ("file-inspection", "yes"),
    "Which processes does <name> run?": ("process-introspection", "yes"),
    "Fetch the status page of <host> and mail it to <mail>": ("network-fetch", "yes"),
    "Look for <ip> in the log": ("text-processing", "yes"),
    "Remove the build folder": ("change", "yes, judged by the folder afterwards"),
    "Run the tests and then list files": (
        "build",
        "no: it needs a toolchain, packages or a network",
    ),
}
"""What becomes of the requests of `logs`: the question, its category, and what the bank can ask."""


def mined(folder) -> Report:
    """What is found in its logs, written to its `out`."""
    return mine([folder / "logs"], folder / "out")


def questions(report: Report):
    return {one["question"]: one["category"] for one in report.candidates}


@pytest.mark.parametrize("name", logs.FORMATS)
def test_mine_finds_same_questions_in_each_format(name, tmp_path):
    logs.FORMATS[name](tmp_path / "logs")
    report = mined(tmp_path)
    assert (report.tally["files"], report.tally["commands"]) == (1, len(logs.REQUESTS))
    assert (questions(report), dict(report.rejected)) == (
        {question: kind for question, (kind, _) in QUESTIONS.items()},
        LEFT,
    )
    shells = [one["shells"] for one in report.candidates]
    assert shells == [{"bash": 1}] * len(QUESTIONS), "a session's folder names the shell"
    assert report.errors == {"another": {"bash": 1}}
    assert report.tally["malformed lines"] == (name != "Gemini CLI")
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert sorted(path.name for path in files) == sorted(
        ["README.md", *(one["file"] for one in report.candidates)]
    )
    written = "\n".join(f"{path.name} {path.read_text()}" for path in files).lower()
    assert "grep -rn todo " in written and "| wc -l" in written, "public text is kept"
    for canary in logs.CANARIES:
        assert canary.lower() not in written, canary


def test_mine_table_has_row_for_each_question(tmp_path):
    often = [("Count lines", f"wc -l src/{n}.rs", True) for n in range(6)]
    logs.claude_code(tmp_path / "logs", [*often, *logs.REQUESTS])
    mined(tmp_path)
    page = (tmp_path / "out/README.md").read_text()
    row = r"| \[Count lines\]\((\d+-count-lines.yaml)\) \| `wc -l src/0.rs` \| 6 \| 6 \| 0 \| 0 \|"
    assert re.search(row, page)
    for _, asks in QUESTIONS.values():
        assert f"| {asks} |" in page
    assert "| &lt;name&gt;" not in page and "&lt;host&gt;" in page, "placeholders are shown as text"
    assert "| failed | 1 |" in page and "this table does not compare the shells" in page


def test_mine_makes_one_question_of_both_shells(tmp_path):
    """By the same steps, or by the same sentence."""
    bash = [("Count TODO", "grep -r TODO src | wc -l", True), ("Newest", "ls -t | head -1", True)]
    powershell = [
        ("Count them", "Select-String -Path *.rs TODO | Measure-Object", True),
        ("newest", "(Get-ChildItem | Sort-Object LastWriteTime)[-1].Name", True),
    ]
    logs.claude_code(tmp_path / "a", bash)
    logs.claude_code(tmp_path / "b", powershell, shell="PowerShell")
    report = mine([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    assert [(one["question"], one["shells"]) for one in report.candidates] == [
        ("Newest", {"bash": 1, "pwsh": 1}),
        ("Count TODO", {"bash": 1, "pwsh": 1}),
    ]


def test_mine_counts_failed_calls_by_shell_and_cause(tmp_path):
    failed = [
        ("one", "cargo build", False),
        ("two", "grep -x a b", False),
        ("3", "git pull", False),
    ]
    said = [
        "error: exit code 101",
        "grep: b: No such file or directory",
        "fatal: index.lock exists",
    ]
    path = logs.claude_code(tmp_path / "logs", failed)
    text = path.read_text()
    for output in said:
        text = text.replace('"content": "out"', f'"content": "{output}"', 1)
    path.write_text(text)
    report = mine([path], tmp_path / "out")
    causes = ("a build, test or package manager", "no such file or folder", "a lock")
    assert report.errors == {cause: {"bash": 1} for cause in causes}


STRANGE = {
    "pointer.jsonl": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0",
        "Git LFS pointer",
    ),
    "page.html": (b"<!DOCTYPE html><html>", "saved web page"),
    "run.zip": (b"PK\x03\x04rest", "zip archive"),
    "old.json.gz": (b"\x1f\x8b\x08", "compressed file"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_mine_names_what_is_not_a_transcript(name, tmp_path):
    data, what = STRANGE[name]
    logs.claude_code(tmp_path / "logs")
    (tmp_path / "logs" / name).write_bytes(data)
    with pytest.raises(UserError, match=what) as caught:
        mine([tmp_path / "logs" / name], tmp_path / "out")
    assert caught.value.hint
    report = mined(tmp_path)
    assert len(report.candidates) == len(QUESTIONS)
    assert what in report.page and name in report.page


def test_mine_leaves_out_prompt_with_several_commands(tmp_path):
    path = logs.codex(tmp_path / "logs", [("Look around", "ls", True), ("Count", "wc -l a", True)])
    lines = path.read_text().splitlines()
    second = next(line for line in lines if '"call_1"' in line and "function_call" in line)
    logs.write_lines(path, [*lines, second.replace("call_1", "call_2").replace("-l a", "-l b")])
    report = mined(tmp_path)
    assert questions(report) == {"Look around": "file-inspection"}
    assert dict(report.rejected) == {"one of several for its prompt": 2}


def test_mine_keeps_first_lines_of_output(tmp_path):
    logs.copilot(tmp_path / "logs")
    report = mined(tmp_path)
    assert [one["output"] for one in report.candidates] == [["3"]] * len(QUESTIONS)


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
    report = mined(tmp_path)
    assert len(report.candidates) == len(QUESTIONS)
    assert report.tally["malformed lines"] > len(HOSTILE) and report.tally["unreadable files"] == 2


def test_mine_skips_overlong_line_and_copied_session(tmp_path):
    path = logs.claude_code(tmp_path / "logs")
    data = path.read_bytes()
    (path.parent / "copy.jsonl").write_bytes(data)
    path.write_bytes(b'{"junk": "' + b"x" * (9 << 20) + b'"}\n' + data)
    report = mined(tmp_path)
    assert report.tally["files"] == 1 and len(report.candidates) == len(QUESTIONS)


def test_mine_refuses_logs_without_commands(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/notes.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(UserError, match="no file has a shell command"):
        mine([tmp_path / "empty"], tmp_path / "out")
    with pytest.raises(UserError, match="no such file"):
        mine([tmp_path / "nowhere"], tmp_path / "out")


def test_mine_reads_default_places_or_several_arguments(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert default_places() == []
    for make, place in {
        logs.claude_code: ".claude/projects/p/1.jsonl",
        logs.codex: ".codex/sessions/2026/rollout-1.jsonl",
        logs.copilot: ".copilot/session-state/1/events.jsonl",
        logs.gemini: ".gemini/tmp/h/chats/session-1.json",
        logs.opencode: ".local/share/opencode/opencode.db",
    }.items():
        make(tmp_path / "x").rename(_folder((tmp_path / place).parent) / Path(place).name)
    assert main([Path("")], tmp_path / "out") == 0
    assert "Files with shell commands: 5 " in capsys.readouterr().out
    one, two = logs.claude_code(tmp_path / "a a").parent, logs.codex(tmp_path / "b").parent
    main([Path(f"'{one}' {two}")], tmp_path / "out")
    assert "Files with shell commands: 2 " in capsys.readouterr().out


def _folder(path):
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
    "shell, command, category, steps",
    [
        ("bash", "find crates -name '*.rs' | xargs grep -l TODO | sort", 2, "list >search sort"),
        ("bash", "find . -name '*.rs' -exec wc -l {} +", 2, "list >count"),
        ("bash", "rg TODO src | wc -l", 2, "search count"),
        ("pwsh", "Select-String TODO *.rs | Measure-Object", 2, "search count"),
        ("bash", "du -sb crates/* | sort -n | tail -3", 1, "measure sort take"),
        ("bash", "find . -type f | xargs sha256sum", 1, "list >hash"),
        ("bash", "ps aux | grep node", 3, "processes search"),
        ("bash", "curl -fsSL http://127.0.0.1/x | sha256sum", 4, "fetch hash"),
        ("bash", "curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1/x", 4, "fetch"),
        ("bash", "wget -qO- http://127.0.0.1/x", 4, "fetch"),
        ("bash", "ls -la 2>/dev/null", 1, "list"),
        ("bash", "grep -c '=>' src/a.rs 2>&1", 2, "search"),
        ("pwsh", "Get-ChildItem -Recurse | Where-Object { $_.Length -gt 3 }", 1, "list filter"),
        ("bash", "awk '$1 > 3 { print; print }' f", 2, "reshape"),
        ("bash", r"find . -exec grep 'a;b' {} \; 2>&1 | head", 2, "list >search take"),
        ("bash", "git -C x log --oneline | head", "git", "=git git log take"),
        ("bash", "git add -A && git commit -m 'a; b'", "git", "=git git add =git git commit"),
        ("bash", "cargo test --workspace", "build", "=build cargo test"),
        ("bash", "sudo ls", "another program", "=? sudo ls >list"),
    ],
)
def test_intent_of_command(shell, command, category, steps):
    kind = CATEGORIES[category - 1] if isinstance(category, int) else category
    assert intent_of(shell, command) == Intent(kind, steps)


CHANGES = [
    "rm -rf build", "find . -name x -delete", "find . -name x -exec rm {} +", "find . | xargs rm",
    "sort -o f f", "find . | xargs -n 1 chmod +x", "sed -i s/a/b/ f", "sed -Ei s/a/b/ f",
    "sed --in-place s/a/b/ f", "ls > files.txt", "ls >> files.txt", "ls &> files.txt",
    "ls | tee files.txt", "curl -X POST http://h/x", "curl -d a=b http://h/x",
    "curl -o f http://h/x", "curl -sSLO http://h/x", "curl --upload-file f http://h/x",
    "wget -O f http://h/x", "find . | xargs rm ls", 'awk \'{print > "f"}\' g', "ls; rm x",
    "fd -x rm", "ss -K", "sed 's/a/b/w f' g", "uniq a b", "wget http://h/x", "ls && rm x", "ls\nrm x",
    "echo $(rm x)", "ls `rm x`", "cat <(rm x)",
]  # fmt: skip
POWERSHELL = [
    "ls | % { Remove-Item $_ }", "ls | % Delete", "Remove-Item x", "irm h -Method Post",
    "iwr h -OutFile f",
]  # fmt: skip


@pytest.mark.parametrize(
    "shell, command",
    [("bash", command) for command in CHANGES] + [("pwsh", command) for command in POWERSHELL],
)
def test_intent_of_change(shell, command):
    assert intent_of(shell, command)[0] == "change"


LEFT_OUT = [("bash", command) for command in ("ls; wc f", "ls && wc f", "ls\nwc f", "echo $(ls)")]
LEFT_OUT += [("bash", command) for command in ("ls || wc f", "cat <(ls)", "echo hello", "")]
LEFT_OUT += [("pwsh", "ls; ls"), ("pwsh", "ls | % { & $x }"), ("pwsh", "[IO.File]::Delete('x')")]
LEFT_OUT += [("pwsh", "ls | % { $_.Delete() }"), ("pwsh", "ls | % { $_.IsReadOnly = $true }")]


@pytest.mark.parametrize("shell, command", LEFT_OUT)
def test_intent_of_what_cannot_be_said(shell, command):
    assert isinstance(intent_of(shell, command), str)


def test_without_cd_removes_leading_cd():
    assert without_cd("cd /a/b && ls -l") == "ls -l" == without_cd('cd "/a b"; ls -l')
    assert without_cd("cdecho && x") == "cdecho && x"


def call(name, given, **more):
    return {"type": "tool_use", "id": "1", "name": name, "input": given, **more}


CALLS = [
    (call("shell", {"command": ["bash", "-lc", "ls | wc"]}), "bash", "ls | wc"),
    (call("shell", {"command": ["/usr/bin/pwsh", "-NoProfile", "-Command", "gci"]}), "pwsh", "gci"),
    (call("exec", {"cmd": ["grep", "a b", "f"]}), "unknown", "grep 'a b' f"),
    (call("run_in_terminal", '{"command": "ls"}'), "unknown", "ls"),
    (call("bash", {"command": "Get-Item x"}), "pwsh", "Get-Item x"),
    (
        call("Bash", {"command": "pwsh -NoProfile -Command 'gci | measure'"}),
        "pwsh",
        "gci | measure",
    ),
    (call("Bash", {"command": "pwsh -c gci | head -3"}), "pwsh", "pwsh -c gci | head -3"),
    (call("shell", {"command": ["zsh", "-lc", "ls"]}), "bash", "ls"),
    (call("exec", "await tools.exec_command({cmd: 'ls', workdir: '/'})"), "unknown", "ls"),
    ({"id": "1", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}, "bash", "ls"),
    ({"id": "1", "type": "command_execution", "command": "bash x"}, "unknown", "bash x"),
    ({"type": "local_shell_call", "call_id": "1", "action": {"command": ["ls"]}}, "unknown", "ls"),
]


@pytest.mark.parametrize("node, shell, command", CALLS)
def test_requests_in_any_form_of_call(node, shell, command):
    (found,) = requests_in([{"anything": [{"around": node}]}])
    assert (found.shell, found.command) == (shell, command)


def test_requests_in_other_objects():
    others = [call("Edit", {"command": "view"}), call("bash", {"command": []}), call("bash", 3)]
    assert list(requests_in([*others, {"cmd": "ls"}])) == []


@pytest.mark.parametrize(
    "result, ok",
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
    "codex_deletes": ({"pwsh": 4}, {}),
    "codex_windows": ({"pwsh": 4}, {}),
    "gemini_exit": ({}, {"failed": 1}),
    "gemini_windows": ({"pwsh": 4}, {}),
}
"""Session in tests/data/miner -> commands of each shell, and of each reason to leave one out."""


@pytest.mark.parametrize("name", SESSIONS)
def test_mine_session_of_current_agents(name, tmp_path):
    report = mine([ROOT / f"tests/data/miner/{name}.jsonl"], tmp_path)
    shells = sum((Counter(one["shells"]) for one in report.candidates), Counter[str]())
    assert (shells, dict(report.rejected)) == SESSIONS[name]


LONG = ["key-", "-key", "a.", "a:", "://a@", "curl ", "http://", "\\", "a@", "home/users/"]


@pytest.mark.parametrize("repeated", LONG)
def test_redact_takes_linear_time(repeated):
    def seconds(times):
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
    text = redact(f"ls {folder}/src {folder} {folder}-two/x '{folder}/'", (), folder)
    assert text == "ls src . ~/heart-of-gold-two/x './'"
    assert user_names("/home/zaphod/x") == {"zaphod"} == user_names(r"C:\Users\zaphod\x")
    assert user_names("/srv/x") == set() == user_names("/home/ubuntu/x")
    assert redact("ls /dev/null", GENERIC_NAMES & {"ubuntu"}) == "ls /dev/null"


def test_mine_keeps_prompt_that_is_the_session_folder(tmp_path):
    said = [{"cwd": "/srv/work", "role": "user", "content": "/srv/work/"}]
    session = [*said, call("bash", {"command": "ls"})]
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in session))
    report = mine([tmp_path / "log.jsonl"], tmp_path / "out")
    assert [one["question"] for one in report.candidates] == ["./"]
