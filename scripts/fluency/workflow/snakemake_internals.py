"""Everything that touches Snakemake's private state, as it is in version 9.27.

scheduler.job_rate_limiter
    Set, it makes 400 cells whose answers take 0.25 s cost 42 s of processor time, and not 20 s.
workflow.register_resource
    Without it plain `snakemake --cores 8` limits no executions and gives no model its fair share.
workflow.local_exec, workflow.exec_mode
    Without them a run on a cluster takes the nodes' jobs for its own, and cuts them.
workflow.overwrite_configfiles
    Without it neither provenance nor messages name the override files.
.snakemake/metadata, .snakemake/incomplete, and three settings (check_options)
    Without them records of unknown origin are kept.
The text of a reason (run_plan.py)
    Without it `make plan` does not say which ingredient of a result changed.
The handler of SIGTERM
    Snakemake's own takes the scheduler's lock, so that a stopping run may hang.
Five texts of its log, and the name RuleException (progress.py)
    Without them a run's end and failures appear twice, and in Snakemake's words.

Another minor version, and an attribute that is gone (`part`), end a run with a sentence.
"""

import logging
import os
import signal
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

from snakemake.settings.enums import RerunTrigger

from fluency.common.errors import UserError
from fluency.common.files import write_atomic
from fluency.common.paths import ROOT
from fluency.core.loaded_study import LoadedStudy
from fluency.core.study import Cell, Study
from fluency.workflow.progress import ENDING
from fluency.workflow.snakemake_process import stop_signals
from snakemake_scheduler_plugin_fluency import FAIR_SHARE

MADE_FOR = "9.27"
FOLDER = ROOT / ".snakemake"
_OF_WILDCARDS = Signature([Parameter("wildcards", Parameter.POSITIONAL_OR_KEYWORD)])
GRACE_S = 3.5
"""Grace period for running jobs after a stop signal."""


def check_version() -> None:
    """UserError if the installed Snakemake has another minor version than MADE_FOR."""
    found = version("snakemake")
    _check(
        found.startswith(f"{MADE_FOR}."),
        f"Snakemake {found} is installed, and this project needs {MADE_FOR}",
    )


def part(owner: Any, name: str) -> Any:
    """A private attribute of Snakemake's; UserError if this installation does not have it."""
    _check(hasattr(owner, name), f"Snakemake's {type(owner).__name__} has no attribute {name}")
    return getattr(owner, name)


def check_options(workflow: Any) -> None:
    """UserError for options, from the command line or a user's profile, that keep stale results.

    The DAG's settings are known when the run starts, the others when the Snakefile is read.
    """
    backend = part(part(workflow, "workflow_settings"), "persistence_backend").name
    methods = part(part(workflow, "deployment_settings"), "deployment_method")
    dag, cores = part(workflow, "dag_settings"), part(workflow, "resource_settings").cores
    hint = "leave the option out; the profile in SNAKEMAKE_PROFILE may set it, too"
    for is_sound, what, option in (
        (backend == "FILE", "plan and rerun read records from files", "persistence-backend"),
        (not methods, "rules run in the environment of `make env`", "software-deployment-method"),
        (cores != 0, "a job needs at least one", "cores"),
        (
            not dag or dag.rerun_triggers == RerunTrigger.all(),
            "a rerun needs every trigger",
            "rerun-triggers",
        ),
    ):
        _check(is_sound, what, f"--{option}", hint)


def _check(
    is_sound: bool,
    what: str,
    where: str = "environment",
    hint: str = "`make env` installs the pinned version",
) -> None:
    if not is_sound:
        raise UserError(what, where=where, hint=hint)


# ------------------------------------------------------------ scheduling


def share_threads(workflow: Any, study: Study) -> None:
    """Limit the running executions, and the answers that each model is asked for.

    One execution more than containers, so that none is idle while Snakemake records an end; more
    would wait for a container on threads that could ask. More answers would wait for each other,
    and start in a random order instead of the planned one.
    """
    register = part(workflow, "register_resource")
    register("containers", study.sandbox.containers + 1)
    for model in study.models:
        register(FAIR_SHARE + model.alias, model.in_flight)


def model_resources(study: Study) -> dict[str, Callable[[Any], int | None]]:
    """The resources of the rule that asks: one of the model's own, none of the others'."""
    return {
        FAIR_SHARE + model.alias: of_wildcards(
            partial(lambda alias, job: 1 if job.model == alias else None, model.alias)
        )
        for model in study.models
    }


def of_wildcards(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function with its signature stated: Snakemake asks for it at each of 10,000s of calls."""
    function.__signature__ = _OF_WILDCARDS  # type: ignore[attr-defined]
    return function


def of_cell(function: Callable[[Cell], Any]) -> Callable[[Any], Any]:
    """A function of a cell as one of the wildcards that name it."""
    return of_wildcards(lambda wildcards: function(Cell(*wildcards)))


def unset_rate_limit(scheduler: Any) -> None:
    """Have the scheduler poll for jobs only after an event; `generate` keeps the models' limits.

    With a limit of jobs a second, which cannot be unset, each poll causes another one a second
    later: after 400 jobs the scheduler polls 400 times a second.
    """
    part(scheduler, "job_rate_limiter")
    scheduler.job_rate_limiter = None


def end_on_signals(stop_asking: Callable[[], None], give_up: Callable[[], None] | None) -> None:
    """On SIGTERM, or SIGHUP of a closed terminal, start no job and let running jobs end.

    A thread does it, woken by a pipe: the main one may be blocked or have the scheduler's lock.

    Args:
        stop_asking: called at once.
        give_up: called GRACE_S later, before the process ends; with it Ctrl-C counts too.
    """
    start_no_job = signal.getsignal(signal.SIGTERM)
    assert callable(start_no_job)
    numbers = [*stop_signals(), *([signal.SIGINT] if give_up else [])]
    came, signalled = os.pipe()

    def begin_to_end() -> None:
        # The scheduler's own sentence comes when it looks for jobs again.
        logging.getLogger("snakemake.logging").info(ENDING)
        stop_asking()
        start_no_job(signal.SIGTERM, None)

    def end() -> None:
        while os.read(came, 1)[0] not in numbers:
            pass
        # This may wait for the scheduler's lock.
        threading.Thread(target=begin_to_end, daemon=True).start()
        if give_up:
            time.sleep(GRACE_S)
            try:
                give_up()
            finally:
                os._exit(1)  # records are written atomically, so none is left incomplete

    threading.Thread(target=end, daemon=True).start()
    os.set_blocking(signalled, False)
    signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
    for number in numbers:
        signal.signal(number, lambda *_: None)


# ------------------------------------------------------------ what is recorded of a product


def mark_untracked_outputs(loaded: LoadedStudy) -> None:
    """Mark products without a record of how they were made as Snakemake marks a killed job's.

    It then makes them again. Otherwise it would keep them (results copied from elsewhere, a lost
    `.snakemake`), even if study, checks or sandbox have changed.
    """
    for name in loaded.products():
        if (ROOT / name).exists() and not _place("metadata", name).exists():
            with suppress(OSError):  # Snakemake itself reports a folder that cannot be written
                write_atomic(_place("incomplete", name), '{"external_jobid": null}')


def _place(kind: str, product: str) -> Path:
    """Where Snakemake keeps something of a file, by its name in Base64.

    It cuts names above 254 characters into folders; the longest here has 184.
    """
    return FOLDER / kind / urlsafe_b64encode(product.encode()).decode()
