"""What a command does in its working folder, and what it leaves there, is recorded."""

import time
from hashlib import sha256

import pytest

from fluency.common.paths import TASKS
from fluency.core.records import Paths, Result
from fluency.core.study import Limits
from fluency.core.task_world import world_for
from fluency.core.tasks import load_task
from fluency.execution.protocol import Invocation
from fluency.scoring.judgement import differences_in, judge
from fluency.world import HelperSpec, World
from tests.execution.run_it import LIMITS, SMALL, bash, pwsh, text
from tests.world.test_repository import seeded

pytestmark = pytest.mark.engine
# For the container and for looking at what the command left, with another suite on the same two
# processors.
MARGIN_S = 25.0


def changes_of(result: Result):
    """Kind of change -> its paths, all of which must be listed."""
    assert result.changes is not None and result.changes.complete
    kinds = {kind: getattr(result.changes, kind) for kind in ("created", "changed", "removed")}
    assert all(found.count == len(found.paths) for found in kinds.values())
    return {kind: found.paths for kind, found in kinds.items() if found.count}


def test_tree_belongs_to_the_commands_user(sandbox):
    listing = "find . ! -user agent -o ! -group agent; find . -printf '%m %y\\n' | sort -u; id -un"
    result = bash(sandbox, f"{listing}; ls -laR > /tmp/list; cat README.md src/* > /dev/null")
    assert result.stdout.data == "644 f\n755 d\nagent\n"
    assert not result.tree_changed and result.changes is None and result.state == []
    passing = bash(sandbox, "touch t src/t; rm t src/t; touch -d @0 src; chmod 755 .")
    assert not passing.tree_changed and passing.changes is None


@pytest.mark.parametrize(
    "command, changes, size",
    [
        ("echo new > made.txt; mkdir -p a/b; echo x > a/b/c", {"created": ["a", "a/b", "a/b/c", "made.txt"]}, 6),
        ("echo longer > README.md", {"changed": ["README.md"]}, 7),
        ("cp -p README.md /tmp/r; cp -p /tmp/r README.md; touch -d @0 README.md", {"changed": ["README.md"]}, 10),
        ("rm -r src", {"removed": ["src", "src/main.rs"]}, 0),
        ("mv src other", {"created": ["other", "other/main.rs"], "removed": ["src", "src/main.rs"]}, 13),
        ("chmod 700 src; chmod 600 README.md", {"changed": ["README.md", "src"]}, 10),
        ("sed -i s/absent/x/ README.md", {"changed": ["README.md"]}, 10),
        ("ln -s /a l; ln README.md hard; mkfifo f", {"created": ["f", "hard", "l"], "changed": ["README.md"]}, 20),
        ("printf x > $'a\\377\\nb'", {"created": ["a\\xff\nb"]}, 1),
    ],
)  # fmt: skip
def test_changes_are_listed(sandbox, command, changes, size):
    result = bash(sandbox, command)
    assert result.exit_code == 0 and result.tree_changed, result.stderr.data
    assert changes_of(result) == changes and result.changes.bytes == size


HOSTILE = {
    "fills-it": "head -c 60M /dev/zero > a; head -c 60M /dev/zero > b; head -c 60M /dev/zero > c; echo no > d; echo end",
    "links-out": "ln -s / root; ln -s /proc proc; ln -s . self; ln -s ../../.. up; rm -r src; ln -s /tmp src; echo end",
    "odd-files": "mkfifo f; ln -s f l; exec 5<>/dev/null; mkfifo src/f; mknod x c 1 3; echo end",
    "deletes-it": "rm -rf /work /work/* /work/.[!.]*; curl -s http://127.0.0.1:8765/doc >&2; cd /; rmdir /work; echo end",
    "closes-it": "chmod 000 src/main.rs src README.md .; echo end",
    "closes-what-it-made": "mkdir -p a/b/c; echo x > a/b/c/d; chmod 000 a/b/c a/b; chmod 300 a; chmod 400 src; echo end",
    "ten-thousand-files": "mkdir n; cd n; touch $(seq 10000); echo end",
    "deep": "for i in $(seq 300); do mkdir d && cd d; done; echo end",
    "moves-while-it-ends": "(while :; do mv src s; mv s src; touch x$RANDOM; done) & echo end",
}


