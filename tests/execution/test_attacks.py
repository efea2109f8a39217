"""Hostile answers end in bounded time, forge nothing, and leave host and next execution alone."""

import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

import pytest

from fluency.common.errors import MachineBusy
from fluency.common.paths import TASKS
from fluency.core.records import Extraction, Result
from fluency.core.shells import SHELLS
from fluency.core.study import Limits, SandboxConfig
from fluency.core.tasks import load_task
from fluency.execution.execute import MAX_ATTEMPTS
from fluency.execution.protocol import PATIENCE
from fluency.execution.sandbox import Sandbox
from fluency.scoring.failure_class import HeadlineRun, classify
from fluency.scoring.judgement import judge
from tests.execution.run_it import LIMITS, SMALL, bash, own_containers, pwsh
from tests.waiting import wait_for

pytestmark = pytest.mark.engine

TASK = load_task(TASKS / "tree-size-bytes")
DEADLINE_S = 3.0
# Beyond the deadline: container start, world, and killing everything, with another suite on the
# same two processors.
MARGIN_S = 25.0
MIB = 1 << 20
AT_ONCE = 4
FORGED = (
    '{"protocol": 1, "nonce": null, "result": {"exit_code": 0, "signal": null, "timed_out": false, "spawn_error": null,'
    ' "stdout": {"data": "Zm9yZ2Vk", "bytes": 6}, "stderr": {"data": "", "bytes": 0}, "wall_s": 0.1, "used": {},'
    ' "processes": [], "http_requests": [], "tree_changed": false, "leftover": [], "helpers_intact": true}}'
)


@dataclass
class Attack:
    name: str
    command: str
    holds: Callable[[Result], bool]
    needs: tuple[str, ...] = ()
    limits: Limits = LIMITS


def timed_out(result: Result):
    return result.timed_out and result.signal == 9 and result.exit_code is None


def refused(result: Result):
    return result.exit_code not in (0, None) and not result.timed_out


def says(what) -> Callable[[Result], bool]:
    return lambda result: result.stdout.data.strip() == what and not result.timed_out


def cut(stream) -> Callable[[Result], bool]:
    def holds(result: Result):
        found = getattr(result, stream)
        return found.truncated and len(found.raw()) == MIB and found.bytes > 10 * MIB

    return holds


def left(result: Result):
    return result.exit_code == 0 and len(result.leftover) > 0 and result.wall_s < DEADLINE_S


