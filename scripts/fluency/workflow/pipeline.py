"""What the Snakefile's rules call: one action a rule, its priority, and its params (`rerun_keys`).

The services (sandbox, generator) exist once, since all jobs of a run are threads of one process.
What is slow to import is imported by the action that needs it.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial, wraps
from pathlib import Path
from typing import Any

from fluency.common.canonical import canonical_sha256
from fluency.common.clock import utc_now
from fluency.common.errors import ResultLost, RunEnded, UserError
from fluency.common.files import JsonObject, pretty_json, write_atomic
from fluency.common.locks import Once
from fluency.common.paths import ANSWERS, RESULTS
from fluency.common.terminal import log_line
from fluency.common.words import plural
from fluency.core.code_hashes import code_sha256
from fluency.core.loaded_study import LoadedStudy
from fluency.core.provenance import (
    Provenance,
    ProvenanceCollector,
    of_checkout,
    read_provenance,
    read_startup_times,
)
from fluency.core.records import Execution, Generation
from fluency.core.schema import read_record, write_record
from fluency.core.study import Cell
from fluency.core.table import (
    CellRecords,
    Row,
    cell_row,
    fixed_products,
    read_table,
    write_table,
)
from fluency.core.task_world import world_for
from fluency.execution.execute import (
    MAX_ATTEMPTS,
    add_failed_attempt,
    execute_cell,
    failed_attempts,
    why_ended,
)
from fluency.generation.conversation import request_after, shown_of
from fluency.generation.cost_estimate import CostEstimate
from fluency.generation.generator import CONTEXT_FULL, ContextFull, Generator, not_asked
from fluency.generation.store import AnswerStore
from fluency.registration import with_registration
from fluency.scoring.score_cell import score_cell
from fluency.workflow import progress, snakemake_internals
from fluency.workflow.preflight import (
    check_before_run,
    check_models,
    check_writable,
    confirm_price,
    estimate_of,
)
from fluency.workflow.rerun_keys import RerunKeys
from fluency.workflow.snakemake_process import hold_run_lock, node_name
from fluency.world import build_world

CLOCK_STEP_S = 0.01
"""Seconds that a file's time may be behind the clock."""
NEW_OBJECTS = 50_000
"""Between two searches for garbage, not 700: 10,000s of jobs or rows stay until the end, and
searching them takes a tenth of a dry run's time."""


def logged(action: Callable[..., None]) -> Callable[..., None]:
    """A rule's action that reports its failure and leaves it in the rule's log.

    A success leaves no log.
    """

    @wraps(action)
    def run(self: Pipeline, wildcards: Any, input: Any, output: Any, log: Sequence[str]) -> None:
        file = Path(log[0])
        file.unlink(missing_ok=True)
        try:
            bring_to_present(input)
            action(self, wildcards, input, output)
        except Exception as error:
            progress.log_failure(error, file)
            raise

    return run


@contextmanager
def exit_on_user_error() -> Iterator[None]:
    """End the process with exit code 2 and the sentence if the block raises a UserError."""
    try:
        yield
    except UserError as error:
        print(f"Error: {error}", file=sys.stderr, flush=True)
        sys.exit(2)


