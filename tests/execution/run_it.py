"""Short ways to run a command in the sandbox under test."""

import importlib.util
import os
import subprocess
from contextlib import contextmanager, suppress

import pytest

from fluency.common.errors import SandboxError
from fluency.common.paths import SANDBOX
from fluency.core.records import Result
from fluency.core.study import Limits
from fluency.execution import container
from fluency.execution.engine import Engine, find_engine
from fluency.execution.protocol import Invocation
from fluency.execution.sandbox import Sandbox
from fluency.world import FINDINGS, JOB, Finding, HelperSpec, Job, Route, World
from tests.waiting import wait_for

LIMITS = Limits()


def bash(sandbox: Sandbox, command, *needs, timeout_s=20.0, limits=LIMITS, **options):
    return sandbox.run(Invocation("bash", command, SMALL, limits, timeout_s, needs, **options))


def pwsh(sandbox: Sandbox, command, *needs, timeout_s=30.0, limits=LIMITS, **options):
    return sandbox.run(Invocation("pwsh", command, SMALL, limits, timeout_s, needs, **options))


def own_containers(engine: Engine, *, all=False):
    """Ids of this test run's containers: those that run, or all."""
    label = f"{container.LABEL}={container.LABELS[container.LABEL]}"
    return [found["Id"] for found in engine.client().containers(all=all, filters={"label": label})]


@contextmanager
def own_daemon(folder):
    """A dockerd that listens at DOCKER_HOST and keeps everything in a folder.

    It has a separate network name space, because a daemon without a bridge removes the one it
    finds.
    """
    places = f"--data-root {folder}/data --exec-root {folder}/exec --pidfile {folder}/pid"
    apart = "--bridge=none --iptables=false"
    command = f"unshare --net dockerd -H {os.environ['DOCKER_HOST']} {places} {apart}"
    with (folder / "log").open("ab") as log:
        daemon = subprocess.Popen(command.split(), stdout=log, stderr=log)
    try:
        wait_for(answers, 60)
        yield daemon
    finally:
        daemon.terminate()
        daemon.wait(40)


def answers():
    with suppress(SandboxError):
        return find_engine() is not None
    return False


def text(result: Result):
    return result.stdout.data.rstrip("\n")


def of_the_sandbox(name):
    spec = importlib.util.spec_from_file_location(f"sandbox_{name}", SANDBOX / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


AGES = {".": 3600.0, "src": 86400.0, "src/main.rs": 10 * 86400.0, "README.md": 60.0}
AGES |= {"with space.txt": 5.0}


def small_world() -> World:
    """Three files, five helpers in a tree of two, five routes."""
    files = {"README.md": b"# read me\n", "src/main.rs": b"fn main() {}\n"}
    files["with space.txt"] = b"\x00\xff"
    store = {"Content-Type": "application/octet-stream"}
    finds = {"findings": (Finding("fault$", {"code": "V1"}),)}
    finds["job"] = Job("/lint/", "j", ("first\n", "then\n"))
    crates = {"Content-Type": "application/json"}
    http = (
        Route("GET", "/api/crates", 200, crates, b'{"crates": []}\n'),
        Route("GET", "/dl/latest", 302, {"Location": "/dl/store/1"}, b""),
        Route("GET", "/dl/store/1", 200, store, bytes(range(256)) * 300),
        Route("GET", "/doc", 200, {"X-Tag": "1", "ETag": 'W/"a"'}, b"text\n"),
        Route("POST", "/lint", 422, {}, f"{JOB} {FINDINGS}\n".encode(), **finds),
    )
    processes = (
        HelperSpec("sched", "vox-sched", ("--config", "a b"), rss_mb=4),
        HelperSpec("w1", "vox-worker", ("--queue", "alpha"), "sched", rss_mb=30),
        HelperSpec("w2", "vox-worker", ("--queue", "beta"), rss_mb=5),
        HelperSpec("relay", "vox-relay", (), "sched", rss_mb=0),
        HelperSpec("lspd", "vox-lspd", ("",), "relay", rss_mb=0, virt_mb=3000),
    )
    return World(1, files, ("src",), AGES, http, processes)


SMALL = small_world()

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="changes its user id, as root")


@contextmanager
def as_nobody():
    """The rights of an unprivileged user in the block."""
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)
