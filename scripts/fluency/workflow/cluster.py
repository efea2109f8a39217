"""`fluency run --on slurm`: what needs containers runs on a cluster's nodes, everything else in this folder.

First the models are asked, here, where the keys, the rate limit and the budget are; then the nodes execute and score in
slices; then the ordinary run finds every record and writes table and report. Three runs of Snakemake one after the
other, because the one that submits jobs hands its environment to them and must not hold a key.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from fluency.common.errors import SandboxError, UserError
from fluency.common.paths import RESULTS, ROOT
from fluency.common.terminal import log_line
from fluency.common.words import plural
from fluency.core import tasks
from fluency.core.config_files import read_yaml
from fluency.core.study import Cell
from fluency.core.table import record_path
from fluency.execution import image
from fluency.execution.engine import find_engine
from fluency.execution.image import find_image
from fluency.execution.image_content import image_tag
from fluency.execution.powershell import powershell_source
from fluency.generation.request import order_key
from fluency.workflow.ready_study import ReadyStudy
from fluency.workflow.rerun_reasons import Job, jobs_to_run
from fluency.workflow.run import Measure, here, run_to_its_end, snakemake
from fluency.workflow.slices import write_slices

PROFILES = ROOT / "profiles"
RULES = "profiles/cluster.smk"
LOGS = ("slices", "image.log", "{study}/control.log")
NODES_NEED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TERM", "TMPDIR", "PYTHONPATH", "KUBECONFIG"),
    tasks.PRIVATE_TASKS_VARIABLE,
)
NODES_NEED_OF = ("LC_", "SLURM_", "DOCKER_", "CONTAINERS_", "POWERSHELL_", "XDG_", "SSL_", "LD_")
USERS_ERROR = 2
PROXIES = ("http_proxy", "https_proxy", "no_proxy")


def on_nodes(profile: str, ready: ReadyStudy) -> Measure:
    """How a study is measured with a profile's cluster; UserError if there is no such profile."""
    return partial(_measure, profile, processors_of(profile), ready)


def _measure(profile: str, processors: int, ready: ReadyStudy, files: Sequence[str], arguments: Sequence[str]) -> int:
    jobs = jobs_to_run(snakemake(files))
    asks = any(job.rule == "generate" for job in jobs)
    if asks and here(files, [*arguments, "--until", "generate"]) == USERS_ERROR:
        return USERS_ERROR
    if any(job.rule in ("image", "execute", "score", "control") for job in jobs):
        share_image()
        shutil.rmtree(ROOT / "logs" / "slices", ignore_errors=True)
        slices = write_slices(to_measure(ready, jobs), processors)
        log_line(f"on the nodes: {plural(len(slices), 'slice')} of executions and scores")
        command = snakemake(files, "--workflow-profile", f"profiles/{profile}", "--snakefile", RULES)
        if code := run_to_its_end(command, without_keys(os.environ)):
            tell_failures(ready)
            log_line("Not every cell could be measured; run again to go on from here.")
            return code
    return here(files, arguments)


def processors_of(profile: str) -> int:
    """How many processors a slice has, by its profile; UserError if there is no such profile."""
    file = PROFILES / profile / "profile.yaml"
    if not file.is_file():
        there = sorted(path.parent.name for path in PROFILES.glob("*/profile.yaml") if path.parent.name != "default")
        raise UserError("there is no such cluster profile", where=f"ON={profile}", hint=f"name one of {there}")
    return int(read_yaml(file).get("set-threads", {}).get("slice", 1))


def to_measure(ready: ReadyStudy, jobs: Sequence[Job]) -> list[Cell]:
    """The answered cells that are to be executed or scored, in the seeded order of asking.

    In that order every slice holds of every arm, task and model, so that no node's speed tells for one of them.
    """
    cells = {job.cell for job in jobs if job.rule in ("execute", "score") and job.cell}
    answered = [cell for cell in cells if record_path(RESULTS, "generations", cell).exists()]
    return sorted(answered, key=lambda cell: order_key(ready.study, cell))


def share_image() -> None:
    """Make the folder in which nodes look for the image, and lay it there if this machine has it."""
    image.FOLDER.mkdir(parents=True, exist_ok=True)
    tag = image_tag(powershell_source())
    try:
        engine = find_engine()
    except SandboxError:
        return  # no node of the cluster either, or one that may not use its engine
    if engine and find_image(engine, tag):
        image.keep_image(engine, tag)


def without_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """What of an environment a node needs: named, because what holds a secret has any name."""
    return {
        name: value
        for name, value in environ.items()
        if name in NODES_NEED or name.startswith(NODES_NEED_OF) or name.lower() in PROXIES
    }


def tell_failures(ready: ReadyStudy) -> None:
    """Say each sentence that a node left, once."""
    found = [ROOT / "logs" / name.format(study=ready.study.study) for name in LOGS]
    logs = [log for path in found for log in (sorted(path.glob("*.log")) if path.is_dir() else [path]) if log.exists()]
    for text in dict.fromkeys(_sentence(log) for log in logs):
        log_line(text)


def _sentence(log: Path) -> str:
    """What a rule's action left in its log, without the time."""
    return log.read_text(encoding="utf-8").partition(" ")[2].strip()
