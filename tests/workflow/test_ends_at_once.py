"""Ctrl-C, SIGTERM and SIGHUP end a run within five seconds at every stage; the next run continues."""

import os
import re
import signal
import subprocess
import threading
import time
from contextlib import suppress
from functools import partial

import psutil
import pytest

from fluency.core.shells import DESIGN_SHELLS
from tests.generation.endpoint import Endpoint
from tests.waiting import wait_for
from tests.workflow.project import TASKS, Project, model, reference_answer

pytestmark = pytest.mark.engine
PRICE = {"input_usd_per_mtok": 5, "output_usd_per_mtok": 25, "dated": "2026-09-30"}
PROMISED_S, BUSY_S = 5.0, 3.0
"""What is promised, and what a machine that is busy with other tests may add."""
SLEEPS = """
import time
def expected(world, processes):
    open('judging', 'w').close()
    time.sleep(600)
"""


def sleeping():
    """Whether the command of the test runs in any container."""
    return any(one.info["cmdline"] == ["sleep", "4711"] for one in psutil.process_iter(["cmdline"]))


def ended(project: Project, number, at_stage, **env):
    """Send a signal to a run when it is at a stage; the seconds to its end, and its output."""
    start = {"cwd": project.root, "env": project.environ(**env), "start_new_session": True}
    # A run that `nohup` started ignores the end of its terminal, and so would its children.
    heard = partial(signal.signal, number, signal.SIG_DFL)
    piped = {"stderr": subprocess.PIPE, "text": True, "preexec_fn": heard}
    run = subprocess.Popen(project.run_command(), **piped, **start)
    try:
        wait_for(at_stage, 120)
        signalled = time.monotonic()
        if number == signal.SIGTERM:
            run.send_signal(number)
        else:
            os.killpg(run.pid, number)  # as a terminal does it
        said = run.communicate(timeout=60)[1]
    finally:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
    assert run.returncode == (130 if number == signal.SIGINT else 1), said
    assert "continue" in said.splitlines()[-1] and "Traceback" not in said, said
    return time.monotonic() - signalled, said


def test_run_killed_leaves_nothing_that_asks(sandbox, tmp_path):
    """After SIGKILL of `fluency run` its whole session ends, and no request follows."""
    asked, answers = threading.Event(), threading.Event()
    with Endpoint(reference_answer) as endpoint:
        endpoint.on_request = lambda seen: asked.set() or answers.wait(60)
        project = Project.make(tmp_path / "project", models=[model(endpoint.url, in_flight=1)])
        run = subprocess.Popen(
            project.run_command(), cwd=project.root, env=project.environ(), start_new_session=True
        )
        assert asked.wait(120)
        run.kill()
        run.wait()
        wait_for(lambda: not in_session(run.pid), PROMISED_S + BUSY_S)
        answers.set()
        time.sleep(1)
        assert len(endpoint.requests) == 1


def in_session(leader):
    """The processes of a session that have not ended."""
    found = []
    for process in psutil.process_iter(["pid", "status"]):
        with suppress(ProcessLookupError, psutil.Error):
            if os.getsid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_run_ended_while_model_is_asked(number, sandbox, tmp_path):
    asked, answers = threading.Event(), threading.Event()
    with Endpoint(reference_answer) as endpoint:
        endpoint.on_request = lambda seen: asked.set() or answers.wait(60)
        project = Project.make(tmp_path / "project", models=[model(endpoint.url, price=PRICE)])
        seconds, said = ended(project, number, asked.is_set)
        answers.set()
        assert seconds < PROMISED_S + BUSY_S
        spent = re.search(r"counted as the most that it can cost, \$([\d.]+) are spent", said)
        most = float(spent[1])
        assert most == pytest.approx(256 * 25e-6, abs=0.005), "one call: the first is alone"


def test_run_ended_while_command_runs(sandbox, tmp_path):
    with Endpoint(lambda prompt: "sleep 4711") as endpoint:
        project = Project.make(tmp_path / "project", models=[model(endpoint.url)])
        project.configure(sandbox={"limits": {"timeout_s": dict.fromkeys(DESIGN_SHELLS, 300)}})
        seconds, _ = ended(project, signal.SIGINT, sleeping)
    assert seconds < PROMISED_S + BUSY_S
    wait_for(lambda: not sleeping(), 5)
    assert len(project.records("generations")) == 4 and not project.records("attempts")
    # Of a shell that is absent.
    assert all('"runs": []' in path.read_text() for path in project.records("executions"))


def test_run_ended_while_record_is_judged(project):
    file = project.root / "tasks" / TASKS[0] / "answer.py"
    sound = file.read_text()
    file.write_text(SLEEPS)
    seconds, said = ended(project, signal.SIGINT, (project.root / "judging").exists)
    assert seconds < PROMISED_S + BUSY_S and "Ending: " in said
    assert re.search(r"^scores .* 2/4", said, re.M), "those that this run need not make count too"
    file.write_text(sound)
    project.snakemake()
    assert len(project.records("scores")) == 4


def test_run_ended_on_node_finishes_what_it_began(project):
    with (project.root / "tasks" / TASKS[0] / "answer.py").open("a") as file:
        file.write(f"sound = expected\n{SLEEPS.replace('600', '4')}")
        file.write("    return sound(world, processes)\n")
    judging = (project.root / "judging").exists
    seconds, _ = ended(project, signal.SIGTERM, judging, SLURMD_NODENAME="node1")
    assert seconds > PROMISED_S and project.records("scores")
