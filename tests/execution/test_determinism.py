"""The same command in the same world gives the same document, apart from times and ids, under full load."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from fluency.common.canonical import canonical_json
from fluency.core.records import Result
from tests.execution.run_it import bash

pytestmark = pytest.mark.engine

TIMES = 60
COMMAND = (
    "find . -type f -printf '%P %s\\n' | sort; ps -eo user=,comm= --sort=user,comm; curl -sL http://127.0.0.1:8765/dl/latest"
    " | sha256sum; printf '\\377'; echo note >&2; cat /nowhere; (exit 5)"
)


def lasting(result: Result) -> str:
    """The document without what may differ: times, process ids, memory."""
    document = result.model_dump(exclude={"wall_s", "used"})
    document["processes"] = sorted([p["name"], p["args"]] for p in document["processes"])
    return canonical_json(document | {"oom_killed": result.used.oom_killed, "written": result.used.written_bytes})


def test_sixty_times_the_same(sandbox):
    with ThreadPoolExecutor(sandbox.parallel) as pool:
        documents = list(pool.map(lambda _: lasting(bash(sandbox, COMMAND, "processes", "http")), range(TIMES)))
    assert len(set(documents)) == 1, sorted(set(documents), key=documents.count)[:2]
    assert '"exit_code":5' in documents[0] and "vox-worker" in documents[0]
