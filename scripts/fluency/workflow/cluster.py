"""`fluency run --on slurm`: what needs containers runs on a cluster's nodes, everything else here.

First the models are asked, here, where the keys, the rate limit and the budget are; then the nodes
execute and score in slices; then the ordinary run finds every record and writes table and report.
These are three runs of Snakemake, because the one that submits jobs passes its environment on to
them and must not have a key.

A slice has many cells: a job for each cell would start Snakemake three times (about 12 s) to do 2 s
of work. A node executes its slice by a separate Snakemake from the same Snakefile, so a run on one
machine afterwards redoes nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from fluency.common.errors import SandboxError, UserError
from fluency.common.files import pretty_json, read_json, sha256, write_atomic
from fluency.common.locks import file_lock
from fluency.common.paths import CACHE, RESULTS, ROOT
from fluency.common.terminal import log_line
from fluency.common.words import plural
from fluency.core.config_files import read_yaml
from fluency.core.loaded_study import LoadedStudy
from fluency.core.study import Cell
from fluency.core.table import record_path
from fluency.execution import image
from fluency.execution.engine import find_engine
from fluency.execution.image import find_image
from fluency.execution.image_content import image_tag
from fluency.execution.powershell import powershell_source
from fluency.workflow.run_plan import Job, jobs_to_run
from fluency.workflow.snakemake_process import node_name, run_snakemake, snakemake_command

FOLDER = CACHE / "slices"
CELLS_A_PROCESSOR = 80
"""About 160 s of work for a processor, against 12 s until a slice's first container."""
PROFILES = ROOT / "profiles"
NODES_NEED = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|TZ|TERM|TMPDIR|PYTHONPATH|KUBECONFIG|TASKS_PRIVATE"
    r"|(LC|SLURM|DOCKER|CONTAINERS|POWERSHELL|XDG|SSL|LD)_.*|(?i:(https?|no)_proxy)"
)
"""The variables that a node gets: an allow list, because a secret may have any name."""
PROBES = {"slurm": "sinfo --noheader", "kubernetes": "kubectl version"}
"""Executor -> a command that fails if its cluster does not answer."""
USERS_ERROR = 2


def run_on_cluster(
    profile: str, processors: int, loaded: LoadedStudy, arguments: Sequence[str]
) -> int:
    """Measure a study with a profile's cluster; Snakemake's exit code.

    Args:
        processors: of a slice.
    """
    jobs = jobs_to_run(loaded)
    for_nodes = any(job.rule in ("image", "execute", "score", "control") for job in jobs)
    if for_nodes:
        check_cluster(profile)
    if any(job.rule == "generate" for job in jobs):
        asked = run_snakemake(snakemake_command(loaded, *arguments, "--until", "generate"))
        if asked == USERS_ERROR:
            return asked
    if for_nodes:
        share_image()
        shutil.rmtree(ROOT / "logs" / "slices", ignore_errors=True)
        slices = write_slices(cells_to_measure(loaded, jobs), processors)
        log_line(f"on the nodes: {plural(len(slices), 'slice')} of executions and scores")
        options = ["--workflow-profile", f"profiles/{profile}"]
        command = snakemake_command(loaded, *options, "--snakefile", "profiles/cluster.smk")
        if code := run_snakemake(command, node_environment(os.environ), on_nodes=True):
            log_node_failures(loaded)
            log_line("Not every cell could be measured; run again to continue.")
            return code
    return run_snakemake(snakemake_command(loaded, *arguments))


def slice_processors(profile: str) -> int:
    """The processors of a slice, by its profile; UserError without such a profile."""
    there = sorted({path.parent.name for path in PROFILES.glob("*/profile.yaml")} - {"default"})
    if profile not in there:
        hint = f"name one of {there}"
        raise UserError("there is no such cluster profile", where=f"ON={profile}", hint=hint)
    return int(_settings(profile).get("set-threads", {}).get("slice", 1))