def test_changes_of_hostile_trees(sandbox):
    found = {}
    for name, command in HOSTILE.items():
        began = time.monotonic()
        result = found[name] = bash(sandbox, command, "http", "processes", timeout_s=10)
        assert result.stdout.data == "end\n" and result.exit_code == 0, name
        assert time.monotonic() - began < MARGIN_S and result.helpers_intact, name

    def of(name):
        return found[name].changes

    assert of("fills-it").created.paths[:3] == ["a", "b", "c"]
    assert 100 << 20 < of("fills-it").bytes <= 128 << 20
    links = of("links-out")
    assert links.created.paths == ["proc", "root", "self", "up"]
    assert (links.changed.paths, links.removed.paths) == (["src"], ["src/main.rs"])
    assert of("odd-files").created.paths == ["f", "l", "src/f"]
    assert "text\n" in found["deletes-it"].stderr.data, "the service still answers"
    assert of("deletes-it").removed.count == len(SMALL.files) + len(SMALL.dirs)
    assert of("closes-it").changed.paths == [".", "README.md", "src", "src/main.rs"]
    closed = of("closes-what-it-made")
    assert closed.created.paths == ["a", "a/b", "a/b/c", "a/b/c/d"]
    assert closed.changed.paths == ["src"]
    many = of("ten-thousand-files")
    assert (many.created.count, len(many.created.paths), many.complete) == (10_001, 50, True)
    assert 30 < of("deep").created.count < 300 and not of("deep").complete
    assert all(of(name).complete for name in HOSTILE if name != "deep")


def states(result: Result):
    """Path -> kind, mode, and of a link its target, of a file its content or, if not kept, size."""
    assert isinstance(result.state, list), result.state
    found = {}
    for one in result.state:
        end = one.target
        if one.content:
            end = one.content.raw() or one.content.bytes
            assert one.content.truncated or sha256(one.content.raw()).hexdigest() == one.sha256
        found[one.path] = one.kind, one.mode, end
    return found


BIG = 64 << 10
STATES = {
    "echo new > made.txt; mkdir -m 700 d; rm README.md": {
        "made.txt": ("file", 0o644, b"new\n"), "d": ("folder", 0o700, None), "README.md": ("absent", None, None)},
    "touch 'c\\xff' $'c\\377' $'n\\nl'": {
        "c\\\\xff": ("file", 0o644, 0), "c\\xff": ("file", 0o644, 0), "n\nl": ("file", 0o644, 0)},
    "ln -s /dev/zero z; ln -s /proc/1/environ p; ln -s $'\\377' l; mkfifo -m 600 f; rm -r src; ln -s /tmp src": {
        "z": ("link", 0o777, "/dev/zero"), "p": ("link", 0o777, "/proc/1/environ"), "l": ("link", 0o777, "\\xff"),
        "f": ("other", 0o600, None), "src": ("link", 0o777, "/tmp"), "src/main.rs": ("absent", None, None)},
    "echo x > a; ln a b; chmod 0 a README.md; mkdir -p c/d; echo y > c/d/e; chmod 0 c/d/e c/d c": {
        "a": ("file", 0, b"x\n"), "b": ("file", 0, b"x\n"), "README.md": ("file", 0, b"# read me\n"),
        "c": ("folder", 0, None), "c/d": ("folder", 0, None), "c/d/e": ("file", 0, b"y\n")},
    f"head -c {BIG} /dev/zero > a; head -c {BIG + 1} /dev/zero > b; truncate -s 60M c": {
        "a": ("file", 0o644, bytes(BIG)), "b": ("file", 0o644, BIG + 1), "c": ("file", 0o644, 60 << 20)},
    "sed -i s/absent/x/ README.md; chmod 600 src/main.rs": {
        "README.md": ("file", 0o644, b"# read me\n"), "src/main.rs": ("file", 0o600, b"fn main() {}\n")},
}  # fmt: skip
STATES_PWSH = {
    "[IO.File]::WriteAllText(\"$PWD/c\\xff\", 'é'); New-Item -Type SymbolicLink z -Target /dev/zero; Remove-Item README.md":
        {"c\\\\xff": ("file", 0o644, "é".encode()), "z": ("link", 0o777, "/dev/zero"), "README.md": ("absent", None, None)},
    "[IO.File]::SetUnixFileMode(\"$PWD/README.md\", 0); Remove-Item src -Recurse; $null = New-Item -Type SymbolicLink src -Target /":
        {"README.md": ("file", 0, b"# read me\n"), "src": ("link", 0o777, "/"), "src/main.rs": ("absent", None, None)},
}  # fmt: skip


@pytest.mark.parametrize("command", STATES)
def test_state_is_of_every_changed_path(sandbox, command):
    assert states(bash(sandbox, command)) == STATES[command]


@pytest.mark.pwsh
@pytest.mark.parametrize("command", STATES_PWSH)
def test_state_after_powershell(sandbox, command):
    assert states(pwsh(sandbox, command)) == STATES_PWSH[command]


