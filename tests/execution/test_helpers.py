"""The helpers in the container are what the plan of a world says: threads, sessions, parents after an end, process ids."""

from types import SimpleNamespace

import pytest

from fluency.core.records import ProcessFact
from fluency.core.task_world import planned_processes
from fluency.execution.protocol import Invocation
from fluency.world import HelperSpec
from tests.execution.run_it import LIMITS
from tests.execution.worlds import SMALL

pytestmark = pytest.mark.engine

PLAN = (
    HelperSpec("gone", "vox-super", ("gone",), ends=True),
    HelperSpec("orphan", "vox-job", ("orphan", "%P"), "gone"),
    HelperSpec("main", "vox-super", ("main",), subreaper=True),
    HelperSpec("pool", "vox-pool", ("pool", "%P"), "main", rss_mb=20, threads=("io-1", "", "io-2")),
    HelperSpec("apart", "vox-job", ("apart", "%P"), "pool", own_session=True),
    HelperSpec("below", "vox-job", ("below",), "apart"),
    HelperSpec("spawn", "vox-spawn", ("spawn",), "pool", ends=True),
    HelperSpec("spawned", "vox-job", ("spawned", "%PP"), "spawn"),
    HelperSpec("ended", "vox-super", ("ended",), "main", ends=True, ids="parents-digits"),
    HelperSpec("adopted", "vox-job", ("adopted", "%P"), "ended"),
    HelperSpec("late", "vox-job", ("late",), ids="another-digit"),
)
WORLD = SimpleNamespace(**vars(SMALL) | {"processes": PLAN})
COMMAND = "ps -eLo pid=,comm= | grep vox-pool; ps -eLo pid=,comm= | grep io-; ps -eo stat= | grep -c Z; true"


def by_key(facts: list[ProcessFact]) -> dict[str, tuple]:
    """What each process is, with the keys of the plan in the place of process ids."""
    keys = {fact.pid: fact.args[0] for fact in facts} | {1: "runner"}

    def key(pid: int) -> str:
        return keys.get(pid, "ended")

    return {
        fact.args[0]: (fact.name, key(fact.ppid), key(fact.session), fact.threads, [key(int(a)) for a in fact.args[1:]])
        for fact in facts
    }


def test_helpers_are_started_as_planned(sandbox):
    result = sandbox.run(Invocation("bash", COMMAND, WORLD, LIMITS, 20, ("processes",)))
    found = by_key(result.processes)
    assert found == by_key(planned_processes(WORLD))
    assert found["orphan"] == ("vox-job", "runner", "ended", 1, ["ended"])
    assert found["adopted"][1] == found["spawned"][1] == "main" and found["spawned"][4] == ["pool"]
    assert found["apart"][2] == found["below"][2] == "apart" and found["pool"][2:4] == ("main", 4)

    facts = {fact.args[0]: fact for fact in result.processes}
    stays = [helper.key for helper in PLAN if not helper.ends]
    pids = [facts[key].pid for key in stays]
    assert pids == sorted(pids), "process ids are given out in the order of the plan"
    main, ended = str(facts["main"].pid), facts["adopted"].args[1]
    assert ended.startswith(main) and ended != main
    assert len(str(facts["late"].pid)) == len(str(facts["adopted"].pid)) + 1
    assert facts["pool"].rss_bytes > 18 << 20 > max(fact.rss_bytes for key, fact in facts.items() if key != "pool")

    *threads, zombies = result.stdout.data.split("\n")[:-1]
    pool = facts["pool"].pid
    assert [line.split() for line in threads] == [
        [str(pool), name] for name in ("vox-pool", "vox-pool", "io-1", "io-2")
    ]
    assert zombies == "0" and result.helpers_intact