intact = attrgetter("helpers_intact")
BOTH = ("processes", "http")
BASH = [
    # --- wears the machine out
    Attack("fork-bomb", ":(){ :|:& };:; sleep 60", timed_out),
    Attack("fork-bomb-in-background", "f() { f & f & }; f; exit 0", lambda r: r.exit_code is not None or timed_out(r)),
    Attack("floods-stdout", "head -c 10G /dev/zero", cut("stdout")),
    Attack("floods-stderr", "head -c 10G /dev/zero >&2", cut("stderr")),
    Attack("endless-without-newline", "while :; do printf x; done", timed_out),
    Attack("endless-fast", "yes", lambda r: timed_out(r) and cut("stdout")(r)),
    Attack("sleeps", "sleep 1000", timed_out),
    Attack("ignores-signals", "trap '' TERM INT HUP QUIT; while :; do sleep 1; done", timed_out),
    Attack("spins-on-all-processors", "for i in 1 2 3 4; do while :; do :; done & done; wait", timed_out),
    Attack("fills-tmp", "head -c 60M /dev/zero > /tmp/a; head -c 60M /dev/zero > /tmp/b", refused),
    Attack("fills-home", "head -c 60M /dev/zero > ~/a && head -c 60M /dev/zero > ~/b", refused),
    Attack("fills-the-tree", "for i in 1 2 3; do head -c 60M /dev/zero > $i; done", refused),
    Attack("fills-inodes", "mkdir -p /tmp/{1..3000}/a/b; echo done", says("done")),
    Attack("allocates-8-gb", "head -c 8G /dev/zero | tail -n 1 | wc -c", lambda r: r.used.oom_killed or timed_out(r)),
    Attack("opens-every-file", "exec {a}</dev/null; while exec {a}</dev/null; do :; done; exit 0", lambda r: True),
    Attack("huge-file", "head -c 200M /dev/zero > /tmp/huge; exit $?", refused, (), Limits(tmpfs_mb=256)),
    Attack("deep-folders", "cd /tmp; while mkdir d && cd d; do :; done", lambda r: timed_out(r) or refused(r)),
    # --- outlives its end
    Attack("reads-stdin", 'cat; read x; echo "[$x]"', says("[]")),
    Attack("background-child-holds-stdout", "sleep 900 & echo done", lambda r: left(r) and r.leftover == ["sleep"]),
    Attack("double-forked-daemon",
        "(setsid sh -c 'trap \"\" HUP TERM; sleep 900' </dev/null &>/dev/null &) ; echo x", left),
    Attack("stops-itself", "kill -STOP $$; sleep 60", timed_out),
    # --- goes for the runner and its helpers
    Attack("kills-everything", "kill -9 -1; echo alive", lambda r: intact(r) and r.signal != 15, BOTH),
    Attack("kills-by-name", "pkill -9 -f runner; pkill -9 python3; pkill -9 vox; echo $?", intact, BOTH),
    Attack("kills-pid-1", "kill -9 1; kill -STOP 1; kill -SEGV 1; echo $?", lambda r: says("1")(r) and intact(r), BOTH),
    Attack("stops-the-helpers", "pkill -STOP vox; pkill -STOP python3; echo $?", intact, BOTH),
    Attack("reads-the-runner", "cat /opt/fluency/runner.py; ls /opt/fluency", refused),
    Attack("runs-the-runner", "/opt/fluency/python3 -c 'print(1)'", refused),
    Attack("reads-pid-1-environ", "cat /proc/1/environ", refused),
    Attack("reads-pid-1-memory", "head -c 1 /proc/1/mem; cat /proc/1/maps; ls /proc/1/fd /proc/1/cwd/", refused),
    Attack("writes-to-the-runners-stdout", f"for f in 0 1 2 3; do echo '{FORGED}' > /proc/1/fd/$f; done", refused),
    Attack("prints-a-result", f"echo '{FORGED}'; exit 3",
        lambda r: r.exit_code == 3 and r.stdout.data == FORGED + "\n"),
    Attack("prints-engine-frames", "printf '\\001\\000\\000\\000\\000\\000\\000\\003abc'; exit 4",
        lambda r: r.exit_code == 4 and r.stdout.raw() == b"\x01\0\0\0\0\0\0\x03abc"),
    Attack("finds-open-files", "ls /proc/self/fd | tr '\\n' ' '", says("0 1 2 3")),  # 3 is ls's own
    Attack("takes-a-helpers-name",
        "(exec -a vox-worker sleep 2) & cp /usr/bin/sleep /tmp/vox-worker; /tmp/vox-worker 1; echo $?",
        lambda r: says("126")(r) and [f.name for f in r.processes].count("vox-worker") == 2 and intact(r), BOTH),
    Attack("floods-the-service",
        'for i in $(seq 20); do curl -s -o /dev/null "http://127.0.0.1:8765/[1-400]" & done; wait', intact,
        ("http",)),
    Attack("breaks-the-service",
        "for i in $(seq 80); do exec {s}<>/dev/tcp/127.0.0.1/8765; printf 'GET / HTTP/9\\r\\nX: ' >&$s; done;"
        " head -c 200000 /dev/zero >&$s; echo done", lambda r: says("done")(r) and intact(r), ("http",)),
    Attack("lifts-its-own-doom", "echo -1000 > /proc/self/oom_score_adj", refused),
    # --- changes the world; what it may do to its own folder is in test_working_folder.py
    Attack("removes-everything", "rm -rf --no-preserve-root / 2>/dev/null; echo gone", intact, BOTH),
    # --- breaks out
    Attack("mounts", "mount -t tmpfs none /mnt; mount -o remount,rw /", refused),
    Attack("unshares", "unshare -Ur true; unshare -m true", refused),
    Attack("enters-pid-1", "nsenter -t 1 -m true", refused),
    Attack("becomes-root", "su -c id; chroot / id; setpriv --reuid 0 id", refused),
    Attack("has-setuid-programs", "find / -xdev -perm /6000 -type f 2>/dev/null | wc -l", says("0")),
    Attack("makes-setuid", "cp /usr/bin/id /tmp/id; chmod 6755 /tmp/id; /tmp/id", refused),
    Attack("makes-devices", "mknod /tmp/disk b 8 0", refused),
    Attack("reads-kernel-memory", "head -c 1 /dev/mem; head -c 1 /proc/kcore; dmesg", refused),
    Attack("sets-the-kernel", "echo 1 > /proc/sys/kernel/sysrq; echo b > /proc/sysrq-trigger", refused),
    Attack("finds-the-engine", "ls /var/run/docker.sock /run/docker.sock /run/podman", refused),
    Attack("changes-cgroups", "mkdir /sys/fs/cgroup/x; echo 9999 > /sys/fs/cgroup/pids/pids.max", refused),
    Attack("writes-the-image", "echo x > /etc/passwd; touch /opt/x /usr/bin/x /x /var/tmp/x", refused),
    # --- reaches out
    Attack("asks-the-network", "curl -sS --max-time 2 http://192.0.2.1/", refused),
    Attack("asks-a-name", "curl -sS --max-time 2 http://example.com/; getent hosts example.com", refused),
    Attack("opens-raw-sockets", "exec 3<>/dev/udp/192.0.2.1/53", refused),
    # --- is strange
    Attack("invalid-utf-8-and-nul", "printf '\\377\\376\\000a'", lambda r: r.stdout.raw() == b"\xff\xfe\0a"),
    Attack("escape-sequences", "printf '\\033]0;title\\007\\033[31mred\\033[2J'",
        lambda r: "\x1b]0;title" in r.stdout.data),
    Attack("one-megabyte-of-command", "echo " + "x" * MIB, lambda r: bool(r.spawn_error) and r.exit_code is None),
    Attack("nul-in-the-command", "echo a\0b", lambda r: bool(r.spawn_error) and r.exit_code is None),
    Attack("lone-surrogate", "printf '%s' '\ud800'", lambda r: r.stdout.raw() == b"\xed\xa0\x80"),
    Attack("ends-by-signal", "kill -SEGV $$", lambda r: r.signal == 11 and r.exit_code is None),
    Attack("no-python-no-perl", "for p in python3 python perl pwsh; do type $p; done 2>/dev/null", refused),
]  # fmt: skip
SOCKET = "[Net.Sockets.Socket]::new('InterNetwork', "
OPTIONS = {
    "joins-a-group": "'Dgram', 'Udp').SetSocketOption('IP', 'AddMembership',"
        " [Net.Sockets.MulticastOption]::new('224.1.1.1', [ipaddress]::Loopback))",
    "takes-memory-by-filters": "'Dgram', 'Udp').SetRawSocketOption(1, 26, [byte[]]::new(16))",
    "takes-memory-by-signatures": "'Stream', 'Tcp').SetRawSocketOption(6, 14, [byte[]]::new(216))",
}  # fmt: skip
PWSH = [
    # Without threads to be had .NET may also end by a signal.
    Attack("fork-bomb", "while ($true) { Start-Process /opt/tools/bin/sleep 60 }", lambda r: r.exit_code != 0),
    Attack("floods-stdout", "while ($true) { [Console]::Out.Write('x' * 1mb) }", cut("stdout")),
    Attack("sleeps", "Start-Sleep 1000", timed_out),
    Attack("reads-stdin", "[Console]::In.ReadToEnd().Length", says("0")),
    Attack("allocates-8-gb", "$a = @(); while ($true) { $a += ,(,1 * 100mb) }", lambda r: r.exit_code != 0),
    Attack("kills-everything", "Get-Process | Stop-Process -Force -ErrorAction Ignore; 'x'", intact, BOTH),
    Attack("reads-the-runner", "Get-Content /opt/fluency/runner.py -ErrorAction Stop", refused),
    Attack("prints-a-result", f"'{FORGED}'; exit 3", lambda r: r.exit_code == 3 and r.stdout.data == FORGED + "\n"),
    Attack("asks-the-network", "Invoke-WebRequest http://192.0.2.1/ -TimeoutSec 2 | Out-Null", refused),
    Attack("one-megabyte-of-command", "'" + "x" * MIB + "'", lambda r: bool(r.spawn_error)),
    Attack("background-child", "Start-Job { Start-Sleep 900 } | Out-Null; 'done'", lambda r: not r.timed_out),
    Attack("asks-the-kernel-by-netlink",
        "[Net.NetworkInformation.NetworkInterface]::GetAllNetworkInterfaces().Count", refused),
    *[Attack(name, f"try {{ {SOCKET}{call} }} catch {{ $_.Exception.GetBaseException().SocketErrorCode }}",
        says("AccessDenied")) for name, call in OPTIONS.items()],
]  # fmt: skip

