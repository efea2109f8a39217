"""Finding an engine, starting one, and what is said where neither can be."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fluency.common.errors import SandboxError
from fluency.common.paths import ROOT
from fluency.execution import engine
from fluency.execution.engine import _facts, ensure_engine, find_engine, socket_paths
from fluency.execution.sandbox import Sandbox
from tests.execution.nobody import ROOT_ONLY, as_nobody


def test_the_usual_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    assert [str(path) for path in socket_paths()] == [
        "/var/run/docker.sock",
        "/run/user/7/docker.sock",
        "/run/user/7/podman/podman.sock",
        "/run/podman/podman.sock",
    ]


@pytest.mark.parametrize("url", ["unix:///nowhere/docker.sock", "tcp://127.0.0.1:1", "nonsense://x"])
def test_docker_host_that_nobody_answers(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", url)
    with pytest.raises(SandboxError) as caught:
        ensure_engine()
    assert url in caught.value.where and "unset" in caught.value.hint


@pytest.mark.engine
@ROOT_ONLY
def test_an_engine_one_may_not_use(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))  # another user's, closed to us, as is root's Podman's
    if not Path("/var/run/docker.sock").exists():
        pytest.skip("the engine here listens elsewhere")
    said = as_nobody(find_engine)
    assert "you may not use it" in said and "usermod -aG docker" in said


@ROOT_ONLY
def test_an_engine_on_a_users_socket_is_rootless(tmp_path: Path) -> None:
    """Podman 4.3 does not say it; seen on Debian 12."""
    (tmp_path / "podman.sock").touch()
    facts = [_facts({}, {}, f"unix://{tmp_path}/podman.sock")["rootless"]]
    os.chown(tmp_path / "podman.sock", 1000, 1000)
    facts.append(_facts({}, {}, f"unix://{tmp_path}/podman.sock")["rootless"])
    facts.append(_facts({}, {}, "tcp://127.0.0.1:2375")["rootless"])
    assert facts == [False, True, False]


@ROOT_ONLY
def test_without_an_engine_one_sentence_says_what_to_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr(engine, "find_engine", lambda: None)
    monkeypatch.setattr(engine, "APPARMOR", tmp_path / "nothing")
    (tmp_path / "apt-get").write_text("#!/bin/sh\n")
    (tmp_path / "apt-get").chmod(0o755)
    tmp_path.chmod(0o755)
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        folder.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "run `sudo apt-get install -y docker.io iptables`" in as_nobody(ensure_engine)
    monkeypatch.setenv("PATH", "/nowhere")
    assert "install Docker or Podman and start it" in as_nobody(ensure_engine)


def test_where_the_kernel_has_apparmor_docker_gets_its_tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kernel = tmp_path / "enabled"
    monkeypatch.setattr(engine, "APPARMOR", kernel)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert engine.lacking_packages() == ["docker.io", "iptables"]
    kernel.write_text("Y\n")
    assert engine.lacking_packages() == ["docker.io", "iptables", "apparmor"]
    for name in ("dockerd", "apparmor_parser"):
        (tmp_path / name).touch(0o755)
    assert engine.lacking_packages() == []


def test_an_installation_that_fails_gives_apts_own_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "apt-get").write_text("#!/bin/sh\n[ $1 = update ] || { echo E: Unable to locate >&2; exit 100; }\n")
    (tmp_path / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(SandboxError, match=r"could not install docker\.io: E: Unable to locate"):
        engine.install(["docker.io"], "no container engine answers")
    said = "no container engine answers: installing docker.io with apt-get (about a minute)\n"
    assert capsys.readouterr().err == said


STARTER = """
import sys
from fluency.execution.sandbox import start_engine
engine.LOG = engine.Path(sys.argv[1]) / "dockerd.log"
engine = engine._started(sys.argv[2:])
print(engine.facts["version"] if engine else "nothing")
"""


@pytest.mark.engine
@pytest.mark.usefixtures("second_daemon")
def test_a_daemon_that_was_started_outlives_its_starter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/d.sock")
    # In a network name space of its own, because a daemon without a bridge removes the one it finds.
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "dockerd").write_text(f'#!/bin/sh\nexec unshare --net {shutil.which("dockerd")} "$@"\n')
    (tmp_path / "bin" / "dockerd").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    options = (
        f"-H unix://{tmp_path}/d.sock --data-root {tmp_path}/data --exec-root {tmp_path}/exec"
        f" --pidfile {tmp_path}/pid --bridge=none --iptables=false"
    ).split()
    starter = [sys.executable, "-c", STARTER, str(tmp_path)]
    run = subprocess.run([*starter, *options], cwd=ROOT, capture_output=True, text=True, check=False)
    try:
        assert run.stdout.strip() not in ("", "nothing"), run.stderr
        assert find_engine().facts["version"] == run.stdout.strip()
        assert os.getsid(int((tmp_path / "pid").read_text())) != os.getsid(0)
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGTERM)
    refused = subprocess.run([*starter, "--no-such-option"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert refused.stdout.strip() == "nothing"
    assert "no-such-option" in (tmp_path / "dockerd.log").read_text()
