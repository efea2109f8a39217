"""Archive and verify 2,000 cells: seconds and peak memory, and verifying against bare judging."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from fluency.archive.verify import verify_archive
from fluency.common.paths import ROOT
from fluency.core.code_hashes import code_sha256
from fluency.core.study import PILOT
from fluency.core.table import load_records
from fluency.core.task_world import world_for
from fluency.core.tasks import load_tasks
from fluency.scoring.score_cell import score_cell
from tests.archive.factory import Made, archived, make, make_study

MODELS, TRIALS, PAIRS = 10, 5, 5


def main(small: bool = False) -> dict[str, object]:
    """Each step runs in its own process; its seconds include imports. Ratios are of pairs."""
    models, trials = (1, 1) if small else (MODELS, TRIALS)
    with tempfile.TemporaryDirectory(prefix="fluency-bench-") as folder:
        made = make(Path(folder), make_study(PILOT, trials=trials, models=models))
        steps = dict[str, list[dict[str, float]]]()
        for step in ("archive", *("verify", "bare judging") * (1 if small else PAIRS)):
            command = [sys.executable, "-m", __name__, step, folder, str(models), str(trials)]
            done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
            steps.setdefault(step, []).append(json.loads(done.stdout.splitlines()[-1]))
    figures: dict[str, object] = {"cells": len(made.cells)}
    for step, measured in steps.items():
        for unit in measured[0]:
            figures[f"{step}, {unit}"] = median(each[unit] for each in measured)
    pairs = zip(steps["verify"], steps["bare judging"], strict=True)
    ratios = [round(verified["cpu s"] / judged["cpu s"], 2) for verified, judged in pairs]
    return figures | {"verify / bare judging": median(ratios), "of each pair": ratios}


def _verify(made: Made) -> None:
    report = verify_archive(next((made.root / "out").glob("*.zst")))
    if report.exit_code:
        raise SystemExit("\n".join(report.lines()))


def _judge(made: Made) -> None:
    """Read and judge every cell's records once, and nothing else."""
    tasks = {task.id: task for task in made.tasks}
    for cell in made.cells:
        generation, execution, _ = load_records(made.results, cell)
        assert generation is not None and execution is not None
        task, code = tasks[cell.task], code_sha256("score")
        score_cell(made.study, task, generation, execution, world_for, code)


STEPS: dict[str, Callable[[Made], object]] = {
    "archive": lambda made: archived(made, made.root / "out"),
    "verify": _verify,
    "bare judging": _judge,
}

if __name__ == "__main__":
    began, used = time.monotonic(), time.process_time()
    study = make_study(PILOT, models=int(sys.argv[3]), trials=int(sys.argv[4]))
    STEPS[sys.argv[1]](Made(Path(sys.argv[2]), study, load_tasks(PILOT)))
    # Not getrusage: its peak is inherited from the process that started this one.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    seconds = {"s": time.monotonic() - began, "cpu s": time.process_time() - used}
    print(json.dumps({"MB": round(peak)} | {name: round(s, 2) for name, s in seconds.items()}))