MOUNTED = [
    *[pytest.param(bash, each, id=f"bash {each.name}") for each in BASH],
    *[pytest.param(pwsh, each, id=f"pwsh {each.name}", marks=pytest.mark.pwsh) for each in PWSH],
]


def within_s(run: Callable[..., Result]):
    return DEADLINE_S * (1 if run is bash else 3)


@pytest.fixture(scope="module")
def outcomes(sandbox, engine):
    """All attacks once, several at a time: id -> result and seconds."""
    crowded = Sandbox(engine, sandbox.images, SandboxConfig(parallel=AT_ONCE))

    def mount(given, attempts=MAX_ATTEMPTS) -> tuple[str, tuple[Result, float]]:
        run, attack = given.values
        began = time.monotonic()
        limits = {"timeout_s": within_s(run), "limits": attack.limits}
        try:
            result = run(crowded, attack.command, *attack.needs, **limits)
        except MachineBusy:  # as a run does, which measures the cell again
            if attempts == 1:
                raise
            return mount(given, attempts - 1)
        return given.id, (result, time.monotonic() - began)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = MOUNTED if sandbox.images["pwsh"].shells["pwsh"] else MOUNTED[: len(BASH)]
        return dict(pool.map(mount, runs))


@pytest.mark.parametrize("run, attack", MOUNTED)
def test_the_attack_loses(outcomes, run, attack):
    result, took = outcomes[f"{run.__name__} {attack.name}"]
    assert attack.holds(result), result
    most_s = PATIENCE * within_s(run)
    assert took < most_s + MARGIN_S and result.wall_s < most_s + MARGIN_S / 2


