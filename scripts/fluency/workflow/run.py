"""`fluency run`: the study from its price on, around one call of Snakemake."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from fluency.common.paths import ROOT
from fluency.common.terminal import say
from fluency.workflow.preflight import ask_price
from fluency.workflow.ready_study import open_study
from fluency.workflow.run_lock import hold_run_lock


def run(files: Sequence[str], arguments: Sequence[str] = ()) -> int:
    """Run a study; returns the exit code: 0 all measured, 1 some cells missing, 2 a user's error."""
    confirmed = ask_price(open_study(files))
    release_stale_lock()
    command = snakemake(files, "--config", f"confirm={confirmed}") + list(arguments)
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code == 1 and not arguments:
        say("Not every cell could be measured. `make report` shows what there is; run again to go on from here.")
    return code


def snakemake(files: Sequence[str], *arguments: str) -> list[str]:
    """The command line of Snakemake for a study."""
    configfiles = ["--configfile", *files] if files else []
    return [sys.executable, "-m", "snakemake", *configfiles, *arguments]


def release_stale_lock() -> None:
    """Take away Snakemake's lock when the run that held it is dead; a live run keeps its own lock on top."""
    locks = ROOT / ".snakemake" / "locks"
    if not locks.is_dir() or not any(locks.iterdir()):
        return
    with hold_run_lock():
        say("A killed run left its lock; it is taken away, and what that run measured is kept.")
        subprocess.run([sys.executable, "-m", "snakemake", "--unlock"], cwd=ROOT, check=True, capture_output=True)
