"""Each benchmark runs, small, as `make bench` runs it."""

import pytest

from tests.programs import completed
from tools.bench.__main__ import ALL


@pytest.mark.engine
@pytest.mark.parametrize("name", ALL)
def test_benchmark_runs_small(name, sandbox):
    if name == "busy" and (why := sandbox.why_missing("pwsh")):
        pytest.skip(why)
    done = completed("make", "--no-print-directory", "bench", f"NAMES={name}", "SMALL=1")
    assert done.stdout.startswith(f"== {name}\n") and len(done.stdout.splitlines()) > 4, done.stdout
