"""How the workflow grows: fresh and no-op runs of 400 and 4,000 cells, and a no-op of 40,000, with their memory.

Model and sandbox answer at once, so that what is left is Snakemake's work and ours. The 40,000 cells are the 4,000 ten
times over: their files and Snakemake's notes on them are copied for nine more aliases of the same model, and the run
that follows must find nothing to do.
"""

from __future__ import annotations

import base64
import os
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from fluency.common.paths import ROOT
from fluency.core.tasks import load_tasks
from tests.generation.endpoint import Endpoint
from tests.workflow.project import Project, model

SIZES, SMALL, FOLD = (400, 4000), (4,), 10
JOBS_PER_CELL = 3
STAGES = ("generations", "executions", "scores")


class Cost(NamedTuple):
    """Of one run: wall and processor seconds, and the most memory in MB."""

    wall_s: float
    processor_s: float
    memory_mb: float


def main(small: bool = False) -> dict[str, object]:
    """Costs by size; the overhead a job is what a fresh run takes beyond its no-op.

    Aims: 15 ms a job, a no-op of 400 in 6 s and of 4,000 in 60 s.
    """
    sizes = SMALL if small else SIZES
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder, Endpoint(lambda prompt: "true") as endpoint:
        for size in sizes:
            project = noop_project(Path(folder) / str(size), [entry(endpoint.url, 0)], size)
            fresh, again = cost(project, "all"), cost(project, "all", nothing_to_do=True)
            figures |= as_figures(f"fresh run of {size}", fresh) | as_figures(
                f"no-op of {size}", again
            )
            milliseconds = (fresh.processor_s - again.processor_s) / (JOBS_PER_CELL * size) * 1000
            figures[f"overhead a job of {size}, processor ms"] = round(milliseconds, 1)
        project.configure(models=[entry(endpoint.url, number) for number in range(FOLD)])
        for number in range(1, FOLD):
            copy_cells(project.root, "m0", f"m{number}")
        figures |= as_figures(
            f"no-op of {FOLD * sizes[-1]}, cells alone", cost(project, "cells", nothing_to_do=True)
        )
    return figures


def entry(url: str, number: int) -> dict[str, object]:
    """One alias of the one model."""
    return model(url, f"m{number}", id="fake", in_flight=8)


def cost(project: Project, target: str, *, nothing_to_do: bool = False) -> Cost:
    """What a run to the target took; `nothing_to_do` is checked against what Snakemake says."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            noop_run(project, target), cwd=project.root, env=project.environ(), stderr=output
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        words = output.read().decode()
    assert process.returncode == 0, words
    assert ("Nothing to do" in words or "Nothing to be done" in words) == nothing_to_do, words
    return Cost(time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def copy_cells(root: Path, known: str, alias: str) -> None:
    """Another alias's cells, as if they had been run: the files, and Snakemake's notes, which name them in base64."""
    for stage in STAGES:
        shutil.copytree(root / "results" / stage / known, root / "results" / stage / alias)
    notes = root / ".snakemake" / "metadata"
    for note in list(notes.iterdir()):
        name = base64.b64decode(note.name).decode()
        if f"/{known}/" in name:
            copied = name.replace(f"/{known}/", f"/{alias}/")
            text = note.read_text(encoding="utf-8").replace(f"/{known}/", f"/{alias}/")
            (notes / base64.b64encode(copied.encode()).decode()).write_text(text, encoding="utf-8")


def as_figures(name: str, found: Cost) -> dict[str, object]:
    """A cost as figures."""
    return {
        f"{name}, s": round(found.wall_s, 1),
        f"{name}, processor s": round(found.processor_s, 1),
        f"{name}, MB": round(found.memory_mb),
    }


def noop_project(root: Path, models: list[dict[str, object]], cells: int) -> Project:
    """A project of so many cells of each model, of tasks that start no processes, since nothing is started."""
    project = Project.make(root, models=models)
    static = [task.id for task in load_tasks() if not task.needs]
    tasks = static[: min(10, cells // 2)] if cells <= 2000 else static[:20]
    project.configure(tasks=tasks, trials=max(1, cells // (2 * len(tasks))))
    for part in ("tools", "tests"):
        (project.root / part).symlink_to(ROOT / part)
    return project


def noop_run(project: Project, target: str) -> list[str]:
    """The command line of a run with the sandbox that runs nothing."""
    return project.command(
        "--snakefile", "tools/bench/noop.smk", "--workflow-profile", "profiles/default", target
    )


def processor_s() -> float:
    """Processor seconds of the runs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
