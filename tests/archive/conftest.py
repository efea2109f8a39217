"""Small registered studies and their archives for all tests of the folder."""

import os
import shutil
import socket

import pytest

from fluency.common import git
from fluency.common.paths import ROOT
from tests.archive.factory import archived, make, make_registered, make_study
from tests.programs import completed

TASKS = ("fetch-top-crates", "stale-lockfiles")
DECISION = "which shell our prompts name"


@pytest.fixture
def offline(monkeypatch):
    """No network, no key, no screen, and only an engine that is open already."""
    connect = socket.socket.connect

    def only_files(opened, address):
        assert opened.family == socket.AF_UNIX, f"something connected to {address}"
        connect(opened, address)

    monkeypatch.setattr(socket.socket, "connect", only_files)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent")
    for variable in ("ANTHROPIC_API_KEY", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    return make_registered(tmp_path_factory.mktemp("study"), make_study(TASKS, decision=DECISION))


@pytest.fixture(scope="session")
def archive(made, tmp_path_factory):
    return archived(made, tmp_path_factory.mktemp("archive"))


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """Two cells: one task and one trial of each shell; and the control."""
    return make_registered(
        tmp_path_factory.mktemp("small"),
        make_study(TASKS[1:], trials=1, decision=DECISION, control=True),
    )


@pytest.fixture(scope="session")
def small_archive(small, commit, tmp_path_factory):
    return archived(small, tmp_path_factory.mktemp("archive"), commit=commit)


@pytest.fixture(scope="session")
def stated_archive(made, commit, tmp_path_factory):
    """Two tasks, of the commit that the checkouts know."""
    return archived(made, tmp_path_factory.mktemp("archive"), commit=commit)


@pytest.fixture(scope="session")
def unseeded_archive(commit, tmp_path_factory):
    """Two trials of a model that takes no seed, with equal replies."""
    model = {"alias": "m", "id": "claude-opus-4-7"}
    study = make_study(TASKS[1:], trials=2, shells=["bash"], model=model)
    made = make(tmp_path_factory.mktemp("study"), study)
    return archived(made, tmp_path_factory.mktemp("archive"), commit=commit)


CODE = ("scripts/fluency", "sandbox", "shells", "tasks", "envs")


def run_git(folder, *arguments):
    day = "2026-11-21T00:00:00Z"
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    env = os.environ | {"GIT_COMMITTER_DATE": day, "GIT_AUTHOR_DATE": day}
    return completed("git", *identity, *arguments, cwd=folder, env=env).stdout.strip()


@pytest.fixture(scope="session")
def checkouts(tmp_path_factory):
    """The code of this checkout: committed, at a later commit, without git, cloned, edited."""
    root = tmp_path_factory.mktemp("checkouts")
    found = {name: root / name for name in ("own", "later", "without git", "shallow", "dirty")}
    for part in CODE:
        ignored = shutil.ignore_patterns("__pycache__", ".*")
        shutil.copytree(ROOT / part, found["own"] / part, ignore=ignored)
    shutil.copytree(found["own"], found["without git"])
    for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "The archive's commit")):
        run_git(found["own"], *arguments)
    for name in ("later", "dirty"):
        shutil.copytree(found["own"], found[name])
        edited = found[name] / "scripts/fluency/__init__.py"
        edited.write_text(edited.read_text() + "# later\n")
    run_git(found["later"], "commit", "-qam", "A later commit")
    run_git(root, "clone", "-q", "--depth", "1", f"file://{found['later']}", "shallow")
    return found


@pytest.fixture(scope="session")
def commit(checkouts):
    """Of the first of them."""
    return run_git(checkouts["own"], "rev-parse", "HEAD")


@pytest.fixture
def at(checkouts, monkeypatch):
    """Let git answer from one of the checkouts."""
    return lambda name: monkeypatch.setattr(git, "ROOT", checkouts[name])