SPARSE = (
    '1..{} | ForEach-Object {{ $f = [IO.File]::Create("$PWD/$_"); $f.SetLength(64mb); $f.Close() }}'
)
UNKNOWN = [
    (bash, "for i in {1..3001}; do echo $i; done | xargs truncate -s 64M", "more than 2,000 paths"),
    (bash, "for i in {1..5}; do truncate -s 64M $i; done", "more than 256 MiB"),
    (
        bash,
        "n=$(head -c 250 /dev/zero | tr '\\0' n); mkdir $n; cd $n; touch ${n}{1..1500}",
        "the names",
    ),
    (bash, "for i in $(seq 60); do mkdir d && cd d; done", "not everything"),
    pytest.param(pwsh, SPARSE.format(5), "more than 256 MiB", marks=pytest.mark.pwsh),
    pytest.param(pwsh, SPARSE.format(3001), "more than 2,000 paths", marks=pytest.mark.pwsh),
]


@pytest.mark.parametrize("run, command, why", UNKNOWN)
def test_state_beyond_a_limit_is_unknown(sandbox, run, command, why):
    began = time.monotonic()
    result = run(sandbox, command)
    assert time.monotonic() - began < MARGIN_S
    assert isinstance(result.state, str) and why in result.state and result.tree_changed


def test_state_keeps_a_mebibyte_of_one_file_under_many_names(sandbox):
    found = states(
        bash(sandbox, f"head -c {BIG} /dev/zero > a; for i in {{1..500}}; do ln a $i; done")
    )
    kept = [end for _, _, end in found.values() if isinstance(end, bytes)]
    assert len(found) == 501 and len(kept) == 16


GIT = [
    (bash, "git status --short; git log --format=%s; git blame -s docs/src/mesh.md | wc -l >&2; echo x >> README.md;"
        " git commit -qam More; git stash list; git branch -q -D side"),
    pytest.param(pwsh, "git status --short; git log --format=%s; Add-Content README.md x; git commit -qam More;"
        " git branch -q -D side", marks=pytest.mark.pwsh),
]  # fmt: skip


@pytest.mark.parametrize("run, command", GIT)
def test_git_works_in_a_world(sandbox, run, command):
    world = seeded()
    shell = "bash" if run is bash else "pwsh"
    result = sandbox.run(Invocation(shell, command, world, LIMITS, 30))
    assert result.stdout.data == "Rename the project\nStart\n", result.stderr.data
    main = {"message": "More", "author": "Robin Vox <robin@vox.example>"}
    wanted = {"refs/heads/main": main, "refs/heads/side": None, "HEAD": "refs/heads/main"}
    assert differences_in(world, result, {".git": {"git": wanted}}) == []
    assert len(differences_in(world, result, {".git": {"git": {"refs/heads/side": {}}}})) == 1


JOBS = (
    HelperSpec("a", "vox-job", may_end=True),
    HelperSpec("b", "vox-job", may_end=True),
    HelperSpec("c", "vox-keep"),
)
ENDS = [
    (bash, "kill $(pgrep -x vox-job | head -n 1); kill $(pgrep -x vox-keep); sleep 60 & exit 0", ["sleep"]),
    pytest.param(pwsh, "Get-Process vox-job | Select-Object -First 1 | Stop-Process", [], marks=pytest.mark.pwsh),
]  # fmt: skip


@pytest.mark.parametrize("run, command, left", ENDS)
def test_processes_that_may_end(sandbox, run, command, left):
    """They run as the command's user; what else runs as that user is left by the command."""
    world = World(1, processes=JOBS)
    shell = "bash" if run is bash else "pwsh"
    result = sandbox.run(Invocation(shell, command, world, LIMITS, 30, ("processes",)))
    first, second = (fact.pid for fact in result.processes if fact.name == "vox-job")
    assert (result.helpers_ended, result.helpers_intact) == ([first], True), result.stderr.data
    assert result.leftover == left
    wanted = {f"/proc/{first}": None, f"/proc/{second}": {}}
    assert differences_in(world, result, wanted) == []
    wrong = differences_in(world, result, {f"/proc/{second}": None, f"/proc/{first}": {}})
    assert [one.rpartition("' ")[2] for one in wrong] == ["is still there", "is missing"]


TASK = load_task(TASKS / "tree-size-bytes")
RIGHT = TASK.references["bash"][0]


def test_judge_tree_changed_before_the_answer(sandbox):
    """What it changed first makes the answer wrong; changing the folder itself is not judged."""
    world = world_for(TASK, 11)
    before = "rm -rf crates; find . -type f -exec truncate -s 0 {} +"
    for command, right in (
        (f"{before}\n{RIGHT}", False),
        (f'o=$({RIGHT})\n{before}\necho "$o"', True),
    ):
        result = sandbox.run(Invocation("bash", command, world, LIMITS, 20, TASK.needs))
        assert result.tree_changed
        assert judge(TASK, result, TASK.expected(world, result.processes)).passed is right


def test_survey_under_small_limits(sandbox):
    limits = Limits(memory_mb=256, open_files=256)
    command = "for i in $(seq 60); do mkdir d && cd d; done; touch $(seq 5000); echo end"
    result = bash(sandbox, command, limits=limits)
    assert text(result) == "end" and result.tree_changed
    assert isinstance(result.changes.created, Paths)
