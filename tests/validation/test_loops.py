"""A task's natural loop that ends in a test, `[ … ] && echo`, ends with status 0 in every world.

Its last test decides its status, so the element visited last must belong to the answer. Loops in
the order of the file system (`find`, `grep -r`) are not tested.
"""

import io
import os
import subprocess
import tarfile
import time

import pytest

from fluency.core.config_files import read_yaml
from fluency.core.study import Limits
from fluency.core.task_world import world_for
from fluency.core.tasks import load_tasks
from fluency.execution.protocol import Invocation
from fluency.scoring.judgement import judge
from tests.scoring.recordings import DATA, result

LOOPS = read_yaml(DATA / "loops.yaml")
TASKS = {task.id: task for task in load_tasks(list(LOOPS))}
SEEDS = [int(seed) for seed in os.environ.get("LOOP_SEEDS", "11 24").split()]
"""`LOOP_SEEDS="$(seq 1 40)"` tries more worlds than the suite does."""


def _on_the_host(task, world, command, folder):
    """The command with the same files and ages, without a container: the task needs no more."""
    with tarfile.open(fileobj=io.BytesIO(world.tar)) as tree:
        tree.extractall(folder)
    now = time.time()
    for path, age in world.ages.items():
        os.utime(folder / path, (now - age, now - age))
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True)
    return result(done.stdout, done.returncode, done.stderr.decode())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [name for name in LOOPS if not TASKS[name].needs])
def test_loop_over_files_or_lines_ends_with_status_0(name, seed, tmp_path):
    task, world = TASKS[name], world_for(TASKS[name], seed)
    verdict = judge(task, _on_the_host(task, world, LOOPS[name], tmp_path), task.expected(world))
    assert verdict.passed, verdict.why


@pytest.mark.engine
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [name for name in LOOPS if TASKS[name].needs])
def test_loop_over_replies_or_processes_ends_with_status_0(name, seed, sandbox):
    task, world = TASKS[name], world_for(TASKS[name], seed)
    found = sandbox.run(Invocation("bash", LOOPS[name], world, Limits(), 30, task.needs))
    verdict = judge(task, found, task.expected(world, found.processes))
    assert verdict.passed, verdict.why
