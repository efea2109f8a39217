"""Small registered studies and their archives for all tests of the folder."""

import socket
from pathlib import Path

import pytest

from tests.archive.factory import Made, archived, make_registered, make_study

TASKS = ("fetch-top-crates", "stale-lockfiles")
DECISION = "which shell our prompts name"


@pytest.fixture
def offline(monkeypatch) -> None:
    """No network, no key, no screen, and only an engine that is open already."""
    connect = socket.socket.connect

    def only_files(opened: socket.socket, address: object) -> None:
        assert opened.family == socket.AF_UNIX, f"something connected to {address}"
        connect(opened, address)

    monkeypatch.setattr(socket.socket, "connect", only_files)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent")
    for variable in ("ANTHROPIC_API_KEY", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> Made:
    return make_registered(tmp_path_factory.mktemp("study"), make_study(TASKS, decision=DECISION))


@pytest.fixture(scope="session")
def archive(made, tmp_path_factory) -> Path:
    return archived(made, tmp_path_factory.mktemp("archive"))


@pytest.fixture(scope="session")
def small(tmp_path_factory) -> Made:
    """Two cells: one task and one trial of each shell; and the control."""
    return make_registered(
        tmp_path_factory.mktemp("small"),
        make_study(TASKS[1:], trials=1, decision=DECISION, control=True),
    )


@pytest.fixture(scope="session")
def small_archive(small, tmp_path_factory) -> Path:
    return archived(small, tmp_path_factory.mktemp("archive"))
