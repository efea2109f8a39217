"""When the sandbox fails, the cell is missing with a reason, and the next run measures it."""

import contextlib
import io
import json
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import docker
import pytest

from fluency.common.errors import ResultLost, RunEnded, SandboxError
from fluency.common.paths import ROOT
from fluency.core.records import Result
from fluency.core.study import SandboxConfig
from fluency.execution import container, image
from fluency.execution.container import ContainerSession, read_result, run_container
from fluency.execution.engine import BUILD_S, ensure_engine, find_engine
from fluency.execution.image import ensure_image
from fluency.execution.isolation import container_config, isolation
from fluency.execution.protocol import RUNNER_PROTOCOL, Invocation
from fluency.execution.sandbox import Sandbox
from tests.execution.run_it import LIMITS, SMALL, bash, own_containers, own_daemon
from tests.waiting import wait_for

pytestmark = pytest.mark.engine

NONCE = "n" * 32
HEAD = {"protocol": RUNNER_PROTOCOL, "nonce": NONCE}
STARTS = f"echo '{json.dumps(HEAD | {'processes': []})}';"
"""What the runner says before the command, as a line of a script that replaces it."""


def session_of(sandbox, script, within_s=20.0, most_bytes=1 << 20) -> ContainerSession:
    """A container whose runner is replaced by a script."""
    measures = isolation(LIMITS, sandbox.engine["name"])
    config = container_config(sandbox.images["bash"].image_id, container.LABELS, measures)
    config["Entrypoint"] = ["/usr/bin/bash", "-c", script]
    return run_container(sandbox._engine, config, b"5\nsent", most_bytes, within_s)


def pretend(sandbox: Sandbox, script, **bounds) -> Result:
    return read_result(sandbox._engine, session_of(sandbox, script, **bounds), NONCE)


def test_run_after_an_error_needs_a_sane_canary(sandbox, monkeypatch):
    with pytest.raises(SandboxError, match="runner failed: FileNotFoundError"):
        world = SimpleNamespace(**vars(SMALL) | {"dirs": ["no/parent"]})
        sandbox.run(Invocation("bash", "echo", world, LIMITS, 5))
    monkeypatch.setattr("fluency.execution.sandbox.TEXT", "what \0 cannot come back")
    with pytest.raises(SandboxError, match="known result gave another"):
        bash(sandbox, "echo never")
    monkeypatch.undo()
    assert sandbox._needs_canary
    assert bash(sandbox, "echo sane").stdout.data == "sane\n" and not sandbox._needs_canary


@pytest.mark.parametrize(
    "script, before, after",
    [
        ("trap '' TERM; sleep 600", "did not end within 5 s", "did not end within 5 s"),
        ('printf \'{"protocol": 1, "res\'; exit 9', "no whole result document", "exit code 9"),
        ("echo it hurts >&2; exit 4", "without a result: it hurts", "exit code 4, it hurts"),
        ("kill -9 $$; sleep 1; exit 137", "without a result", "exit code 137"),
        (f"printf '{json.dumps({**HEAD, 'error': 'no threads'})}'; exit 3", *["no threads"] * 2),
        ("yes", "more than a result can hold", "more than a result can hold"),
    ],
)
def test_read_result_of_broken_runner(sandbox, engine, script, before, after):
    """It is the sandbox's failure before the command starts, and the command's own from then on."""
    bounds = {"within_s": 5, "most_bytes": 100_000}
    with pytest.raises(SandboxError, match=before):
        pretend(sandbox, script, **bounds)
    result = pretend(sandbox, STARTS + script, **bounds)
    assert after in result.lost and (result.exit_code, result.stdout.bytes) == (None, 0)
    wait_for(lambda: not own_containers(engine))


def test_read_result_lost_by_the_engine(sandbox):
    """A runner that ends well has said its whole document; what did not arrive was lost on the way."""
    with pytest.raises(ResultLost, match="lost what the runner said"):
        pretend(sandbox, STARTS + "exit 0")


