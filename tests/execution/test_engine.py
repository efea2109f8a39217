"""Finding an engine, starting one, and what is said where neither can be."""

import io
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest
from docker.context import ContextAPI

from fluency.common.errors import SandboxError
from fluency.execution import engine
from fluency.execution.base_image import run_build
from fluency.execution.engine import both_ends, ensure_engine, find_engine
from fluency.execution.image_content import REPOSITORY
from tests.execution.run_it import ROOT_ONLY, as_nobody
from tests.programs import completed


@pytest.fixture
def docker_config(monkeypatch, tmp_path):
    """A user's settings of `docker`, with a context `mine` whose socket is next to them."""
    config = tmp_path / "config.json"
    config.write_text("{}")
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    ContextAPI.create_context("mine", host=f"unix://{tmp_path}/d.sock")
    return config


@pytest.mark.engine
@pytest.mark.parametrize("by", ["docker context use", "DOCKER_CONTEXT"])
def test_find_engine_follows_the_docker_context(sandbox, docker_config, monkeypatch, by):
    url = f"unix://{docker_config.parent}/d.sock"
    if by == "DOCKER_CONTEXT":
        monkeypatch.setenv(by, "mine")
    else:
        docker_config.write_text('{"currentContext": "mine"}')
    with pytest.raises(SandboxError, match=r"docker context=mine: no engine answers there"):
        find_engine()
    Path(url.removeprefix("unix://")).symlink_to(sandbox._engine.url.removeprefix("unix://"))
    assert find_engine().url == url
    monkeypatch.setenv("DOCKER_CONTEXT", "missing")
    with pytest.raises(
        SandboxError, match=r"context=missing: no engine .*`docker context ls` does"
    ):
        find_engine()


@pytest.mark.parametrize("settings", ["[]", '{"proxies": []}', '{"auths": 3}'])
def test_find_engine_with_damaged_settings(docker_config, monkeypatch, settings):
    """Another Docker would be started if they counted as an engine that is not there."""
    docker_config.write_text(settings)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(docker_config.parent))
    (docker_config.parent / "docker.sock").touch()
    with pytest.raises(SandboxError, match=r"config.json: docker's client fails"):
        find_engine()


@pytest.mark.engine
def test_run_build_without_the_helper_of_a_credential_store(sandbox, docker_config):
    docker_config.write_text('{"credsStore": "missing"}')
    engine = find_engine()
    tag = f"{REPOSITORY}-test:credentials"
    run_build(
        engine, tag=tag, fileobj=io.BytesIO(f"FROM {sandbox.images['bash'].image_id}\n".encode())
    )
    engine.client().remove_image(tag, noprune=True)


@pytest.mark.engine
def test_run_build_that_the_engine_refuses(sandbox):
    """Before the first line of output, with an HTTP status."""
    with pytest.raises(SandboxError) as caught:
        run_build(find_engine(), tag=f"{REPOSITORY}-test:refused", fileobj=io.BytesIO(b"NONSENSE"))
    assert re.search("the build failed: .*unknown instruction: nonsense", str(caught.value), re.I)
    assert "http" not in str(caught.value) and "the engine's log" in caught.value.hint


@pytest.mark.parametrize("url", ["unix:///nowhere/d.sock", "tcp://127.0.0.1:1", "nonsense://x"])
def test_ensure_engine_docker_host_without_engine(url, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", url)
    with pytest.raises(SandboxError) as caught:
        ensure_engine()
    assert url in caught.value.where and "unset" in caught.value.hint


def test_find_engine_of_a_context_that_may_not_be_read(monkeypatch):
    """docker's client says so before it has an address."""

    def closed():
        raise Exception("Detected corrupted meta file for context x: [Errno 13] Permission denied")

    monkeypatch.setattr(engine, "places", lambda: ("docker context=x", [closed]))
    with pytest.raises(SandboxError, match=r"answers there: .*Permission denied") as caught:
        find_engine()
    assert caught.value.where == "docker context=x"


@pytest.mark.engine
@ROOT_ONLY
def test_find_engine_that_may_not_be_used(sandbox, monkeypatch, tmp_path):
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    tmp_path.chmod(0o700)
    # Another user's folder, closed to us, as is root's Podman's.
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    if not Path("/var/run/docker.sock").exists():
        pytest.skip("the engine here listens elsewhere")
    with as_nobody(), pytest.raises(SandboxError, match="you may not use it") as caught:
        find_engine()
    assert "usermod -aG docker" in caught.value.hint


@ROOT_ONLY
def test_ensure_engine_without_the_right_to_start_one(monkeypatch):
    monkeypatch.setattr(engine, "find_engine", lambda: None)
    with as_nobody(), pytest.raises(SandboxError, match=r"`sudo apt-get install docker.io`"):
        ensure_engine()


def test_both_ends_of_an_engines_words():
    """Podman says first what it was doing, and the cause last."""
    assert both_ends(OSError("cannot\n start")) == "cannot start"
    said = both_ends(OSError("creating the container: " + "x" * 900 + ": no such runtime"))
    assert said.startswith("creating") and said.endswith("no such runtime") and len(said) < 310


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """The only programs that the start script finds; apt-get notes its arguments and fails."""
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "grep").symlink_to("/usr/bin/grep")
    monkeypatch.setenv("APPARMOR", str(tmp_path / "enabled"))
    program(tmp_path / "apt-get", 'echo "asked: $*"; echo E: Unable to locate; exit 100')
    return tmp_path


