"""What a command does in its working folder is recorded, and decides nothing."""

import time
from types import SimpleNamespace

import pytest

from fluency.common.paths import TASKS
from fluency.core.records import Paths, Result
from fluency.core.study import Limits
from fluency.core.task_world import world_for
from fluency.core.tasks import load_task
from fluency.execution.protocol import Invocation
from fluency.scoring.judgement import judge
from tests.execution.run_it import LIMITS, SMALL, bash, packed, text

pytestmark = pytest.mark.engine
# For the container and for looking at what the command left, with another suite on the same two
# processors.
MARGIN_S = 25.0


def changes_of(result: Result) -> dict[str, list[str]]:
    """Kind of change -> its paths, all of which must be listed."""
    assert result.changes is not None and result.changes.complete
    kinds = {kind: getattr(result.changes, kind) for kind in ("created", "changed", "removed")}
    assert all(found.count == len(found.paths) for found in kinds.values())
    return {kind: found.paths for kind, found in kinds.items() if found.count}


def test_tree_belongs_to_the_commands_user(sandbox):
    listing = "find . ! -user agent -o ! -group agent; find . -printf '%m %y\\n' | sort -u; id -un"
    result = bash(sandbox, f"{listing}; ls -laR > /tmp/list; cat README.md src/* > /dev/null")
    assert result.stdout.data == "644 f\n755 d\nagent\n"
    assert not result.tree_changed and result.changes is None
    passing = bash(sandbox, "touch t src/t; rm t src/t; touch -d @0 src; chmod 755 .")
    assert not passing.tree_changed and passing.changes is None


def test_tree_modes_are_in_force(sandbox):
    modes = {"README.md": 0o444, "src/main.rs": 0o600, "src": 0o555}
    world = SimpleNamespace(**(vars(SMALL) | {"tar": packed(SMALL.files, SMALL.dirs, modes)}))
    command = (
        "stat -c '%a %n' README.md src src/main.rs . | sort; echo $(($(date +%s) - $(stat -c %Y src) >= 86400));"
        " (echo x > README.md); (touch src/new); echo x > 'with space.txt'"
    )
    result = sandbox.run(Invocation("bash", command, world, LIMITS, 20))
    assert result.stdout.data == "444 README.md\n555 src\n600 src/main.rs\n755 .\n1\n"
    assert result.stderr.data.count("Permission denied") == 2 and result.exit_code == 0
    assert changes_of(result) == {"changed": ["with space.txt"]}


@pytest.mark.parametrize(
    ("command", "changes", "size"),
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

    def of(name: str):
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