@pytest.mark.parametrize("how", ["kill", "stop", "remove_container", "pause", "long ago"])
def test_read_result_container_ended_from_outside(sandbox, engine, how):
    client = engine.client(timeout=20)

    def end():
        for found in own_containers(engine):
            with contextlib.suppress(docker.errors.APIError):
                # Its script has said its first line by then.
                if "'sleep" not in str(client.top(found)):
                    continue
                options = {"force": True} if how == "remove_container" else {}
                getattr(client, "pause" if how == "long ago" else how)(found, **options)
                # More events than Docker remembers.
                for number in range(260 if how == "long ago" else 0):
                    client.rename(found, f"{found[:12]}-{number}")
                return True
        return False

    ended = threading.Thread(target=lambda: wait_for(end))
    ended.start()
    with pytest.raises(ResultLost, match="from outside"):
        pretend(sandbox, STARTS + "trap '' TERM; sleep 15", within_s=8 if how == "long ago" else 5)
    ended.join()
    wait_for(lambda: not own_containers(engine))


def test_read_result_engine_cannot_say_how_it_ended(sandbox, engine, monkeypatch):
    """Its events are of its memory alone: after a restart it knows nothing of the container."""
    session = session_of(sandbox, STARTS + "exit 9")
    assert read_result(engine, session, NONCE).lost == "exit code 9"
    monkeypatch.setattr(container, "END_S", 2)
    with pytest.raises(ResultLost, match="does not know how the container ended"):
        read_result(engine, replace(session, container="0" * 64), NONCE)


def test_run_lost_result_needs_sane_canary(sandbox, monkeypatch):
    known = bash(sandbox, "echo")
    lost = known.model_copy(update={"lost": "why"})
    answers = [lost, known.model_copy(update={"exit_code": 1})]
    monkeypatch.setattr(sandbox, "_run", lambda _: answers.pop(0))
    with pytest.raises(ResultLost, match="why, and then: a command with a known result gave"):
        bash(sandbox, "echo")


def test_a_deleted_image(sandbox, engine):
    client, tag = engine.client(), "agent-shell-sandbox:to-be-deleted"
    source = io.BytesIO(f"FROM {sandbox.images['bash'].image_id}\nLABEL x=y\n".encode())
    list(client.build(fileobj=source, tag=tag, rm=True))
    image_id = client.inspect_image(tag)["Id"]
    image = sandbox.images["bash"].model_copy(update={"image_id": image_id})
    other = Sandbox(engine, {"bash": image}, SandboxConfig())
    assert bash(other, "echo there").stdout.data == "there\n"
    wait_for(lambda: not own_containers(engine))
    client.remove_image(tag, force=True)
    with pytest.raises(SandboxError, match="the sandbox image is gone"):
        bash(other, "echo")


