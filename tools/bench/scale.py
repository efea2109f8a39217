"""How the workflow grows, compared with a Snakefile of the same jobs that only writes files.

Model and sandbox answer at once, so that the rest is Snakemake's work and ours. Both are measured
in one go: dry run, the plan, a run of every cell, a run with nothing to do. A later run asks every
cell once more as its second turn, which costs no more than the first.
"""

from __future__ import annotations

import compileall
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import yaml

from tests.generation.endpoint import Endpoint
from tests.workflow.noop import noop_project, noop_run
from tests.workflow.project import FLUENCY, Project, model

SIZES, SMALL = {400: 1, 1000: 1, 10_000: 10}, {4: 1}
"""Cells -> models."""
TURNED = (4, 400)
BASELINE = ("--snakefile", "tools/bench/baseline.smk", "--configfile", "config/cells.yaml")


class Cost(NamedTuple):
    """Seconds of the clock and of processor time, and the largest memory of one process in MB."""

    s: float
    processor_s: float
    mb: float


def main(small: bool = False) -> dict[str, object]:
    """Each command's cost, the baseline's, and the ratios of processor time and memory."""
    figures: dict[str, object] = {}
    endpoint = Endpoint(lambda prompt: "true", new_each_turn=True)
    with tempfile.TemporaryDirectory() as folder, endpoint:
        for cells, models in (SMALL if small else SIZES).items():
            aliases = [f"model-{number}" for number in range(models)]
            served = [model(endpoint.url, alias, in_flight=8) for alias in aliases]
            project = noop_project(Path(folder) / str(cells), served, cells // models)
            compileall.compile_dir(project.root / "scripts", quiet=1)  # as Snakemake is
            used: dict[str, float] = {}
            for what, (ours, trivial) in commands(project, aliases).items():
                mine, least = cost(project, ours), cost(project, trivial)
                used[what] = mine.processor_s
                figures |= {
                    f"{what} of {cells}: {name}": [*pair, round(pair[0] / pair[1], 2)]
                    for name, pair in zip(Cost._fields, zip(mine, least, strict=True), strict=True)
                }
            if cells in TURNED:
                project.configure(turns=2)
                again = cost(project, noop_run(project, "cells")).processor_s
                figures[f"second turns of {cells} / first"] = round(again / used["run"], 2)
    return figures


def commands(project: Project, aliases: list[str]) -> dict[str, tuple[list[str], list[str]]]:
    """Name -> our command and the baseline's, in an order in which the last has nothing to do."""
    study = yaml.safe_load((project.root / "config" / "test.yaml").read_text())
    trials = [str(number + 1) for number in range(study["trials"])]
    cells = {"model": aliases, "shell": ["bash", "pwsh"], "task": study["tasks"], "trial": trials}
    (project.root / "config" / "cells.yaml").write_text(yaml.safe_dump({"cells": cells}))
    ours, trivial = noop_run(project, "cells"), [*noop_run(project, "gather")[:3], *BASELINE]
    trivial += ["--workflow-profile", "profiles/default", "gather"]
    plan = [*FLUENCY, "plan", "--configfile", "config/test.yaml"]
    return {
        "dry run": ([*ours, "-n"], [*trivial, "-n"]),
        "plan": (plan, [*trivial, "-n"]),
        "run": (ours, trivial),
        "nothing to do": (ours, trivial),
    }


def cost(project: Project, command: list[str]) -> Cost:
    """Run a command to its end; of the processes that it starts the largest counts for memory."""
    # A given archive would be copied, by whichever command is the first.
    environ = project.environ(POWERSHELL_ARCHIVE="")
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, cwd=project.root, env=environ, stdout=output, stderr=output
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        assert process.returncode == 0, output.read().decode()
    processor_s = round(used.ru_utime + used.ru_stime, 1)
    return Cost(round(time.monotonic() - began, 1), processor_s, used.ru_maxrss >> 10)
