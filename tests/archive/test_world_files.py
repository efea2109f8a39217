"""A world comes back from its files as it was, whatever its processes say."""

import pytest

from fluency.archive.world_files import load_world, world_entries
from fluency.core.task_world import world_for
from fluency.core.tasks import load_tasks


@pytest.mark.parametrize("task", ["strayed-jobs", "busy-threads", "descendants-with-depth", "worker-queues"])
def test_the_processes_of_a_world_come_back_from_its_files(task, tmp_path):
    (task,) = load_tasks([task])
    world = world_for(task, 11)
    for entry in world_entries([task], [11], world_for):
        path = tmp_path / entry.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(entry.source)
    assert load_world(tmp_path, f"worlds/11-{world.sha256[:16]}") == world