def test_sandbox_after_all_attacks_is_as_before(sandbox, engine, outcomes):
    wait_for(lambda: not own_containers(engine, all=True), 10)
    result = bash(sandbox, "ls -A /tmp ~; pgrep -u agent -c; cat README.md", *BOTH)
    assert result.stdout.data == "/home/agent:\n\n/tmp:\n1\n# read me\n"
    assert result.helpers_intact and not result.leftover


def test_an_execution_finds_nothing_of_another(sandbox):
    """Nor of one that runs at the same time."""
    writes = (
        "(sleep 60 &); for i in {1..20}; do echo $i | tee /tmp/x > ~/x; sleep 0.1; done; echo end"
    )
    looks = "sleep 1; cat /tmp/x ~/x; pgrep -c sleep; ls -A /tmp"
    with ThreadPoolExecutor(2) as pool:
        writer, reader = pool.submit(bash, sandbox, writes), pool.submit(bash, sandbox, looks)
    assert writer.result().stdout.data == "end\n" and reader.result().stdout.data == "0\n"
    assert bash(sandbox, looks).stdout.data == "0\n"


QUEUES = """
for i in $(seq 20); do gawk -v i=$i 'BEGIN { text = sprintf("%60000s", "x")
    for (n = 0; n < 40; n++) {
        a = 10000 + 100 * i + 2 * n; there = "/inet/udp/" a "/127.0.0.1/" a + 1; back = "/inet/udp/" a + 1 "/127.0.0.1/" a
        printf "" |& back
        for (k = 0; k < 5; k++) { printf "%s", text |& there; fflush(there) }
    }
    system("sleep 3") }' & done 2>/dev/null
sleep 2; awk '/^UDP:/ { print $5 * 4096 }' /proc/net/sockstat; kill $(jobs -p)
"""


