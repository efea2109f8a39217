"""No busy machine decides: a command that gets no processor is interrupted, not timed out."""

import pytest

from fluency.common.errors import MachineBusy, StopRun
from fluency.common.paths import SANDBOX
from fluency.execution.isolation import isolation
from fluency.execution.protocol import PATIENCE, Invocation
from tests.execution.run_it import LIMITS, SMALL, bash
from tools.bench.busy import HEAVY, busy

pytestmark = pytest.mark.engine

DEADLINE_S = 2.0
LOOP = "while :; do :; done"
LIGHT = "exec 9<> <(:); while :; do read -t 0.001 -u 9; {more} done"
WATCH = (
    "read -r l < /proc/1/stat; case $l in *') R '*) for ((i = 0; i < 2000; i++)); do :; done; esac;"
)
ON_EACH = "for c in 0 1; do taskset -c $c bash -c '{loop}' & done; wait"


@pytest.fixture
def heavy(sandbox):
    with busy(sandbox, 4, HEAVY):
        yield


@pytest.mark.usefixtures("heavy")
def test_run_beside_heavy_containers(sandbox):
    with pytest.raises(MachineBusy, match="too busy with other work"):
        bash(sandbox, LOOP, timeout_s=DEADLINE_S)
    assert bash(sandbox, "sleep 1000", timeout_s=DEADLINE_S).timed_out, "it waits for no processor"


@pytest.mark.usefixtures("heavy")
def test_run_where_processor_time_is_hidden(sandbox):
    """The deadline is one of wall time, and the record says so."""
    measures = isolation(LIMITS, sandbox.engine["name"])
    measures["masked"] = {"MaskedPaths": ["/sys/fs/cgroup"]}
    result = sandbox._run(Invocation("bash", LOOP, SMALL, LIMITS, DEADLINE_S), measures)
    assert result.timed_out and result.used.container_cpu_s is None
    assert "container_cpu_s" not in result.model_dump()["used"]


@pytest.mark.parametrize(
    "command",
    [
        LIGHT.format(more=""),
        LIGHT.format(more=WATCH),
        ON_EACH.format(loop=LIGHT.format(more="")),
        "for i in {1..200}; do sleep 1000 & done; wait",
        "for i in {1..250}; do while :; do :; done & done; wait",
        "kill -STOP $$",
    ],
    ids=["short timers", "watches the runner", "on each processor", "sleepers", "storm", "stopped"],
)
def test_run_command_that_would_look_interrupted(sandbox, command):
    result = bash(sandbox, command, timeout_s=DEADLINE_S)
    assert result.timed_out and result.wall_s < PATIENCE * DEADLINE_S


def test_run_command_is_lowered_and_its_runner_is_not(sandbox):
    niceness = bash(sandbox, "nice; cut -d ' ' -f 19 /proc/1/stat; chrt -i 0 true || echo refused")
    assert niceness.stdout.data == "19\n0\nrefused\n"


MAPS = r"""
for i in 1 2 3 4; do plan+=$i$'\x1f\x1f60000\x1f0\x1f\x1fmaps\n'; done
exec 3>/dev/null 4<&-; HELPER_KEY= HELPER_PLAN=$plan /opt/helper/helper; sleep 1000
"""
"""Four processes map one file 60,000 times, by the program of the world's processes."""


def test_run_processes_that_outlive_their_kill(sandbox):
    result = bash(sandbox, MAPS, timeout_s=20.0)
    assert result.lost and "do not end when they are killed" in result.lost


def test_canary_interrupted_stops_the_run(sandbox, monkeypatch):
    def interrupted(*_):
        raise MachineBusy("busy")

    monkeypatch.setattr(sandbox, "_stopped", None)
    monkeypatch.setattr("fluency.execution.sandbox.run_container", interrupted)
    for _ in range(2):
        with pytest.raises(StopRun, match="a command with a known result, too") as caught:
            bash(sandbox, "echo")
        monkeypatch.undo()
        monkeypatch.setattr(sandbox, "_stopped", caught.value)


def test_patience_is_the_runners():
    runners = (SANDBOX / "command.py").read_text()
    assert f"PATIENCE = 10, 0.01, {PATIENCE}\n" in runners
