"""docs/adding-a-task.md, followed command by command: its files make tasks that are proven sound."""

import re
import shutil

import pytest

from fluency.common.errors import UserError
from fluency.common.files import sha256
from fluency.common.paths import ROOT
from fluency.core.task_world import world_for
from fluency.core.tasks import PRIVATE_TASKS_VARIABLE, load_task, load_tasks
from fluency.miner.mine import mine
from fluency.validation.new_task import main
from fluency.world import build_world
from tests.miner import logs
from tests.programs import completed
from tests.workflow.project import Project

PAGE = (ROOT / "docs/adding-a-task.md").read_text()
BLOCK = re.compile(r'^```(\w+)(?: title="(\S+)")?\n(.*?)^```$', re.M | re.S)
NAME, SNAPSHOT = "shared-env-keys", "timeout-files"


def follow(folder, run):
    """Write each named block of the page to its file, run the blocks of this kind; what they print."""
    printed = ""
    for kind, name, text in BLOCK.findall(PAGE):
        if name:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        elif kind == run:
            printed += completed("bash", "-euo", "pipefail", "-c", text, cwd=folder).stdout
    return printed


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """A folder in which every named code block of the page was written to its file."""
    folder = tmp_path_factory.mktemp("page")
    follow(folder, "")
    return folder


def test_page_shows_the_answers(followed, monkeypatch, capsys):
    monkeypatch.setenv(PRIVATE_TASKS_VARIABLE, str(followed / "tasks"))
    main(None, NAME, snapshot=False)
    printed = capsys.readouterr().out
    assert printed.replace(f"{PRIVATE_TASKS_VARIABLE}={followed}/tasks ", "") == (
        (followed / "answers.txt").read_text()
    )


def test_further_task_leaves_other_worlds_alone(followed):
    added = load_task(followed / "tasks" / NAME)
    brought = dict(world_for(added, 11).files.items() - build_world(11).files.items())
    names = ("local.env", "notes.txt", "production.env", "staging.env")
    assert sorted(brought) == [f"deploy/{name}" for name in names]
    for task in load_tasks():
        assert not brought.items() & world_for(task, 11).files.items(), task.id


def test_new_task_lists_what_is_missing_until_nothing_is(tmp_path, monkeypatch, capsys):
    """From what the miner writes; the loader refuses the task until then, and says how to go on."""
    monkeypatch.setenv(PRIVATE_TASKS_VARIABLE, str(tmp_path / "bank"))
    (tmp_path / "bank").mkdir()
    mine([logs.copilot(tmp_path / "logs")], tmp_path / "candidates")
    (candidate,) = (tmp_path / "candidates").glob("*-list-the-five-largest-files.yaml")
    main(candidate, "", snapshot=False)
    folder = tmp_path / "bank/list-the-five-largest-files"
    made = {path.name: path.read_text() for path in folder.iterdir()}
    listed = capsys.readouterr().out.splitlines()[1:-1]
    assert sorted(made) == ["answer.py", "fixture.py", "task.yaml"]
    assert [line.split(":")[0] for line in listed] == [
        "answer.py",
        "fixture.py",
        *["task.yaml"] * 7,
    ]
    assert "List the five largest files" in made["task.yaml"]
    assert logs.REQUESTS[1][1].split("|")[1] in made["task.yaml"], "its command is a reference"
    with pytest.raises(UserError, match="not finished") as caught:
        load_tasks([folder.name])
    assert f"make new-task NAME={folder.name}" in caught.value.hint
    (folder / "task.yaml").write_text(made["task.yaml"] + "# mine\n")
    main(candidate, "", snapshot=False)
    assert capsys.readouterr().out.splitlines()[:-1] == listed, "an existing folder stays"
    assert "# mine" in (folder / "task.yaml").read_text()


@pytest.mark.parametrize("name", ("a/b", "../x", "Big_Log", "x\n"))
def test_new_task_begins_none_whose_name_is_no_id(name, tmp_path, monkeypatch):
    monkeypatch.setenv(PRIVATE_TASKS_VARIABLE, str(tmp_path))
    with pytest.raises(UserError, match="cannot be a task's id"):
        main(None, name, False)
    assert not any(tmp_path.iterdir())


def test_new_task_needs_a_candidate_or_a_name(tmp_path):
    (tmp_path / "01-other.yaml").write_text("a: 1\n")
    for candidate in (None, tmp_path / "01-other.yaml"):
        with pytest.raises(UserError, match="nothing to begin a task with"):
            main(candidate, "", snapshot=False)


def test_unknown_task_hints_at_private_ones_unless_they_are_named(tmp_path, monkeypatch):
    with pytest.raises(UserError) as caught:
        load_tasks(["my-task"])
    assert PRIVATE_TASKS_VARIABLE in caught.value.hint
    monkeypatch.setenv(PRIVATE_TASKS_VARIABLE, str(tmp_path))
    with pytest.raises(UserError) as caught:
        load_tasks(["my-task"])
    assert PRIVATE_TASKS_VARIABLE not in caught.value.hint