def check_cluster(profile: str) -> None:
    """UserError if the probe of a profile's cluster fails, if there is one."""
    if not (probe := PROBES.get(_settings(profile)["executor"])):
        return
    try:
        subprocess.run(probe.split(), capture_output=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        what, hint = f"the cluster does not answer: {error}", f"try `{probe}` (docs/cluster.md)"
        raise UserError(what, where=f"ON={profile}", hint=hint) from None


def _settings(profile: str) -> Any:
    return read_yaml(PROFILES / profile / "profile.yaml")


def cells_to_measure(loaded: LoadedStudy, jobs: Sequence[Job]) -> list[Cell]:
    """The answered cells that have to be executed or scored, in the seeded order of asking.

    In that order every slice has cells of every shell, task and model: no node's speed favours one.
    """
    cells = {job.cell for job in jobs if job.rule in ("execute", "score") and job.cell}
    answered = [cell for cell in cells if record_path(RESULTS, "generations", cell).exists()]
    return sorted(answered, key=loaded.study.priority)


def share_image() -> None:
    """Make the folder in which nodes look for the image, and put this machine's there, if any."""
    image.FOLDER.mkdir(parents=True, exist_ok=True)
    tag = image_tag(powershell_source())
    try:
        engine = find_engine()
    except SandboxError:
        return  # the submitting machine needs no engine
    if engine and find_image(engine, tag):
        image.keep_image(engine, tag)


def node_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What of an environment a node needs."""
    return {name: value for name, value in environ.items() if NODES_NEED.fullmatch(name)}


def log_node_failures(loaded: LoadedStudy) -> None:
    """Log each sentence that a node left in a log, once."""
    logs = ROOT / "logs"
    whole = [logs / "image.log", logs / loaded.study.study / "control.log"]
    found = [*sorted((logs / "slices").glob("*.log")), *whole]
    for text in dict.fromkeys(filter(None, map(_failure_in, found))):
        log_line(text)


def _failure_in(log: Path) -> str:
    """The failure that a rule's action left in its log; empty without a log."""
    return log.read_text(encoding="utf-8").strip() if log.exists() else ""


# ------------------------------------------------------------ slices


def write_slices(cells: Sequence[Cell], processors: int, folder: Path = FOLDER) -> list[Path]:
    """Divide cells, in their order, into slices of about the same size; their files.

    Args:
        processors: of a node.

    Raises:
        UserError: while a node still works on a slice of an earlier run.
    """

    def refuse(holder: str) -> None:
        what = f"a node still works on a slice of an earlier run ({holder})"
        hint = "wait for it, or end its job (`squeue --me`, `scancel <job>`), then run again"
        raise UserError(what, where=str(folder), hint=hint)

    for lock in folder.glob("*.lock"):
        with file_lock(lock, refuse):
            pass
    shutil.rmtree(folder, ignore_errors=True)
    count = max(1, round(len(cells) / (CELLS_A_PROCESSOR * processors))) if cells else 0
    parts = [pretty_json([cell.path for cell in cells[number::count]]) for number in range(count)]
    slices = {folder / f"{sha256(part)[:12]}.json": part for part in parts}
    for path, part in slices.items():
        write_atomic(path, part)
    return list(slices)


def read_slice(path: Path) -> list[Cell]:
    """The cells of a slice."""
    return [Cell.parse(text) for text in read_json(path)]


def run_slice(slice_file: Path, done: Path, loaded: LoadedStudy, processors: int) -> None:
    """Execute and score what is left of a slice's cells.

    Only one process works on a slice at a time: a node that Slurm took for dead may still do it.

    Raises:
        SandboxError: says on which node, and why, a cell stays missing.
    """
    cells = read_slice(slice_file)
    node = node_name() or socket.gethostname()
    with file_lock(slice_file.with_suffix(".lock"), lambda _: None) as lock:
        lock.write(f"node {node}, process {os.getpid()}")
        lock.flush()
        code = subprocess.call(_slice_command(loaded, cells, processors), cwd=ROOT)
    missing = [cell for cell in cells if not record_path(RESULTS, "scores", cell).exists()]
    if code or missing:
        stages = product(missing, ("executions", "scores"))
        logs = (ROOT / "logs" / stage / f"{cell.path}.log" for cell, stage in stages)
        why = next(filter(None, map(_failure_in, logs)), "the node's Slurm log says why")
        what = f"{len(missing)} of a slice's {len(cells)} cells could not be measured"
        what += f": {' '.join(why.split())[:400]}"
        raise SandboxError(what, where=f"node {node}", hint="run again to continue")
    write_atomic(done, pretty_json({"node": node, "cells": len(cells)}))


def _slice_command(loaded: LoadedStudy, cells: Sequence[Cell], processors: int) -> list[str]:
    """The run of one slice; only these two rules are allowed: no node may ask a model."""
    targets = [str(record_path(Path(RESULTS.name), "scores", cell)) for cell in cells]
    options = ["--no-hooks", "--cores", str(processors), "--allowed-rules", "execute", "score"]
    return snakemake_command(loaded, *options, "--", *targets)
