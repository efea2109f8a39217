"""What people do to a study besides changing it: exactly which jobs run then, why, and how many requests are made."""

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml
import zstandard

from tests.workflow.project import TASKS, Project, model
from tests.workflow.test_bad_input import fluency

pytestmark = pytest.mark.engine
ANEW = "what it is made from is made again"
NEW = "not there yet"
UNKNOWN = "no record of how it was made"


def redone(project: Project, requests: list, calls: int = 0, **reasons: dict[str, int]) -> None:
    """`make plan` names these jobs with these reasons; a run does them and no others, and makes so many requests."""
    assert project.plan() == {"calls": {"to make": calls}, **reasons}
    before = len(requests)
    jobs = {rule: sum(told.values()) for rule, told in reasons.items()}
    assert project.run_and_tell() == jobs
    assert len(requests) - before == calls


def rename_and_back(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.with_name("elsewhere").rename(path)


def test_keys_in_another_order_a_comment_and_files_renamed_back_and_forth(project, flawless):
    for name in ("sandbox/runner.py", "report/report.md.j2", f"tasks/{TASKS[0]}", "config.yaml", "results/scores"):
        rename_and_back(project.root / name)
    file = project.root / "config" / "test.yaml"
    keys = yaml.safe_load(file.read_text())
    file.write_text("# The same keys.\n" + yaml.safe_dump(dict(reversed(keys.items())), sort_keys=False))
    # The provenance names the hash of the file, and nothing else of it counts.
    redone(project, flawless.requests, gather={"changed: files.test.yaml": 1}, report={ANEW: 1})


@pytest.fixture(scope="module")
def archive(finished) -> Path:
    """The finished study's archive."""
    packed = fluency(finished, "archive", "--partial", "--configfile", "config/test.yaml")
    assert packed.returncode == 0, packed.stderr
    return finished.root / packed.stdout.split()[-1]


def restore(project: Project, archive: Path) -> None:
    """Make a fresh clone of a project, unpack the archive's results and answers into it."""
    for name in ("results", "answers", ".snakemake", ".cache"):
        shutil.rmtree(project.root / name, ignore_errors=True)
    with zstandard.open(archive, "rb") as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
        wanted = (entry for entry in tar if entry.name.startswith(("results/", "answers/")))
        tar.extractall(project.root, members=wanted)


def test_results_from_an_archive_are_taken_with_snakemakes_memory_and_made_anew_without(
    project, archive, finished, flawless
):
    restore(project, archive)
    shutil.copytree(finished.root / ".snakemake", project.root / ".snakemake", symlinks=True)
    assert project.to_do() == {}
    shutil.rmtree(project.root / ".snakemake")
    # Nobody knows any more by which checks, limits and code they were made; the answers say themselves what was asked.
    reasons = {"image": {UNKNOWN: 1}, "execute": {ANEW: 4}, "score": {ANEW: 4}}
    redone(project, flawless.requests, **reasons, gather={ANEW: 1}, report={ANEW: 1})
    assert project.to_do() == {}


def test_an_answer_to_another_prompt_from_an_archive_is_not_taken(project, archive):
    restore(project, archive)
    project.edit(f"tasks/{TASKS[1]}/task.yaml", "Print a single integer, digits only.", "Print one integer.")
    plan = project.plan()
    assert (plan["calls"], plan["generate"]) == ({"to make": 2}, {UNKNOWN: 2})


def test_a_task_and_a_shell_removed_and_added_again_move_the_table_only(project, flawless):
    both = {f"changed: files.test.yaml, study.shells, tasks.{TASKS[1]}": 1}
    project.configure(tasks=TASKS[:1], shells=["bash"])
    redone(project, flawless.requests, gather=both, report={ANEW: 1})
    project.configure(tasks=TASKS, shells=["bash", "pwsh"])
    redone(project, flawless.requests, gather=both, report={ANEW: 1})


def test_a_renamed_alias_makes_its_cells_anew_and_asks_nothing(project, flawless):
    project.configure(models=[model(flawless.url, "renamed", id="fake-good")])
    reasons = {"generate": {NEW: 4}, "execute": {ANEW: 4}, "score": {ANEW: 4}}
    redone(project, flawless.requests, **reasons, gather={ANEW: 1}, report={ANEW: 1})


def test_two_branches_with_different_tasks_ask_once_each(project, flawless, monkeypatch):
    monkeypatch.setattr(flawless, "answer", lambda prompt: "true")

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=nobody", "-c", "user.email=nobody@nowhere.example")
        subprocess.run(["git", *identity, *arguments], cwd=project.root, check=True, capture_output=True)

    (project.root / ".gitignore").write_text("results/\nanswers/\nlogs/\n.snakemake/\n.cache/\n")
    git("init", "-q", "-b", "one")
    git("add", "-A")
    git("commit", "-qm", "one")
    git("checkout", "-qb", "two")
    project.edit(f"tasks/{TASKS[1]}/task.yaml", "Print a single integer, digits only.", "Print one integer.")
    git("commit", "-qam", "two")
    prompt = {"generate": {"changed: prompt": 2}, "execute": {ANEW: 2}, "score": {ANEW: 2}}
    rest = {"gather": {ANEW: 1}, "report": {ANEW: 1}}
    redone(project, flawless.requests, calls=2, **prompt, **rest)
    git("checkout", "-q", "one")
    redone(project, flawless.requests, **prompt, **rest)