@pytest.fixture
def snapshot(followed, tmp_path):
    """A snapshot task of the page's text, with other files."""
    folder = tmp_path / SNAPSHOT
    shutil.copytree(followed / "tasks" / SNAPSHOT, folder)
    for parity, name in {"odd": "conf/a.ini", "even": "conf/b-c.ini"}.items():
        path = folder / f"world-{parity}" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(b"timeout = 1\r\n")
        (folder / f"expected-{parity}.txt").write_text(f"{name}\n")
    return folder


def test_snapshot_world_is_its_files_and_its_answer_a_text(snapshot):
    task = load_task(snapshot)
    for seed, name in {3: "conf/a.ini", 11: "conf/a.ini", 24: "conf/b-c.ini"}.items():
        world = world_for(task, seed)
        assert dict(world.files) == {name: b"timeout = 1\r\n"}
        assert task.expected(world) == [name]
    before = task.sha256, task.check_sha256, world_for(task, 3).sha256
    (snapshot / "expected-even.txt").write_text("other\n")
    (snapshot / "world-odd/new.txt").write_text("x\n")
    task = load_task(snapshot)
    after = task.sha256, task.check_sha256, world_for(task, 3).sha256
    assert not set(before) & set(after), "a changed answer or world is measured again"


def test_snapshot_of_the_folder_afterwards(snapshot, monkeypatch, capsys):
    """Without a structure: the files that must be there, nothing else below their folders."""
    text = (snapshot / "task.yaml").read_text()
    kept = [line for line in text.splitlines(True) if not line.startswith(("structure", "content"))]
    (snapshot / "task.yaml").write_text("".join(kept))
    with pytest.raises(UserError, match="after-even, after-odd"):
        load_task(snapshot)
    for parity in ("odd", "even"):
        (snapshot / f"after-{parity}/conf").mkdir(parents=True)
        (snapshot / f"after-{parity}/conf/new-{parity}.ini").write_text("timeout = 2\n")
    task = load_task(snapshot)
    assert task.expected(world_for(task, 3)) is None
    assert task.state(world_for(task, 3)) == {
        "conf/a.ini": None,
        "conf/new-odd.ini": {"sha256": sha256("timeout = 2\n")},
        "conf": {"files": ["new-odd.ini"]},
    }
    monkeypatch.setenv(PRIVATE_TASKS_VARIABLE, str(snapshot.parent))
    main(None, SNAPSHOT, snapshot=False)
    assert 'world 11: ["conf", "conf/a.ini", "conf/new-odd.ini"]' in capsys.readouterr().out
    before = task.sha256, task.check_sha256
    (snapshot / "after-even/conf/more.ini").write_text("x\n")
    assert not set(before) & {load_task(snapshot).sha256, load_task(snapshot).check_sha256}


@pytest.mark.parametrize(
    "change, says",
    [
        (lambda folder: (folder / "expected-odd.txt").unlink(), "expected-odd.txt"),
        (lambda folder: shutil.rmtree(folder / "world-even"), "world-even"),
        (lambda folder: (folder / "world-odd/x").symlink_to("y"), "a snapshot has plain files"),
        (lambda folder: (folder / "world-odd/.x").write_text("y"), "a snapshot has plain files"),
        (lambda folder: (folder / "world-odd/ü.txt").write_text("x"), "named by ASCII letters"),
    ],
)
def test_snapshot_that_cannot_be_is_a_sentence(snapshot, change, says):
    change(snapshot)
    with pytest.raises(UserError, match=says):
        world_for(load_task(snapshot), 11)


@pytest.mark.slow
@pytest.mark.engine
def test_page_followed_in_fresh_clone(tmp_path, sandbox):
    """From a transcript to two tasks that are sound, and a report on one of them."""
    clone, weights = tmp_path / "clone", ROOT / ".cache/weights"
    completed("git", "clone", "-q", ROOT, clone)
    weights.mkdir(parents=True, exist_ok=True)  # half a gigabyte, fetched once
    (clone / ".cache").mkdir()
    (clone / ".cache/weights").symlink_to(weights)
    # How often a command is repeated shows nothing of the page.
    project = Project(clone)
    project.edit("scripts/fluency/validation/validate.py", "REPEATS = 20, 8", "REPEATS = 4, 2")
    project.edit("scripts/fluency/execution/sandbox.py", "REPEATS = 5", "REPEATS = 1")
    printed = follow(clone, "bash")
    for task in (NAME, SNAPSHOT):
        assert re.search(rf"^{task} +bash .* sound$", printed, re.M), printed
        assert not re.search(rf"^{task} .*UNSOUND", printed, re.M), printed
    assert (clone / "answers.txt").read_text() in printed
    # One survives without a reason.
    done = completed("make", "mutants", f"TASK=bash {NAME}", code=None, cwd=clone)
    assert re.search(r"^Bash: [1-9]\d* mutants", done.stdout, re.M), done
    assert (clone / "results/mine/report.md").is_file()