def program(path, script):
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    "kernel, there, lacking",
    [
        ("N", [], "docker.io iptables"),
        ("Y", [], "docker.io iptables apparmor"),
        ("Y", ["dockerd"], "apparmor"),
        ("N", ["dockerd"], ""),
        ("Y", ["dockerd", "apparmor_parser"], ""),
    ],
)
def test_start_script_installs_what_is_lacking(machine, kernel, there, lacking):
    (machine / "enabled").write_text(kernel)
    for name in there:
        program(machine / name, "echo started")
    done = completed("/bin/sh", engine.START_SCRIPT, code=1 if lacking else 0)
    asked = f"install -qy --no-install-recommends {lacking}\n"
    assert (asked in done.stdout, "started" in done.stdout) == (bool(lacking), not lacking)


def test_start_daemon_gives_apts_words(machine, monkeypatch):
    (machine / "enabled").write_text("N")
    monkeypatch.setattr(engine, "LOG", machine / "log")
    monkeypatch.setattr(engine, "find_engine", lambda: None)
    with pytest.raises(SandboxError, match=r"dockerd does not start: .*E: Unable to locate"):
        engine.start_daemon()


STARTER = """
import sys
from fluency.execution import engine
engine.LOG = engine.Path(sys.argv[1])
print(engine.start_daemon().facts["version"])
"""
# In a separate network name space, because a daemon without a bridge removes the one it finds.
DOCKERD = """
echo "asked: $*"
if {refuses}; then echo "no packet filter here"; exit 1; fi
exec unshare --net {dockerd} -H unix://{folder}/d.sock --data-root {folder}/data \\
    --exec-root {folder}/exec --pidfile {folder}/pid "$@"
"""


@pytest.mark.engine
@pytest.mark.usefixtures("second_daemon")
@pytest.mark.parametrize(
    "refuses, bridge, tried, said",
    [
        ('[ "$*" = "" ]', "/nowhere", 2, "--network host"),
        ("true", "/tmp", 1, "ip link delete docker0"),
        ("true", "/nowhere", 2, "no packet filter here"),
    ],
)
def test_start_daemon_that_refuses_a_bridge(tmp_path, monkeypatch, refuses, bridge, tried, said):
    """A daemon of the test's own; `refuses`: a condition of sh on its arguments."""
    log, dockerd = tmp_path / "log", shutil.which("dockerd")
    (tmp_path / "bin").mkdir()
    script = DOCKERD.format(refuses=refuses, dockerd=dockerd, folder=tmp_path)
    program(tmp_path / "bin/dockerd", script)
    for name, value in (("DOCKER_HOST", f"unix://{tmp_path}/d.sock"), ("BRIDGE", bridge)):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    run = completed(sys.executable, "-c", STARTER, str(log), code=None)
    assert said in log.read_text() and log.read_text().count("asked:") == tried
    if refuses == "true":
        assert "dockerd does not start" in run.stderr and said in run.stderr
        return
    daemon = int((tmp_path / "pid").read_text())
    try:
        assert find_engine().facts["version"] == run.stdout.strip(), run.stderr
        assert os.getsid(daemon) != os.getsid(0), "it outlives this process"
    finally:
        os.kill(daemon, signal.SIGTERM)
