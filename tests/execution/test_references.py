"""The image's self-test: a reference of each category passes in each shell it has, in both worlds."""

import pytest

from fluency.core.study import PILOT
from fluency.core.task_world import world_for
from fluency.core.tasks import CATEGORIES, load_tasks
from fluency.execution.protocol import Invocation
from fluency.scoring.verdict import judge
from tests.execution.run_it import LIMITS

pytestmark = pytest.mark.engine
SHELLS = [pytest.param("bash", id="bash"), pytest.param("pwsh", id="pwsh", marks=pytest.mark.pwsh)]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("category", CATEGORIES)
def test_a_reference_of_each_category(sandbox, category, shell):
    task = next(task for task in load_tasks(PILOT) if task.category == category)
    for seed in (11, 24):
        world = world_for(task, seed)
        for command, passes in ((task.references[shell][0], True), ("true", False)):
            result = sandbox.run(Invocation(shell, command, world, LIMITS, 30, task.needs))
            verdict = judge(task, result, task.expected(world, result.processes))
            assert verdict.passed is passes, (task.id, seed, verdict.why)
        assert result.helpers_intact and not result.tree_changed
