"""`fluency run --on slurm`: what needs containers runs on a cluster's nodes, everything else here.

First the models are asked, here, where the keys, the rate limit and the budget are; then the nodes
execute and score in slices; then the ordinary run finds every record and writes table and report.
These are three runs of Snakemake, because the one that submits jobs passes its environment on to
them and must not have a key.

A slice has many cells, which a separate Snakemake on the node measures. Snakemake's own groups
start it twice for each cell: on a Slurm of two nodes 8 of 40 cells took them as long (158 s) as
all 40 took slices. They also remove every record of a group in which one cell failed.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from fluency.common.errors import SandboxError, UserError
from fluency.common.files import write_atomic
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
from fluency.workflow.run_plan import jobs_to_run
from fluency.workflow.snakemake_process import run_snakemake, snakemake_command

FOLDER = CACHE / "slices"
EXECUTORS = Path(sys.prefix) / "cluster"
"""Where envs/cluster.lock is installed; Snakemake finds it only in the runs that need it."""
CELLS_A_PROCESSOR = 80
"""About 160 s of work for a processor, against 12 s until a slice's first container."""
NODES_NEED = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|TZ|TERM|TMPDIR|PYTHONPATH|KUBECONFIG|(TASKS|SHELLS)_PRIVATE"
    r"|(LC|SLURM|DOCKER|CONTAINERS|POWERSHELL|NUSHELL|XDG|SSL|LD)_.*|(?i:(https?|no)_proxy)"
)
"""The variables that a node gets: an allow list, because a secret may have any name."""


def slice_processors(profile: str) -> int:
    """The processors of a slice, by its profile; UserError without such a profile."""
    return int(read_yaml(ROOT / "profiles" / profile / "profile.yaml")["set-threads"]["slice"])


def run_on_cluster(profile: str, loaded: LoadedStudy, arguments: Sequence[str]) -> int:
    """Measure a study with a profile's cluster; Snakemake's exit code."""
    shutil.rmtree(ROOT / "logs" / loaded.study.study, ignore_errors=True)
    for turn in range(1, loaded.study.turns + 1):
        # Asked as the whole study, a later turn would execute a lost one before it here.
        upto = [f"turns={turn}"] if loaded.study.turns > 1 else []
        if code := _measure_turn(profile, loaded, [*arguments[:1], *upto, *arguments[1:]]):
            return code
    return run_snakemake(snakemake_command(loaded, *arguments))


def _measure_turn(profile: str, loaded: LoadedStudy, arguments: Sequence[str]) -> int:
    """Ask here, and execute and score on the nodes; an exit code.

    Args:
        arguments: `--config` and its values, among them the last turn, and what else is passed on.
    """
    logs = ROOT / "logs" / loaded.study.study
    values = [value for value in arguments[1:] if value.startswith("turns=")]
    jobs = list(jobs_to_run(loaded, *(["--config", *values] if values else [])))
    rules = {job.rule for job in jobs}
    if "generate" in rules:
        asked = run_snakemake(snakemake_command(loaded, *arguments, "--until", "generate"))
        if asked == 2:  # a user's error
            return asked
    if rules - {"generate", "gather", "report"}:
        share_images(loaded.study.shells)
        cells = {job.cell for job in jobs if job.cell}
        answered = [c for c in cells if record_path(RESULTS, "generations", c).exists()]
        # In the seeded order of asking every slice mixes shells, tasks and models, so that no
        # node's speed favours one.
        answered.sort(key=loaded.study.priority)
        slices = plural(write_slices(answered, slice_processors(profile)), "slice")
        log_line(f"on the nodes: {slices} of executions and scores")
        options = ["--workflow-profile", f"profiles/{profile}"]
        command = snakemake_command(loaded, *options, "--snakefile", "profiles/cluster.smk")
        if code := run_snakemake(command, node_environment(os.environ) | executors_path()):
            # A failure leaves a log, and a success none.
            found = sorted(logs.rglob("*.log"))
            for text in dict.fromkeys(log.read_text(encoding="utf-8") for log in found):
                log_line(text.strip())
            return code
    return 0


def write_slices(cells: Sequence[Cell], processors: int) -> int:
    """Divide cells, in their order, into slices of about the same size; the number of slices.

    A slice is a file with the names of its scores.

    Args:
        processors: of a node.

    Raises:
        UserError: while a node still works on a slice of an earlier run.
    """

    def refuse(_holder: str) -> None:
        hint = "wait for it, or end its job (`squeue --me`, `scancel <job>`), then run again"
        raise UserError("a node still works on a slice of an earlier run", where=FOLDER, hint=hint)

    for lock in FOLDER.glob("*.lock"):
        with file_lock(lock, refuse):
            pass
    shutil.rmtree(FOLDER, ignore_errors=True)
    count = min(len(cells), max(1, round(len(cells) / (CELLS_A_PROCESSOR * processors))))
    for number in range(count):
        scores = (record_path(Path(RESULTS.name), "scores", c) for c in cells[number::count])
        write_atomic(FOLDER / f"{number}.txt", "\n".join(map(str, scores)))
    return count


def share_images(shells: Iterable[str]) -> None:
    """Make the folder in which nodes look for images, and put this machine's there."""
    image.FOLDER.mkdir(parents=True, exist_ok=True)
    with suppress(SandboxError):  # the submitting machine needs no engine
        for shell in shells:
            if (engine := find_engine()) and image.find_image(engine, shell):
                image.keep_image(engine, shell)


def executors_path() -> dict[str, str]:
    """The variable by which a run of Snakemake, and its jobs on the nodes, find the executors."""
    paths = [str(EXECUTORS), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def node_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What of an environment a node needs."""
    return {name: value for name, value in environ.items() if NODES_NEED.fullmatch(name)}