@pytest.mark.usefixtures("second_daemon")
def test_run_daemon_that_hangs_and_dies(sandbox, tmp_path, monkeypatch):
    """On a private engine: stopped before a call, ended while a command runs, started again."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/d.sock")

    def ended_while_it_runs():
        wait_for(lambda: own_containers(engine))
        time.sleep(0.5)
        daemon.terminate()

    with own_daemon(tmp_path) as daemon:
        engine = find_engine()
        tar = sandbox._engine.client(timeout=BUILD_S).get_image(sandbox.images["bash"].image_id)
        engine.client(timeout=BUILD_S).load_image(b"".join(tar))
        other = Sandbox(engine, sandbox.images, SandboxConfig(parallel=2))
        assert bash(other, "echo there").stdout.data == "there\n"
        wait_for(lambda: not own_containers(engine, all=True))
        engine.client().timeout = 2
        daemon.send_signal(signal.SIGSTOP)
        with pytest.raises(SandboxError, match=r"engine went away: .*timed out"):
            bash(other, "echo")
        daemon.send_signal(signal.SIGCONT)
        engine.client().timeout = 60
        (late,) = wait_for(lambda: own_containers(engine, all=True), 60)
        assert not own_containers(engine), "made late, and never started"
        container.remove(engine, late)
        killer = threading.Thread(target=ended_while_it_runs)
        killer.start()
        with pytest.raises(SandboxError) as caught:
            bash(other, "sleep 15", timeout_s=16)
        killer.join()
        assert "next run" in caught.value.hint
        daemon.wait(40)
        with pytest.raises(SandboxError, match="engine"):
            bash(other, "echo")
    with own_daemon(tmp_path) as daemon:
        assert bash(other, "echo again").stdout.data == "again\n"
        wait_for(lambda: not own_containers(engine))
        ended_while_busy(other, daemon)


def ended_while_busy(sandbox, daemon):
    """End a run whose engine answers late: no container is left, also none that is to start."""
    said = []

    def run():
        with pytest.raises(RunEnded):
            said.append(bash(sandbox, "sleep 60", timeout_s=60))

    running = threading.Thread(target=run)
    running.start()
    wait_for(lambda: own_containers(sandbox._engine))
    measures = isolation(LIMITS, sandbox.engine["name"])
    config = container_config(sandbox.images["bash"].image_id, container.LABELS, measures)
    sandbox._engine.client().create_container_from_config(config)
    daemon.send_signal(signal.SIGSTOP)
    threading.Timer(1.5, daemon.send_signal, [signal.SIGCONT]).start()
    sandbox.end()
    assert not own_containers(sandbox._engine, all=True)
    running.join(20)
    assert not running.is_alive() and not said


KILLED = """
import sys
from fluency.core.study import SandboxConfig
from fluency.execution import container
from fluency.execution.sandbox import open_sandbox
from tests.execution.run_it import bash
container.LABELS[container.LABEL] = sys.argv[1]
bash(open_sandbox(SandboxConfig()), "trap '' TERM HUP; sleep 600", timeout_s=6)
"""


def test_container_after_sigkill_ends_at_its_deadline(engine):
    client, label = engine.client(), container.LABELS[container.LABEL]
    run = subprocess.Popen([sys.executable, "-c", KILLED, label], cwd=ROOT)

    def goes_on():
        with contextlib.suppress(docker.errors.APIError):  # it may have ended
            found = own_containers(engine)
            return any("sleep 600" in str(client.top(one)) for one in found)
        return False

    wait_for(goes_on, 60)
    run.kill()
    run.wait()
    assert goes_on(), "it runs on without the harness"
    wait_for(lambda: not own_containers(engine, all=True), 6 + 60)


def test_probe_program_that_never_ends(sandbox, engine, monkeypatch):
    monkeypatch.setattr(image, "PROBE_S", 2)
    with pytest.raises(SandboxError, match=r"sleep does not run in the image: .*timed out"):
        image._probe(engine, sandbox.images["bash"].image_id, "/usr/bin/sleep", "600")
    assert not own_containers(engine, all=True)


def test_canary_finds_limits_not_in_force(sandbox, monkeypatch):
    """As rootless Podman on control groups v1 does, which takes the limits and forgets them."""
    for forgotten in ({"memory", "no-swap"}, {"pids"}):

        def less(*given, without=forgotten):
            return isolation(*given) | {name: {} for name in without}

        monkeypatch.setattr("fluency.execution.isolation.isolation", less)
        with pytest.raises(SandboxError, match="does not enforce the limits") as caught:
            sandbox.canary(LIMITS)
        assert "control groups v2" in caught.value.hint
        monkeypatch.undo()
    sandbox.canary(LIMITS)


STAND_IN = """#!/bin/sh
for last; do :; done
head -c 150M /dev/urandom > "$last.d" && tar -cf "$last" -C / "${last#/}.d" 2>/dev/null
"""


@pytest.mark.usefixtures("second_daemon")
def test_ensure_image_on_full_disk(tmp_path, monkeypatch):
    """On a private engine with 48 MB of disk, without network, and so without a registry."""
    data, maker = tmp_path / "data", tmp_path / "bin/mmdebstrap"
    for folder in (data, maker.parent):
        folder.mkdir()
    maker.write_text(STAND_IN)
    maker.chmod(0o755)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/d.sock")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(data)], check=True)
    try:
        with own_daemon(tmp_path), pytest.raises(SandboxError, match="the disk is full") as caught:
            monkeypatch.setenv("PATH", f"{maker.parent}:/usr/sbin:/usr/bin:/sbin:/bin")
            ensure_image(ensure_engine(), "bash")
    finally:
        subprocess.run(["umount", "-l", str(data)], check=True)
    assert "docker system prune" in caught.value.hint and caught.value.where == "sandbox image"
