"""Archive and verify 2,000 cells: seconds, peak memory, and how they compare with bare packing and judging."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

MODELS, TRIALS = 10, 5
SMALL = (1, 1)
LIMIT_S, LIMIT_MB = 20, 500


def main(small: bool = False) -> dict[str, object]:
    """Seconds and peak resident megabytes of each step, each in its own process, imports included."""
    from fluency.core.study import PILOT
    from tests.archive.factory import make, make_study

    with tempfile.TemporaryDirectory(prefix="fluency-bench-") as folder:
        root = Path(folder)
        models, trials = SMALL if small else (MODELS, TRIALS)
        started = time.monotonic()
        made = make(root, make_study(PILOT, trials=trials, models=models))
        figures: dict[str, object] = {
            "cells": len(made.cells),
            "making the study, s": round(time.monotonic() - started, 1),
        }
        steps = {step: _child(step, root, models, trials) for step in STEPS}
    for step, measured in steps.items():
        figures |= {f"{step}, {unit}": value for unit, value in measured.items()}
    figures["archive / bare pack"] = round(steps["archive"]["s"] / steps["bare pack"]["s"], 2)
    figures["verify / bare judging"] = round(steps["verify"]["s"] / steps["bare judging"]["s"], 2)
    figures[f"within {LIMIT_S} s and {LIMIT_MB} MB"] = all(
        steps[step]["s"] <= LIMIT_S and steps[step]["MB"] <= LIMIT_MB
        for step in ("archive", "verify")
    )
    return figures


def _child(step: str, root: Path, models: int, trials: int) -> dict[str, float]:
    """Run a step in a fresh process, so that its memory is its own."""
    command = [
        sys.executable,
        "-m",
        "tools.bench.archive",
        step,
        str(root),
        str(models),
        str(trials),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    return json.loads(done.stdout.splitlines()[-1])


def _made(root: Path, models: int, trials: int):
    from fluency.core.study import PILOT
    from fluency.core.tasks import load_tasks
    from tests.archive.factory import Made, make_study

    return Made(root, make_study(PILOT, trials=trials, models=models), load_tasks(PILOT))


def _archive(root: Path, models: int, trials: int) -> dict[str, float]:
    from tests.archive.factory import archived

    path = archived(_made(root, models, trials), root / "out")
    return {"packed MB": round(path.stat().st_size / 1e6, 1)}


def _verify(root: Path, models: int, trials: int) -> dict[str, float]:
    from fluency.archive.verify import verify_archive

    report = verify_archive(next((root / "out").glob("*.zst")))
    if report.exit_code:
        raise SystemExit("\n".join(report.lines()))
    return {"links": report.checked["links"]}


def _bare_pack(root: Path, models: int, trials: int) -> dict[str, float]:
    """The same folders by the system's tar, compressed at the same level in one thread."""
    import zstandard

    from fluency.archive.tar_format import LEVEL

    tar = subprocess.Popen(
        ["tar", "-cf", "-", "-C", str(root), "results", "answers"], stdout=subprocess.PIPE
    )
    assert tar.stdout is not None
    with (root / "bare").open("wb") as out:
        zstandard.ZstdCompressor(level=LEVEL).copy_stream(tar.stdout, out)
    return {"packed MB": round((root / "bare").stat().st_size / 1e6, 1)}


def _bare_judging(root: Path, models: int, trials: int) -> dict[str, float]:
    """Every cell's records read and judged once, and nothing else."""
    from fluency.archive.code_hashes import code_sha256
    from fluency.core.table import load_records
    from fluency.core.task_world import world_for
    from fluency.scoring.score_cell import score_cell

    made = _made(root, models, trials)
    tasks = {task.id: task for task in made.tasks}
    for cell in made.cells:
        generation, execution, _ = load_records(made.results, cell)
        assert generation is not None and execution is not None
        score_cell(
            tasks[cell.task], generation, execution, world_for, code_sha256=code_sha256("score")
        )
    return {}


STEPS: dict[str, Callable[[Path, int, int], dict[str, float]]] = {
    "archive": _archive,
    "verify": _verify,
    "bare pack": _bare_pack,
    "bare judging": _bare_judging,
}

if __name__ == "__main__":
    begun = time.monotonic()
    more = STEPS[sys.argv[1]](Path(sys.argv[2]), *map(int, sys.argv[3:]))
    # Not getrusage: its peak is inherited from the process that started this one.
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak = int(status["VmHWM"].split()[0]) / 1024
    times = {"s": round(time.monotonic() - begun, 2), "cpu s": round(time.process_time(), 2)}
    print(json.dumps({**times, "MB": round(peak), **more}))