class Pipeline:
    """One study ready to run."""

    def __init__(self, config: JsonObject, files: Sequence[str | Path], workflow: Any) -> None:
        self.workflow = workflow
        self.loaded = LoadedStudy(config, files)
        self.study, self.tasks = self.loaded.study, self.loaded.tasks
        check_models(self.loaded)
        self.keys = RerunKeys(self.loaded)
        self.sandbox = Once(self._open_sandbox)
        self.generator = Once(self._open_generator)

    @cached_property
    def estimate(self) -> CostEstimate:
        """What the run asks and costs, as its first job finds the answers."""
        return estimate_of(self.loaded)

    @exit_on_user_error()
    def start(self) -> None:
        """Before the first job: one run at a time, the keys are set, the price is agreed to."""
        self.take_run_lock()
        targets = snakemake_internals.part(self.workflow, "dag_settings").targets
        if "report" in targets and not all(map(os.path.exists, self.loaded.record_paths())):
            shows = f"`{self.loaded.command('report')}` shows what there is"
            hint = f"{shows}; Snakemake without a target finishes it"
            raise UserError("the study is unfinished", where=self.study.study, hint=hint)
        check_before_run(self.loaded, self.estimate)
        confirm_price(self.estimate)

    @exit_on_user_error()
    def take_run_lock(self) -> None:
        """Keep other runs out while the process lives; set how this one ends and polls for jobs."""
        snakemake_internals.check_options(self.workflow)
        give_up = None
        if snakemake_internals.part(self.workflow, "local_exec"):  # jobs are threads of this run
            snakemake_internals.unset_rate_limit(self.workflow.scheduler)
            if node_name() is None:  # nodes end what they have begun
                give_up = self._give_up
        snakemake_internals.end_on_signals(self._stop_asking, give_up)
        hold_run_lock()

    def _stop_asking(self) -> None:
        if generator := self.generator.made:
            generator.stop(RunEnded("the run was ended by a signal", hint="run again to continue"))

    def _give_up(self) -> None:
        """Kill the containers and say what the calls that are cut may have cost."""
        if (generator := self.generator.made) and (cut := generator.budget.under_way_usd):
            spent = generator.budget.spent_usd + cut
            log_line(
                "Calls were cut; each counted as the most that it can cost, "
                f"${spent:.2f} are spent."
            )
        if sandbox := self.sandbox.made:
            sandbox.end()

    def spending(self) -> str:
        """The dollars spent and where the run stops; empty before a model with a price is asked."""
        generator = self.generator.made
        spent = generator.budget.spent_usd if generator else 0.0
        return f"${spent:.2f} of ${self.study.budget.stop_usd:g}" if spent else ""

    # ------------------------------------------------------------ actions

    @logged
    def image(self, wildcards: Any, input: Any, output: Any) -> None:
        from fluency.execution.sandbox import startup_times

        sandbox, shell = self.sandbox(), wildcards.shell
        world, limits = build_world(self.study.seeds[0]), self.study.sandbox.limits
        facts = {
            "image": sandbox.images[shell].model_dump(),
            "engine": sandbox.engine,
            "start_up_s": startup_times(sandbox, shell, world, limits),
        }
        write_atomic(Path(output[0]), pretty_json(facts))

    @logged
    def generate(self, wildcards: Any, input: Any, output: Any) -> None:
        """Ask; a later turn says what the command before did, unless its cell has ended."""
        cell = Cell(*wildcards)
        task, request = self.loaded.task_of[cell.task], self.keys.requests[cell]
        before: Any = None
        if cell.turn > 1:
            before = read_record(Generation, input.generation)
            execution = read_record(Execution, input.execution)
            if why := why_ended(before, execution):
                write_record(Path(output[0]), not_asked(before, cell, why))
                return
            request = request_after(before.answer, request, shown_of(execution), cell.shell)
        try:
            record = self.generator().generate(cell, request, task.sha256)
        except ContextFull as error:  # of a later turn
            log_line(str(error))
            record = not_asked(before, cell, CONTEXT_FULL)
        write_record(Path(output[0]), record)

    @logged
    def execute(self, wildcards: Any, input: Any, output: Any) -> None:
        """Run the answer's command in every world; after several failed attempts say so instead."""
        cell, study, sandbox = Cell(*wildcards), self.study, self.sandbox()
        task = self.loaded.task_of[cell.task]
        generation = read_record(Generation, input.generation[0])
        attempts = RESULTS / "attempts" / f"{cell.path}.json"
        image = sandbox.images[cell.shell].model_dump()
        request_key = generation.answer.request_key
        tags = self.keys.tags("execute", cell.shell, cell.task)
        key = canonical_sha256([tags, image, request_key])
        before = read_record(Execution, input.before) if cell.turn > 1 else None
        execute = partial(
            execute_cell, study, task, generation, sandbox, world_for, utc_now(), before=before
        )
        try:
            record = execute(failed=failed_attempts(attempts, key))
        except ResultLost as error:
            failed = add_failed_attempt(attempts, key, error.what)
            if len(failed) < MAX_ATTEMPTS:
                raise
            record = execute(failed=failed)  # which runs nothing and says why
        write_record(Path(output[0]), record)

    @logged
    def score(self, wildcards: Any, input: Any, output: Any) -> None:
        score = score_cell(
            self.study,
            self.loaded.task_of[wildcards.task],
            read_record(Generation, input.generation[0]),
            read_record(Execution, input.execution[0]),
            world_for,
            code_sha256("score"),
        )
        write_record(Path(output[0]), score)

    @logged
    def control(self, wildcards: Any, input: Any, output: Any) -> None:
        """Run commands known to be right and wrong."""
        from fluency.validation.control import run_control

        write_record(Path(output[0]), run_control(self.study, self.tasks, self.sandbox()))

    @logged
    def check_node(self, wildcards: Any, input: Any, output: Any) -> None:
        """Open the sandbox, so that a node without engine or image fails at once."""
        self.sandbox()

    @logged
    def gather(self, wildcards: Any, input: Any, output: Any) -> None:
        rows, provenance = gathered(self.loaded)
        write_table(Path(output.table), rows)
        write_record(Path(output.provenance), provenance)

    @logged
    def report(self, wildcards: Any, input: Any, output: Any) -> None:
        from fluency.report.report import write_products

        view = self.loaded.view(read_provenance(Path(input.provenance)))
        folder, pages = Path(output.report).parent, Path(output.pages)
        write_products(view, read_table(Path(input.table)), folder)
        pages.mkdir(exist_ok=True)
        for page in (output.page, output.explorer):
            (pages / Path(page).name).symlink_to(Path("..") / Path(page).name)

    # ------------------------------------------------------------ services

    def _open_sandbox(self) -> Any:
        from fluency.execution.sandbox import open_sandbox

        return open_sandbox(self.study.sandbox, self.study.shells)

    def _open_generator(self) -> Generator:
        store, spent = AnswerStore(ANSWERS), self.estimate.spent_usd
        generator = Generator(self.study, store=store, spent_usd=spent)
        atexit.register(generator.close)  # Snakemake has no hook for its end
        return generator


