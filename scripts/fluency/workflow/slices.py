"""Slices: the executions and scores of many cells as one job on a node of a cluster.

A job of a cell's own would pay for three starts of Snakemake (about 12 s) to do 2 s of work. So a slice is worked off
on its node by one Snakemake of its own, with threads, from the same Snakefile: the same rules write the same files,
decide the same about reruns and remember the same, and a run on one machine afterwards finds nothing to redo.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from fluency.common.clock import utc_now
from fluency.common.errors import SandboxError, UserError
from fluency.common.files import pretty_json, read_json, sha256, write_atomic
from fluency.common.locks import file_lock
from fluency.common.paths import CACHE, RESULTS, ROOT
from fluency.core.study import Cell
from fluency.core.table import record_path

FOLDER = CACHE / "slices"
CELLS_A_PROCESSOR = 80
"""About 160 s of work for each processor of a node, against the 12 s until a slice's first container."""


def node_name() -> str | None:
    """The node of a cluster that this process is a job on; None on a machine of one's own."""
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return socket.gethostname()
    return os.environ.get("SLURMD_NODENAME")


def write_slices(cells: Sequence[Cell], processors: int, folder: Path = FOLDER) -> list[Path]:
    """Lay cells into slices for nodes of so many processors, all about as long; their files, in the order of the cells.

    UserError while a slice of an earlier run is still being worked off.
    """
    for lock in sorted(folder.glob("*.lock")):
        with file_lock(lock, partial(_refuse, lock)):
            pass
    shutil.rmtree(folder, ignore_errors=True)
    count = max(1, round(len(cells) / (CELLS_A_PROCESSOR * processors))) if cells else 0
    slices = []
    for number in range(count):
        part = pretty_json([cell.path for cell in cells[number::count]])
        path = folder / f"{sha256(part)[:12]}.json"
        write_atomic(path, part)
        slices.append(path)
    return slices


def read_slice(path: Path) -> list[Cell]:
    """The cells of a slice."""
    return [Cell.parse(text) for text in read_json(path)]


def work_off(slice_file: Path, done: Path, configs: Sequence[Path], processors: int) -> None:
    """Execute and score what is to do of a slice's cells; SandboxError says on which node and why one stays missing.

    Only one process works on a slice at a time: a node that Slurm took for dead may still be at it.
    """
    cells, began = read_slice(slice_file), time.monotonic()
    node = node_name() or socket.gethostname()
    with file_lock(slice_file.with_suffix(".lock"), lambda _: None) as lock:
        lock.write(f"node {node}, process {os.getpid()}")
        lock.flush()
        code = subprocess.run(_snakemake(cells, configs, processors), cwd=ROOT, check=False).returncode
    missing = [cell for cell in cells if not record_path(RESULTS, "scores", cell).exists()]
    if code or missing:
        raise SandboxError(
            f"{len(missing)} of a slice's {len(cells)} cells could not be measured: {_why(missing)}",
            where=f"node {node}",
            hint="run again to go on from here",
        )
    took = round(time.monotonic() - began, 1)
    write_atomic(done, pretty_json({"node": node, "cells": len(cells), "seconds": took, "utc": utc_now()}))


def _snakemake(cells: Sequence[Cell], configs: Sequence[Path], processors: int) -> list[str]:
    """The run of one slice: no rule but the two is there, so that no model can be asked from a node."""
    targets = [str(record_path(Path(RESULTS.name), "scores", cell)) for cell in cells]
    configfiles = ["--configfile", *map(str, configs)] if configs else []
    options = ["--nolock", "--no-hooks", "--cores", str(processors), "--allowed-rules", "execute", "score"]
    return [sys.executable, "-m", "snakemake", *configfiles, *options, "--", *targets]


def _why(missing: Sequence[Cell]) -> str:
    """What the first of the missing cells left in its log."""
    for cell in missing:
        for stage in ("executions", "scores"):
            log = ROOT / "logs" / stage / f"{cell.path}.log"
            if log.exists():
                return " ".join(log.read_text(encoding="utf-8").split()[1:])[:400]
    return "the node's Slurm log says why"


def _refuse(lock: Path, holder: str) -> None:
    raise UserError(
        f"a slice of an earlier run is still being worked off ({holder})",
        where=str(lock),
        hint="wait for it, or end its job (`squeue --me`, `scancel <job>`), then run again",
    )
