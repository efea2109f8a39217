"""Reaping the dead is bounded, so that no storm of them moves the deadline."""

import subprocess
import sys

from fluency.common.paths import SANDBOX

DEAD = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
import processes

processes.MOST_REAPED = 10
for _ in range(25):
    if os.fork() == 0:
        os._exit(0)
time.sleep(0.5)
print(*[len(processes.reaped()) for _ in range(4)])
"""


def test_reaped_returns_after_a_bounded_number():
    """A storm of clones makes children faster than an unbounded loop reaps them."""
    done = subprocess.run(
        [sys.executable, "-c", DEAD, str(SANDBOX)], capture_output=True, text=True
    )
    assert done.stdout == "10 10 5 0\n", done
