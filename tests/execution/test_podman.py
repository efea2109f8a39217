"""The sandbox on Podman's compatible socket, where root may install Podman.

Podman gets separate storage and a separate network name space, and a runtime that raises no number
of processes: a nested container lacks the right to. Where no container starts, the tests skip.
"""

import os
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from fluency.common.errors import SandboxError
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.study import Limits, SandboxConfig
from fluency.execution.engine import BUILD_S, find_engine
from fluency.execution.isolation import isolation
from fluency.execution.sandbox import Sandbox
from tests.debian import why_missing
from tests.execution.run_it import bash, pwsh
from tests.execution.test_isolation import PROBES, TIGHT, run
from tests.waiting import wait_for

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs a network name space"),
]
RUNTIME = """#!/bin/sh
for word; do
  if [ "$last" = --bundle ]; then
    jq -c 'del(.process.rlimits[] | select(.type == "RLIMIT_NPROC"))' "$word/config.json" > "$word/new"
    mv "$word/new" "$word/config.json"
  fi
  last=$word
done
exec runc "$@"
"""
# The name space of the test's engine has no other interface; Podman gives no resolver.
HERE = [probe for probe in PROBES if probe.measure not in ("no-network", "no-resolver")]


@pytest.fixture(scope="module")
def podman(sandbox):
    """The same image on a podman of the test's own."""
    if why := why_missing(["podman", "runc", "jq"], ["podman", "runc", "jq"]):
        pytest.skip(why)
    with ExitStack() as stack:
        # Podman refuses a runroot of more than 50 characters, which a worker's folder has.
        short = {"prefix": "podman-", "dir": "/tmp", "ignore_cleanup_errors": True}
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(**short)))
        stack.callback(subprocess.run, ["umount", "-q", "-l", f"{folder}/root/overlay"])
        log = stack.enter_context((folder / "log").open("wb"))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        url = f"unix://{folder}/podman.sock"
        patch.setenv("DOCKER_HOST", url)
        (folder / "runtime").write_text(RUNTIME)
        (folder / "runtime").chmod(0o755)
        settings = f'[engine]\nruntime = "test"\n[engine.runtimes]\ntest = ["{folder}/runtime"]\n'
        (folder / "containers.conf").write_text(settings)
        patch.setenv("CONTAINERS_CONF", str(folder / "containers.conf"))
        storage = f"--root {folder}/root --runroot {folder}/run --cgroup-manager cgroupfs"
        command = f"unshare --net podman {storage} system service --time=0 {url}".split()
        service = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        stack.callback(service.wait, 20)
        stack.callback(service.terminate)
        wait_for((folder / "podman.sock").exists, 60)
        engine = find_engine()
        tar = sandbox._engine.client(timeout=BUILD_S).get_image(sandbox.images["pwsh"].image_id)
        for line in engine.client(timeout=BUILD_S).load_image(b"".join(tar)):
            assert "error" not in line, line
        image_id = engine.client().images(quiet=True)[0]
        image = sandbox.images["pwsh"].model_copy(update={"image_id": image_id})
        found = Sandbox(engine, dict.fromkeys(DESIGN_SHELLS, image), SandboxConfig(parallel=2))
        try:
            bash(found, "true")
        except SandboxError as error:
            pytest.skip(f"podman starts no container here: {error}"[-300:])
        yield found


def test_an_execution_in_each_shell(podman):
    assert podman.engine["name"] == "podman"
    podman.canary(Limits())
    command = "pwd; curl -s -o /dev/null -w '%{http_code} ' http://127.0.0.1:8765/nowhere; stat -c %U:%a ~"
    result = bash(podman, command, "processes", "http")
    assert result.stdout.data == "/work\n404 agent:700\n"
    assert result.processes and result.helpers_intact and not result.tree_changed
    assert result.used.peak_memory_bytes and result.used.peak_processes
    if podman.images["pwsh"].shells["pwsh"]:
        assert pwsh(podman, "1 + 1").stdout.data == "2\n"


@pytest.mark.parametrize("probe", HERE, ids=lambda probe: probe.measure)
def test_the_isolation_holds(podman, probe):
    assert run(podman, probe, isolation(probe.limits, "podman")).stdout.data == probe.isolated


def test_attacks_end_where_they_end_elsewhere(podman):
    assert bash(podman, ":(){ :|:& };:; sleep 60", timeout_s=3).timed_out
    assert bash(podman, "head -c 2G /dev/zero | tail -n 1", limits=TIGHT).used.oom_killed
    deaf = "trap '' TERM; setsid sleep 600 & kill -TERM $$; while :; do :; done"
    assert bash(podman, deaf, timeout_s=3).timed_out
    assert bash(podman, "rm -rf --no-preserve-root / 2>/dev/null; echo *").stdout.data == "*\n"
    assert bash(podman, "echo next; pgrep -c sleep").stdout.data == "next\n0\n"
    wait_for(lambda: not podman._engine.client().containers(all=True))
