"""A storm of clones does not move the deadline."""

import subprocess
import sys

from fluency.common.paths import SANDBOX

STORM = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
import command

os.wait4 = lambda *_: (99, 0, None)
began = time.monotonic()
ran = command.run([b"/bin/true"], {}, "/", 1.0, 100)
print(ran["timed_out"], time.monotonic() - began < 3)
"""


def test_run_deadline_with_endless_children():
    done = subprocess.run(
        [sys.executable, "-c", STORM, str(SANDBOX)], capture_output=True, text=True, timeout=20
    )
    assert done.stdout == "True True\n", done
