"""Honest commands are measured exactly: streams, times, facts, service, conditions."""

import hashlib
import shlex
import subprocess
import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from fluency.common.canonical import canonical_json
from fluency.common.errors import SandboxError
from fluency.core.grammar import BASH, parse
from fluency.core.records import ProcessFact
from fluency.core.shells import SHELLS, WINDOWS_ALIASES
from fluency.core.study import Limits, SandboxConfig
from fluency.core.task_world import planned_processes
from fluency.core.tasks import load_tasks
from fluency.execution.protocol import Invocation
from fluency.execution.sandbox import Sandbox
from fluency.scoring.commands import RANGE, calls_of, is_cmdlet
from fluency.world import HelperSpec
from tests.execution.run_it import AGES, LIMITS, SMALL, bash, of_the_sandbox, pwsh, text
from tests.waiting import wait_for

pytestmark = pytest.mark.engine

HARD = """quotes ' " ` and $HOME $(id) \\ \\\\ !x * ? ~ {a,b} % | & ; < > # tab:\t newline:
ümläut 日本 🙂 \u200b \u00a0 end"""
LONG = 100_000


def test_command_arrives_byte_for_byte(sandbox):
    command = "tr '\\0' '\\n' < /proc/$$/cmdline | tail -n +5; :\n# " + HARD
    assert bash(sandbox, command).stdout.data == command + "\n"
    quoted = "'" + HARD.replace("'", "'\\''") + "'"
    assert bash(sandbox, f"printf '%s' {quoted}").stdout.data == HARD
    payload = "é" * (LONG // 2)
    result = bash(sandbox, f"printf '%s' '{payload}' | sha256sum | cut -c1-64")
    assert text(result) == hashlib.sha256(payload.encode()).hexdigest()


@pytest.mark.pwsh
def test_powershell_gets_the_same_bytes(sandbox):
    quoted = "'" + HARD.replace("'", "''") + "'"
    assert pwsh(sandbox, f"[Console]::Out.Write({quoted})").stdout.data == HARD
    payload = "é" * (LONG // 2)
    assert text(pwsh(sandbox, f"'{payload}'.Length")) == str(LONG // 2)


def test_the_environment_is_exactly_the_agreed_one(sandbox):
    environment = "tr '\\0' '\\n' < /proc/$$/environ | sort"
    result = bash(sandbox, f"{environment}; pwd; id -un; umask; hostname; date +%Z")
    variables = (
        "DOTNET_EnableDiagnostics=0 HOME=/home/agent LANG=C.UTF-8 LC_ALL=C.UTF-8 NO_COLOR=1 "
        "PATH=/opt/tools/bin:/opt/tools/bash POWERSHELL_TELEMETRY_OPTOUT=1 POWERSHELL_UPDATECHECK=Off TERM=dumb TZ=UTC"
    )
    assert result.stdout.data.split() == f"{variables} /work agent 0022 sandbox UTC".split()


def test_user_id_is_above_those_of_real_users(sandbox):
    assert (1 << 31) - (1 << 16) <= int(text(bash(sandbox, "id -u"))) < 1 << 31


FIRST_THREAD_ENDS = """
import ctypes, threading
libc = ctypes.CDLL(None)
threading.Thread(target=libc.pause).start()
print(flush=True)
libc.pthread_exit(None)
"""


def test_running_process_whose_first_thread_has_ended():
    running = of_the_sandbox("processes").running
    with subprocess.Popen(
        [sys.executable, "-c", FIRST_THREAD_ENDS], stdout=subprocess.PIPE
    ) as process:
        wait_for(lambda: (running(process.pid) or {}).get("state") == "Z")
        process.kill()
        wait_for(lambda: running(process.pid) is None)


PROMISED = "gawk wget pkill diff cmp file tree column hexdump bc xxd xmllint"
NOT_INSTALLED = "cargo rustc rustup rustfmt rustdoc perl python python2 python3 pip pip3 pwsh"
"""What the prompt says is not there, by the names a command may call it."""


def test_image_has_no_other_interpreter_to_run(sandbox):
    """Under any path: no executable of these names, and the runner's own is closed to the user."""
    names = "|".join([*NOT_INSTALLED.split(), "perl[0-9.]+", "python[0-9.]+", "sed"])
    named = f"-regextype posix-extended -regex '.*/({names})'"
    anywhere = f"find / {named} -executable ! -type d 2>/dev/null"
    own = {"/opt/tools/pwsh/pwsh", "/opt/microsoft/powershell/7/pwsh"}
    found = set(bash(sandbox, anywhere).stdout.data.split()) - own
    assert {path.rpartition("/")[2] for path in found} == {"sed"}, found
    for way in ("", "/lib64/ld-linux-x86-64.so.2 "):
        closed = bash(sandbox, f"{way}/opt/fluency/python3 -c 'print(1)'")
        assert closed.stdout.data == "" and closed.exit_code in (126, 127)
        assert "denied" in closed.stderr.data


def test_image_has_every_program_of_the_references(sandbox):
    wanted = set()
    for task in load_tasks():
        for shell, references in task.references.items():
            grammar = SHELLS[shell].grammar
            for parsed in (parse(grammar, reference) for reference in references):
                made = [made for call in parsed.calls for made in calls_of(call, grammar)]
                for name in {call.name for call in made} - set(parsed.functions):
                    own = grammar != BASH and (is_cmdlet(name) or RANGE.fullmatch(name))
                    wanted |= set() if own or "$" in name else {name}
    assert {"find", "awk", "jq", "ps", "curl"} <= wanted
    wanted |= set(PROMISED.split())
    names = shlex.join([*sorted(wanted), "rg"])
    lacking = bash(sandbox, f"for t in {names}; do type -- $t >/dev/null 2>&1 || echo $t; done")
    assert lacking.stdout.data == "rg\n", "in no package of the list: the loop can fail"
    assert text(bash(sandbox, "awk --version | head -c 7")) == "GNU Awk"


def test_without_unix_tools_the_path_has_git_alone(sandbox):
    command = "echo $PATH/*; git init -q .; echo $?; ls; echo $?"
    result = bash(sandbox, command, condition="no_unix_tools")
    assert result.stdout.data == "/opt/everywhere/git\n0\n127\n"
    assert result.stderr.data == "bash: line 1: ls: command not found\n", "not by its path"


@pytest.mark.pwsh
def test_powershell_starts_silently_also_without_unix_tools(sandbox):
    command = "(Get-ChildItem).Count; (Get-Command ls -ErrorAction Ignore).Count"
    assert pwsh(sandbox, command, condition="no_unix_tools").stdout.data == "3\n0\n"
    said = "(Get-Command ls -CommandType Application).Count; [Environment]::GetCommandLineArgs() -join ' '"
    result = pwsh(sandbox, f"{said}; exit 3")
    assert result.stdout.data.startswith("1\n") and result.exit_code == 3
    assert "-NoProfile -NonInteractive -Command" in result.stdout.data
    silent = pwsh(sandbox, "exit 0", condition="windows_aliases")
    assert (silent.exit_code, silent.stdout.data, silent.stderr.data) == (0, "", "")


def test_windows_aliases_profile_in_home(sandbox):
    command = "cd; find . -type f -printf '%u %p\n' -exec cat {} +"
    assert bash(sandbox, command).stdout.data == ""
    owner, *lines = bash(sandbox, command, condition="windows_aliases").stdout.data.splitlines()
    assert owner == "agent ./.config/powershell/profile.ps1"
    every = " -Scope Global -Option AllScope"
    assert lines == [f"Set-Alias {name} {of}{every}" for name, of in WINDOWS_ALIASES.items()]


@pytest.mark.pwsh
def test_windows_aliases_in_powershell(sandbox):
    every = f"(Get-Alias -Name {', '.join(WINDOWS_ALIASES)}).Definition"
    sorts = f"{every}; ls -Directory | sort -Descending | % Name"
    windows = pwsh(sandbox, sorts, condition="windows_aliases")
    assert (windows.exit_code, windows.stderr.data) == (0, "")
    plain = pwsh(sandbox, "Get-ChildItem -Directory | Sort-Object -Descending | % Name")
    said = [*WINDOWS_ALIASES.values(), *plain.stdout.data.splitlines()]
    assert windows.stdout.data.splitlines() == said
    assert pwsh(sandbox, "ls -Directory").exit_code != 0, "as designed it is Unix's own ls"


def test_both_streams_exit_code_and_signal(sandbox):
    result = bash(sandbox, "seq 5 | tee >(sleep 0.2; wc -l >&2) | tail -n 1; exit 42")
    assert (result.stdout.data, result.stderr.data.strip()) == ("5\n", "5"), "late output is kept"
    assert (result.exit_code, result.signal) == (42, None)
    assert bash(sandbox, "exit 255").exit_code == 255
    assert bash(sandbox, "kill -TERM $$").signal == 15
    limits = Limits(output_bytes=1024)
    result = bash(sandbox, "seq 1 100000; head -c 1025 /dev/zero >&2", limits=limits)
    assert (result.stdout.bytes, result.stderr.bytes) == (588_895, 1025)
    assert result.stdout.truncated and result.stderr.truncated and len(result.stdout.raw()) == 1024
    exact = bash(sandbox, "head -c 1024 /dev/zero; no-such-command", limits=limits)
    assert (exact.stdout.bytes, exact.stdout.truncated, exact.exit_code) == (1024, False, 127)


def test_time_and_use_are_the_commands_own(sandbox):
    began = time.monotonic()
    result = bash(sandbox, "sleep 0.5")
    assert 0.5 <= result.wall_s < time.monotonic() - began and result.used.cpu_s < 0.4
    busy = "for ((i = 0; i < 300000; i++)); do :; done; head -c 8M /dev/zero > /tmp/a"
    filled = "head -c 40M /dev/zero | tail -n 1 | wc -c"
    used = bash(sandbox, f"{busy}; {filled}; sleep 1 & sleep 1").used
    assert used.cpu_s > 0.1 and used.peak_rss_bytes > 1 << 20 and not used.oom_killed
    assert 8 << 20 <= used.written_bytes < 9 << 20
    assert used.peak_memory_bytes is None or used.peak_memory_bytes > 40 << 20
    assert used.peak_processes is None or 4 <= used.peak_processes < 20
    late = bash(sandbox, "echo before; sleep 30; echo after", timeout_s=1)
    assert late.timed_out and (late.exit_code, late.signal) == (None, 9)
    assert late.stdout.data == "before\n" and 1 <= late.wall_s < 5


def test_tree_is_the_worlds(sandbox):
    now = time.time()
    listing = "find . -printf '%P\\t%s\\t%y\\t%T@\\n' | sort"
    result = bash(sandbox, f"{listing}; od -An -tx1 'with space.txt'")
    lines = result.stdout.data.splitlines()
    assert lines.pop() == " 00 ff"
    found = {line.split("\t")[0] or ".": line.split("\t")[1:] for line in lines}
    assert set(found) == set(AGES)
    for name, data in SMALL.files.items():
        assert found[name][:2] == [str(len(data)), "f"]
    for name, age in AGES.items():
        assert abs(now - age - float(found[name][2])) < 60
    assert not result.tree_changed


def test_the_facts_are_what_the_command_sees(sandbox):
    command = "for p in $(pgrep -u vox); do read -r _ rss _ < /proc/$p/statm; echo $p $(ps -o ppid=,comm= -p $p) $rss; done"
    result = bash(sandbox, command, "processes")
    facts = [(p.pid, p.ppid, p.name, p.rss_bytes // 4096) for p in result.processes]
    lines = [" ".join(map(str, fact)) for fact in facts]
    assert sorted(result.stdout.data.splitlines()) == sorted(lines)
    planned = [list(helper.args) for helper in SMALL.processes]
    assert sorted(p.args for p in result.processes) == sorted(planned)
    assert result.helpers_intact and not result.leftover


def test_helpers_sleep_and_nobody_is_a_zombie(sandbox):
    zombies = "(sleep 0.1 &); sleep 0.4; ps -eo stat= | grep -c Z"
    closed = "ps -o args= -C vox-sched; cat /proc/$(pgrep -x vox-sched)/environ"
    result = bash(sandbox, f"{zombies}; {closed}", "processes")
    assert (result.stdout.data, result.exit_code) == ("0\nvox-sched --config a b\n", 1)
    result = bash(sandbox, "pgrep -c vox; curl -s http://127.0.0.1:8765/api/crates; echo $?")
    assert result.stdout.data == "0\n7\n", "only what a task needs is started"
    assert result.processes == [] and result.http_requests == []


REQUESTS = ["GET /dl/latest 302", "GET /dl/store/1 200", "GET /none 404", "HEAD /dl/store/1 200"]
REQUESTS += ["GET /api/crates?page=2 200", *["GET /api/crates 200"] * 2]


def test_service_answers_and_logs(sandbox):
    base = "http://127.0.0.1:8765"
    command = (
        f"curl -sL {base}/dl/latest | sha256sum | cut -c1-64;"
        f" curl -s -o /dev/null -w '%{{http_code}} %{{content_type}}\\n' {base}/none;"
        f" curl -sI {base}/dl/store/1 | tr -d '\\r' | grep -i length; wget -qO- {base}/api/crates?page=2;"
        f" curl -s {base}/api/crates {base}/api/crates -w '%{{num_connects}}\\n' -o /dev/null -o /dev/null"
    )
    result = bash(sandbox, command, "http")
    body = bytes(range(256)) * 300
    answers = [hashlib.sha256(body).hexdigest(), "404 text/plain; charset=utf-8"]
    answers += [f"Content-Length: {len(body)}", '{"crates": []}', "1", "0"]
    assert result.stdout.data.splitlines() == answers
    assert [f"{r.method} {r.path} {r.status}" for r in result.http_requests] == REQUESTS


def test_service_bodies_jobs_and_entity_tags(sandbox):
    """What is sent in pieces, and connections that stay; the rest is in test_routes.py."""
    base = "http://127.0.0.1:8765"
    command = (
        f"printf 'ok\n\na fault\n' | curl -s -X POST -T - {base}/lint; curl -s -d x {base}/doc; curl -s {base}/lint/j-1;"
        f" head -c 3000000 /dev/zero | curl -s --data-binary @- {base}/lint;"
        f" curl -s -X POST -H 'Transfer-Encoding: chunked' -d @- {base}/lint {base}/lint <<<fault;"
        f" curl -s {base}/doc; curl -sI {base}/doc | tr -d '\r' | grep Tag;"
        f" curl -s -H 'If-None-Match: \"a\"' -w '%{{http_code}} %{{num_connects}}\n' {base}/doc {base}/doc"
    )
    lines = ['j-1 [{"line": 3, "code": "V1"}]', "method not allowed", "first", "j-2 []"]
    lines += [f'j-{number} [{{"line": 1, "code": "V1"}}]' for number in (3, 4)]
    lines += ["text", "X-Tag: 1", 'ETag: W/"a"', "304 1", "304 0"]
    result = bash(sandbox, command, "http")
    assert result.stdout.data.splitlines() == lines, result.stderr.data
    assert [r.status for r in result.http_requests][:3] == [422, 405, 200]


def test_the_image_says_what_it_is(sandbox, engine):
    image = sandbox.images["pwsh"]
    assert image.shells["bash"].startswith("5.") and len(image.content_sha256) == 64
    packages = text(bash(sandbox, "sha256sum < /opt/packages.txt | cut -c1-64"))
    assert packages == sandbox.images["bash"].packages_sha256
    without = image.model_copy(update={"shells": {"bash": "5", "pwsh": None}})
    with pytest.raises(SandboxError, match="no PowerShell 7"):
        pwsh(Sandbox(engine, {"pwsh": without}, SandboxConfig()), "1")


COMMAND = (
    "find . -type f -printf '%P %s\\n' | sort; ps -eo user=,comm= --sort=user,comm; curl -sL http://127.0.0.1:8765/dl/latest"
    " | sha256sum; printf '\\377'; echo note >&2; cat /nowhere; (exit 5)"
)


def test_twelve_times_the_same(sandbox):
    def once(_):
        """The document without what may differ: times, process ids, memory."""
        result = bash(sandbox, COMMAND, "processes", "http")
        document = result.model_dump(exclude={"wall_s", "used"})
        document["processes"] = sorted([p["name"], p["args"]] for p in document["processes"])
        return canonical_json([document, result.used.oom_killed, result.used.written_bytes])

    with ThreadPoolExecutor(sandbox.parallel) as pool:
        documents = list(pool.map(once, range(12)))
    assert len(set(documents)) == 1, sorted(set(documents), key=documents.count)[:2]
    assert '"exit_code":5' in documents[0] and "vox-worker" in documents[0]


PLAN = (
    HelperSpec("gone", "vox-super", ("gone",), ends=True),
    HelperSpec("orphan", "vox-job", ("orphan", "%P"), "gone"),
    HelperSpec("main", "vox-super", ("main",), subreaper=True),
    HelperSpec("pool", "vox-pool", ("pool", "%P"), "main", rss_mb=20, threads=("io-1", "", "io-2")),
    HelperSpec("apart", "vox-job", ("apart", "%P"), "pool", own_session=True),
    HelperSpec("below", "vox-job", ("below",), "apart"),
    HelperSpec("spawn", "vox-spawn", ("spawn",), "pool", ends=True),
    HelperSpec("spawned", "vox-job", ("spawned", "%PP"), "spawn"),
    HelperSpec("ended", "vox-super", ("ended",), "main", ends=True, ids="parents-digits"),
    HelperSpec("adopted", "vox-job", ("adopted", "%P"), "ended"),
    HelperSpec("late", "vox-job", ("late",), ids="another-digit"),
)
WORLD = replace(SMALL, processes=PLAN)
LISTING = "ps -eLo pid=,comm= | grep vox-pool; ps -eLo pid=,comm= | grep io-"


def by_key(facts: list[ProcessFact]):
    """What each process is, with the keys of the plan in the place of process ids."""
    keys = defaultdict(lambda: "ended", {fact.pid: fact.args[0] for fact in facts} | {1: "runner"})

    def known(fact: ProcessFact):
        given = [keys[int(pid)] for pid in fact.args[1:]]
        return fact.name, keys[fact.ppid], keys[fact.session], fact.threads, given

    return {fact.args[0]: known(fact) for fact in facts}


def test_helpers_are_started_as_planned(sandbox):
    result = sandbox.run(Invocation("bash", LISTING, WORLD, LIMITS, 20, ("processes",)))
    found = by_key(result.processes)
    assert found == by_key(planned_processes(WORLD))
    assert found["orphan"] == ("vox-job", "runner", "ended", 1, ["ended"])
    assert found["adopted"][1] == found["spawned"][1] == "main" and found["spawned"][4] == ["pool"]
    assert found["apart"][2] == found["below"][2] == "apart" and found["pool"][2:4] == ("main", 4)

    facts = {fact.args[0]: fact for fact in result.processes}
    stays = [helper.key for helper in PLAN if not helper.ends]
    pids = [facts[key].pid for key in stays]
    assert pids == sorted(pids), "process ids are given out in the order of the plan"
    main, ended = str(facts["main"].pid), facts["adopted"].args[1]
    assert ended.startswith(main) and ended != main
    assert len(str(facts["late"].pid)) == len(str(facts["adopted"].pid)) + 1
    largest_other = max(fact.rss_bytes for key, fact in facts.items() if key != "pool")
    assert facts["pool"].rss_bytes > 18 << 20 > largest_other

    names, pool = ("vox-pool", "vox-pool", "io-1", "io-2"), facts["pool"].pid
    assert result.stdout.data.split() == [word for name in names for word in (str(pool), name)]
    assert result.helpers_intact
