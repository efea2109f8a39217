"""How the workflow grows: fresh and no-op runs of 400 and 4,000 cells, and their memory.

Model and sandbox answer at once, so that the rest is Snakemake's work and ours.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

from tests.generation.endpoint import Endpoint
from tests.workflow.noop import noop_project, noop_run
from tests.workflow.project import Project, model

SIZES, SMALL = (400, 4000), (4,)


def main(small: bool = False) -> dict[str, object]:
    """Wall seconds, processor seconds and MB of each run, and the processor time a job adds."""
    sizes = SMALL if small else SIZES
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder, Endpoint(lambda prompt: "true") as endpoint:
        for size in sizes:
            models = [model(endpoint.url, in_flight=8)]
            project = noop_project(Path(folder) / str(size), models, size)
            fresh, again = cost(project, "all"), cost(project, "all", nothing_to_do=True)
            figures |= {f"fresh run of {size}, {unit}": value for unit, value in fresh.items()}
            figures |= {f"no-op of {size}, {unit}": value for unit, value in again.items()}
            job_ms = (fresh["processor s"] - again["processor s"]) / (3 * size) * 1000
            figures[f"overhead a job of {size}, processor ms"] = round(job_ms, 1)
    return figures


def cost(project: Project, target: str, *, nothing_to_do: bool = False) -> dict[str, float]:
    """Run to a target; `nothing_to_do` is checked against what Snakemake says."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        command = noop_run(project, target)
        process = subprocess.Popen(command, cwd=project.root, env=project.environ(), stderr=output)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        words = output.read().decode()
    assert process.returncode == 0, words
    assert ("Nothing to do" in words or "Nothing to be done" in words) == nothing_to_do, words
    return {
        "s": round(time.monotonic() - began, 1),
        "processor s": round(used.ru_utime + used.ru_stime, 1),
        "MB": round(used.ru_maxrss / 1024),
    }
