"""Programs that tests start."""

import subprocess

from fluency.common.paths import ROOT


def completed(*command, code=0, cwd=ROOT, **how):
    """A program that was run to its end; its exit code must be `code` unless that is None."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, **how)
    assert code in (None, done.returncode), f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done
