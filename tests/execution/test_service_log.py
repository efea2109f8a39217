"""The pipe of the service's log: a MiB, or what the kernel leaves where its user's other pipes take up all there is."""

import subprocess
import sys

from fluency.common.paths import SANDBOX
from tests.execution.nobody import ROOT_ONLY

# A user of its own, so that nobody else's pipes are narrowed meanwhile; 64 MiB are what one user may have by default.
FILLS_ITS_SHARE = """
import fcntl, os, sys
sys.path.insert(0, sys.argv[1])
import runner

log, _ = os.pipe()
runner.widen(log)
print(fcntl.fcntl(log, fcntl.F_GETPIPE_SZ))
soft = int(open("/proc/sys/fs/pipe-user-pages-soft").read()) or sys.exit("the kernel has no such limit here")
os.setgroups([]); os.setresgid(54321, 54321, 54321); os.setresuid(54321, 54321, 54321)
narrow, _ = os.pipe()
before, refused = fcntl.fcntl(narrow, fcntl.F_GETPIPE_SZ), False
for _ in range(soft * os.sysconf("SC_PAGE_SIZE") // (1 << 20) + 2):
    pipe, _ = os.pipe()
    try:
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)
    except PermissionError:
        refused = True
runner.widen(narrow)
print(refused, fcntl.fcntl(narrow, fcntl.F_GETPIPE_SZ) == before)
"""


@ROOT_ONLY
def test_it_is_wide_and_a_refusal_leaves_it_as_it_is():
    run = [sys.executable, "-c", FILLS_ITS_SHARE, str(SANDBOX)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.stdout.split() == [str(1 << 20), "True", "True"], done.stderr
