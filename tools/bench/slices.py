"""What start-up takes of a slice's work: two nodes of a real Slurm, slices as long as the profile makes them.

A slice begins when Slurm starts its job; its first record ends the start-up, which therefore includes one execution.
Every answer works half a processor second before the task's reference and is run in Bash alone, as in
`tools.bench.designed`.
"""

from __future__ import annotations

import subprocess
import tempfile
from datetime import datetime
from pathlib import Path

from fluency.common.paths import ROOT
from fluency.core.study import PILOT
from fluency.core.table import record_path
from fluency.core.tasks import load_tasks
from fluency.workflow.cluster import CELLS_A_PROCESSOR, read_slice
from tests.generation.endpoint import Endpoint
from tests.workflow import slurm
from tests.workflow.project import Project, model, reference_answer
from tools.bench.designed import WORK

AT_MOST = 0.1


def main(small: bool = False) -> dict[str, object]:
    """Seconds of start-up and of work of each slice, and the larger share of the two."""
    if why := slurm.why_not():
        raise SystemExit(why)
    subprocess.run(["make", "-s", ".venv/.cluster"], cwd=ROOT, check=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        Endpoint(lambda prompt: WORK + reference_answer(prompt)) as endpoint,
    ):
        (nodes := Path(folder) / "slurm").mkdir()
        cluster = slurm.Cluster(nodes)
        project = Project.make(Path(folder) / "project", models=[model(endpoint.url, in_flight=8)])
        trials = len(slurm.NODES) * CELLS_A_PROCESSOR // len(load_tasks(PILOT))
        project.configure(tasks=PILOT, shells=["bash"], trials=trials)
        project.edit("profiles/slurm/profile.yaml", "slice: 8", "slice: 1")
        try:
            cluster.start()
            subprocess.run(
                slurm.RUN, cwd=project.root, env=project.environ(**cluster.environ), check=True
            )
            jobs = cluster.asked("scontrol", "show", "job", "-o").splitlines()
        finally:
            cluster.stop()
        found: dict[str, object] = {}
        shares = []
        for number, path in enumerate(
            sorted((project.root / ".cache" / "slices").glob("*.json")), 1
        ):
            job = next(
                dict(part.partition("=")[::2] for part in line.split())
                for line in jobs
                if path.stem in line
            )
            began, ended = (
                datetime.fromisoformat(job[name]).timestamp() for name in ("StartTime", "EndTime")
            )
            records = [
                record_path(project.root / "results", "executions", cell)
                for cell in read_slice(path)
            ]
            first = min(record.stat().st_mtime for record in records)
            shares.append((first - began) / (ended - first))
            found[f"slice {number} of {len(records)} cells: start-up, work, s"] = (
                f"{first - began:.1f}, {ended - first:.1f}"
            )
    return found | {f"start-up / work (at most {AT_MOST})": round(max(shares), 3)}
