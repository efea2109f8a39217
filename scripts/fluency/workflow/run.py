"""`fluency run`: the study from its price to its headline, around one call of Snakemake."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from fluency.common.paths import RESULTS, ROOT
from fluency.common.terminal import say
from fluency.core.study import merge, read_yaml
from fluency.core.table import read_table
from fluency.workflow.front import LOCK, hold_run_lock
from fluency.workflow.pipeline import Pipeline
from fluency.workflow.preflight import ask_price


def open_study(files: Sequence[str]) -> Pipeline:
    """The pipeline of config.yaml with the override files laid over it."""
    config = read_yaml(ROOT / "config.yaml")
    for file in files:
        config = merge(config, read_yaml(Path(file)))
    return Pipeline(config, files)


def run(files: Sequence[str], arguments: Sequence[str] = ()) -> int:
    """Run a study; returns the exit code: 0 all measured, 1 some cells missing, 2 a user's error."""
    pipeline = open_study(files)
    confirmed = ask_price(pipeline)
    release_stale_lock()
    command = snakemake(files, "--config", f"confirm={confirmed}") + list(arguments)
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code == 0:
        say_headline(pipeline)
    elif code == 1 and not arguments:
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
    with hold_run_lock(LOCK):
        say("A killed run left its lock; it is taken away, and what that run measured is kept.")
        subprocess.run([sys.executable, "-m", "snakemake", "--unlock"], cwd=ROOT, check=True, capture_output=True)


def say_headline(pipeline: Pipeline) -> None:
    """End with where the report is and what it says, on standard output."""
    from fluency.analysis import analyse, headline

    folder = RESULTS / pipeline.study.study
    frame = read_table(folder / "cells.csv")
    print()
    print(headline(analyse(frame, pipeline.study, pipeline.tasks)))
    print(f"Report:   {folder / 'report.md'}")
    print(f"Explorer: {folder / 'explorer.html'}")
