"""`fluency run`: the study from its price on, around one call of Snakemake."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from fluency.common.paths import ROOT
from fluency.common.terminal import log_line
from fluency.workflow.preflight import ask_price, estimate_of, image_will_lack, sandbox_lacks
from fluency.workflow.ready_study import ReadyStudy
from fluency.workflow.run_lock import hold_run_lock

Measure = Callable[[Sequence[str], Sequence[str]], int]
"""What runs Snakemake for a study's files with further arguments, and gives its exit code."""


def here(files: Sequence[str], arguments: Sequence[str]) -> int:
    """All of a study in one process on this machine."""
    return run_to_its_end(snakemake(files, *arguments))


def run(ready: ReadyStudy, files: Sequence[str], arguments: Sequence[str] = (), measure: Measure = here) -> int:
    """Run a study, opened from `files`; the exit code: 0 all measured, 1 some cells missing, 2 a user's error."""
    estimate = estimate_of(ready)
    confirmed = ask_price(ready, estimate)
    release_stale_lock()
    if estimate.calls:
        tell_unmeasurable(ready)
    code = measure(files, ["--config", f"confirm={confirmed}", *arguments])
    if code == 1 and not arguments:
        log_line("Not every cell could be measured. `make report` shows what there is; run again to go on from here.")
    return code


def tell_unmeasurable(ready: ReadyStudy) -> None:
    """Say before a model is asked which answers nobody will be able to run here."""
    for sentence in sandbox_lacks(ready) or image_will_lack(ready):
        log_line(f"Missing: {sentence}. Its answers are asked and kept all the same.")


def run_to_its_end(command: Sequence[str], environ: Mapping[str, str] | None = None) -> int:
    """The exit code of a command that ends as it sees fit, also when this process is told to end.

    Ctrl-C reaches it from the terminal, SIGTERM is passed on; KeyboardInterrupt once it has ended. A second Ctrl-C
    ends it at once.
    """
    told: list[int] = []
    running: list[subprocess.Popen[bytes]] = []

    def hear(number: int, _frame: object) -> None:
        told.append(number)
        for process in running:
            if number == signal.SIGTERM:
                process.send_signal(number)
            elif told.count(number) > 1:
                process.kill()

    # Before it starts, so that no moment is left in which Ctrl-C would end this process alone.
    before = {number: signal.signal(number, hear) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with subprocess.Popen(command, cwd=ROOT, env=environ) as process:
            running.append(process)
            if signal.SIGTERM in told:
                process.terminate()
            code = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if signal.SIGINT in told:
        raise KeyboardInterrupt
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
        log_line("A killed run left its lock; it is taken away, and what that run measured is kept.")
        subprocess.run([sys.executable, "-m", "snakemake", "--unlock"], cwd=ROOT, check=True, capture_output=True)