@pytest.mark.skipif(
    not Path("/sys/fs/cgroup/memory/memory.kmem.tcp.limit_in_bytes").exists(),
    reason="control groups v2 count the buffers of sockets against the memory",
)
def test_socket_buffers_are_bounded(sandbox):
    """Without a bound they take more than 150 MB."""
    taken = int(bash(sandbox, QUEUES).stdout.data)
    assert 10 * MIB < taken < 64 * MIB


def test_inotify_of_a_neighbour_is_not_used_up(sandbox):
    """The kernel gives every user 128 inotify instances, over all containers."""
    watch = "for i in {1..200}; do tail -f README.md >&2 & done; sleep 4; kill $(jobs -p)"
    with ThreadPoolExecutor(2) as pool:
        greedy = pool.submit(bash, sandbox, watch, timeout_s=60)
        neighbour = pool.submit(bash, sandbox, "sleep 2; timeout 1 tail -f README.md")
    assert "inotify cannot be used" in greedy.result().stderr.data
    assert neighbour.result().stderr.data == ""


STORM = """
$code = [Convert]::FromHexString('BF11810000BB06000000B83800000031F631D24531D24531C00F05FFCB75EB' +
    'BF11C10000B83800000031F631D24531D24531C00F0585C075EBB83C00000031FF0F05')
$map = [IO.MemoryMappedFiles.MemoryMappedFile]::CreateNew([NullString]::Value, 4096, 'ReadWriteExecute')
$view = $map.CreateViewAccessor(0, 4096, 'ReadWriteExecute')
$view.WriteArray(0, $code, 0, $code.Length); 'storm'
$start = $view.SafeMemoryMappedViewHandle.DangerousGetHandle()
[Runtime.InteropServices.Marshal]::GetDelegateForFunctionPointer($start, [Action]).Invoke()
"""
"""64 processes call clone(CLONE_PARENT | CLONE_VFORK) for ever; the runner reaps the children."""


@pytest.mark.pwsh
@pytest.mark.skipif(platform.machine() != "x86_64", reason="holds machine code for x86-64")
def test_storm_of_clones_ends_at_the_deadline(sandbox):
    # What has ended and is not yet reaped takes memory: often 1 GiB before the deadline.
    result = pwsh(sandbox, STORM, timeout_s=20, limits=Limits(memory_mb=8192))
    assert timed_out(result) and result.stdout.data == "storm\n"
    assert result.wall_s < 20 + 4  # 2 s, and 2 s more for a busy machine


UNDOOMED = (
    "echo 0 > /proc/self/oom_score_adj;"
    " for i in $(seq 200); do (x=$(head -c 4M /dev/zero | tr '\\0' a); sleep 5) & done; wait"
)
SMALL_MEMORY = Limits(memory_mb=256, pids=256)


def test_an_answer_that_kills_the_runner_has_failed(sandbox):
    """It leaves the head of the out-of-memory queue and fills the memory; the victim varies."""
    for _ in range(12):
        result = bash(sandbox, UNDOOMED, "processes", timeout_s=10, limits=SMALL_MEMORY)
        if result.lost is not None:
            break
    assert result.lost == "the memory limit ended the runner itself" and result.used.oom_killed
    assert (result.exit_code, result.stdout.bytes) == (None, 0)
    assert 0 < result.wall_s < 10 + MARGIN_S
    assert len(result.processes) == len(SMALL.processes), "reported before the command began"
    verdict = judge(TASK, result, ["1"])
    headline = [HeadlineRun(11, result, verdict)]
    found = classify("ok", Extraction(strict=UNDOOMED, lenient=UNDOOMED), SHELLS["bash"], headline)
    assert (verdict.passed, found.failure_class) == (False, "resource-limit")
    assert found.why == "World 11: its result was lost: the memory limit ended the runner itself."
    assert bash(sandbox, "echo sane").stdout.data == "sane\n"