@exit_on_user_error()
def open_pipeline(config: JsonObject, workflow: Any) -> Pipeline:
    """The pipeline of a Snakefile's merged config."""
    gc.set_threshold(NEW_OBJECTS)
    snakemake_internals.check_version()
    snakemake_internals.check_options(workflow)
    check_writable()
    files = snakemake_internals.part(workflow, "overwrite_configfiles")
    pipeline = Pipeline(config, [Path(file) for file in files], workflow)
    snakemake_internals.share_threads(workflow, pipeline.study)
    # Not in a job's own process, nor on a node: others record there what they make in that time.
    if snakemake_internals.part(workflow, "exec_mode").name == "DEFAULT" and node_name() is None:
        progress.log_study(pipeline.study.study, pipeline.loaded.cells, pipeline.spending)
        snakemake_internals.mark_untracked_outputs(pipeline.loaded)
    return pipeline


def bring_to_present(paths: Iterable[str | Path]) -> None:
    """Give files from the future one time just before now.

    Snakemake fails a job whose product is older than its input, by a clock that was set back.
    """
    now = time.time()
    for path in paths:
        if os.path.getmtime(path) > now:
            os.utime(path, (now - CLOCK_STEP_S, now - CLOCK_STEP_S))


def gathered(
    loaded: LoadedStudy, show: Callable[[Cell, CellRecords], None] = lambda *_: None
) -> tuple[list[Row], Provenance]:
    """The cells table, and where its numbers come from, with deviations from the registration.

    Each record is read once: of 10,000 cells that takes longer than the analysis.

    Args:
        show: called with each cell, in the order of the design.
    """
    collector, rows = ProvenanceCollector(loaded.study), []
    for cell in loaded.cells:
        records = loaded.records(cell)
        collector.add(records)
        rows.append(cell_row(cell, loaded.task_of[cell.task], records))
        show(cell, records)
    start_up_s = read_startup_times(RESULTS, loaded.study.shells)
    found = collector.provenance(loaded.tasks, start_up_s, **of_checkout(loaded.files))
    return rows, with_registration(found, loaded.study, loaded.tasks)


def write_report_so_far(loaded: LoadedStudy) -> int:
    """Write a study's pages, of an unfinished one into results/<study>/partial/, and print one."""
    from fluency.report.explorer import detail_of
    from fluency.report.report import write_products
    from fluency.report.sentences import printed

    gc.set_threshold(NEW_OBJECTS)
    folder, details = RESULTS / loaded.study.study, list[str]()
    detail = detail_of(loaded.view())

    def show(cell: Cell, records: CellRecords) -> None:
        if cell.turn == 1:
            details.append(detail(cell, records))

    rows, provenance = gathered(loaded, show)
    view, missing = loaded.view(provenance), sum(row.status == "missing" for row in rows)
    if missing or not all((folder / name).exists() for name in fixed_products(loaded.study)):
        folder /= "partial"
    frame = write_table(folder / "cells.csv", rows)
    analysis = write_products(view, frame, folder, details)
    log_line(f"Study {loaded.study.study}: {missing} of {plural(len(rows), 'cell')} missing.")
    print(printed(analysis, view, folder))
    return 0
