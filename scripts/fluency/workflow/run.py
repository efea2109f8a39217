"""`fluency run`: a study from its price to its first page, around Snakemake."""

import sys
from collections.abc import Sequence

from fluency.analysis.study_analysis import analyse
from fluency.common.errors import UserError
from fluency.common.paths import RESULTS
from fluency.common.terminal import log_line, print_lines
from fluency.core.loaded_study import LoadedStudy
from fluency.core.provenance import read_provenance
from fluency.core.table import read_table
from fluency.report.sentences import printed
from fluency.workflow import preflight
from fluency.workflow.cluster import run_on_cluster, slice_processors
from fluency.workflow.doctor import missing_engine
from fluency.workflow.run_plan import render_plan
from fluency.workflow.snakemake_process import run_snakemake, snakemake_command


def run_study(loaded: LoadedStudy, arguments: Sequence[str] = (), on: str = "") -> int:
    """Run a study and print its first page when every cell is measured.

    Args:
        on: the cluster's profile.

    Returns:
        The exit code: 0 all measured, 1 some cells missing, 2 a user's error.
    """
    if on:
        slice_processors(on)  # before anything is asked
    preflight.check_writable()
    preflight.check_models(loaded)
    estimate = preflight.estimate_of(loaded)
    preflight.check_before_run(loaded, estimate)
    ask_only = "generate" in arguments  # after `--until`
    if estimate.calls and not on and not ask_only and (lacking := missing_engine()):
        files = "".join(f"--configfile {file} " for file in loaded.files[1:])
        ask = f"`fluency run {files}-- --until generate`"
        hint = f"to ask the models anyway: `make shell`, then {ask}"
        raise UserError(f"missing: {lacking[0]}", where="before any model is asked", hint=hint)
    if estimate.most_usd > 0:
        log_line(render_plan(estimate))
    if not preflight.confirm_price(estimate, input if sys.stdin.isatty() else None):
        log_line("No model was asked, and nothing was paid.")
        return 1
    if estimate.calls:
        for sentence in preflight.missing_shells(loaded):
            log_line(f"Missing: {sentence}. The model is still asked and its answers are kept.")
    options = ["--config", "confirm=yes", *arguments]
    command = snakemake_command(loaded, *options)
    code = run_on_cluster(on, loaded, options) if on else run_snakemake(command)
    folder = RESULTS / loaded.study.study
    table = folder / "cells.csv"
    if code == 0 and not ask_only and table.exists():
        view = loaded.view(read_provenance(folder / "provenance.json"))
        print(printed(analyse(read_table(table), loaded.study, loaded.tasks), view, folder))
        if missing := preflight.missing_shells(loaded):
            print_lines(f"Missing: {sentence}." for sentence in missing)
            print("`make doctor` says why. A finished study with both shells: `make example`.")
    elif code == 1 and not arguments:
        shows = f"`{loaded.command('report')}` shows what there is"
        log_line(f"Not complete. {shows}; run again to continue.")
    return code
