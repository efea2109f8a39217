"""What the Snakefile's rules call: each rule's one action, its place in time, and its param (`rerun_keys`).

The services (sandbox, generator) exist once a process, since all jobs of a run are threads of one process.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from fluency.archive.manifest import archive_name
from fluency.archive.registration import read_registration
from fluency.common.canonical import canonical_json
from fluency.common.clock import utc_date, utc_now
from fluency.common.errors import ResultLost, SandboxError, UserError
from fluency.common.files import pretty_json, sha256, write_atomic
from fluency.common.git import git_state
from fluency.common.locks import Once
from fluency.common.paths import ANSWERS, ARCHIVES, RESULTS, ROOT
from fluency.common.terminal import log_line
from fluency.common.words import plural
from fluency.core.loaded_study import LoadedStudy
from fluency.core.records import Execution, Generation
from fluency.core.schema import read_record, write_record
from fluency.generation.estimate import CostEstimate
from fluency.workflow import progress
from fluency.workflow.preflight import check_before_run, check_models, confirm_price, estimate_of
from fluency.workflow.rerun_keys import RerunKeys, cell_of
from fluency.workflow.snakemake_internals import (
    check_version,
    end_on_sigterm_in_a_thread,
    mark_untracked_outputs,
    model_resources,
    patch_scheduler_polling,
    share_threads,
)
from fluency.workflow.snakemake_process import node_name, run_lock

if TYPE_CHECKING:
    from fluency.core.provenance import Provenance

STEP_NS = 1000
"""Apart enough for a time that is kept as a float of seconds."""


def logged(action: Callable[..., None]) -> Callable[..., None]:
    """An action that leaves its failure in the rule's one log file, and no file when all went well."""

    @wraps(action)
    def run(*arguments: Any, log: Sequence[str]) -> None:
        file = Path(log[0])
        file.unlink(missing_ok=True)
        try:
            action(*arguments)
        except UserError as error:
            write_atomic(file, f"{utc_now()} {error}\n")
            raise
        except Exception:
            write_atomic(file, f"{utc_now()} {traceback.format_exc()}")
            raise

    return run


class Pipeline:
    """One study ready to run."""

    def __init__(self, config: dict[str, Any], files: Sequence[str | Path] = (), workflow: Any = None) -> None:
        self.workflow = workflow
        self.loaded = LoadedStudy(config, files)
        self.study, self.tasks, self.task_of = self.loaded.study, self.loaded.tasks, self.loaded.task_of
        check_models(self.loaded)
        if self.study.preregistration:
            read_registration(ROOT / self.study.preregistration)
        if self.study.seeds_sealed:
            raise UserError(
                "the seeds of its worlds are committed to and not revealed: it can be registered, not run",
                where="seeds",
                hint="`make seeds REVEAL=sealed/<study>.yaml` prints what to write in their place",
            )
        self.keys = RerunKeys(self.loaded)
        self.model_resources = model_resources(self.study)
        self.sandbox = Once(self._open_sandbox)
        self.generator = Once(self._open_generator)

    @cached_property
    def estimate(self) -> CostEstimate:
        """What the run asks and costs, as its first job finds the answers."""
        return estimate_of(self.loaded)

    def record_paths(self, wildcards: Any = None) -> list[str]:
        """The record of every cell at every stage; Snakemake calls it with the wildcards of a rule, which has none.

        A function there and no list: only the process that gathers pays for the paths of a large study.
        """
        return self.loaded.record_paths()

    def start(self) -> None:
        """Before the first job: one run at a time, keys at hand, the price agreed."""
        self.take_run_lock()
        progress.spending, progress.cells = self._spending, self.loaded.cells
        try:
            check_before_run(self.loaded, self.estimate)
            confirm_price(self.estimate, self.study, is_terminal=False)
        except UserError as error:
            exit_with(error)

    def take_run_lock(self) -> None:
        """What any run does first: settle how it ends and looks for jobs; keep others out while the process lives."""
        end_on_sigterm_in_a_thread()
        patch_scheduler_polling(self.workflow)
        self._locks = ExitStack()
        try:
            self._locks.enter_context(run_lock())
        except UserError as error:
            exit_with(error)

    def _spending(self) -> tuple[float, float] | None:
        """Dollars spent and where the run stops, once a model with a price is asked."""
        generator = self.generator.made
        spent = generator.budget.spent_usd if generator else 0.0
        return (spent, self.study.budget.stop_usd) if spent else None

    def priority(self, wildcards: Any) -> int:
        """The place of a cell in the seeded order of asking, which mixes shells, tasks and trials in time."""
        from fluency.generation.request import order_key

        return order_key(self.study, cell_of(wildcards))

    # ------------------------------------------------------------ actions

    @logged
    def image(self, output: Any) -> None:
        """Build or find the image; record what it is and how long its shells take to start."""
        from fluency.execution.sandbox import startup_times
        from fluency.world import build_world

        sandbox = self.sandbox()
        start_up = startup_times(sandbox, build_world(self.study.seeds[0]), self.study.sandbox.limits)
        facts = {"image": sandbox.image.model_dump(), "engine": sandbox.engine, "start_up_s": start_up}
        write_atomic(Path(output[0]), pretty_json(facts))

    @logged
    def generate(self, wildcards: Any, output: Any) -> None:
        """Ask the model, or find its answer in the store."""
        cell = cell_of(wildcards)
        task = self.task_of[cell.task]
        write_record(Path(output[0]), self.generator().generate(cell, self.keys.request(cell).prompt, task.sha256))

    @logged
    def execute(self, wildcards: Any, input: Any, output: Any) -> None:
        """Run the answer's command in every world; after several failed attempts record the cell as unmeasured."""
        from fluency.core.task_world import world_for
        from fluency.execution.execute import (
            MAX_ATTEMPTS,
            add_failed_attempt,
            execute_cell,
            failed_attempts,
            unmeasured_cell,
        )

        bring_to_present(input)
        study, sandbox, task = self.study, self.sandbox(), self.task_of[wildcards.task]
        generation = read_record(Generation, Path(input.generation[0]))
        path = RESULTS / "attempts" / f"{cell_of(wildcards).path}.json"
        decides = [self.keys.execute(wildcards), sandbox.image.model_dump(), generation.answer.request_key]
        key = sha256(canonical_json(decides))
        failed, record = failed_attempts(path, key), None
        if len(failed) < MAX_ATTEMPTS:
            try:
                attempt = len(failed) + 1
                record = execute_cell(study, task, generation, sandbox, world_for, utc_now(), attempt)
            except ResultLost as error:
                failed = add_failed_attempt(path, key, error.what)
                if len(failed) < MAX_ATTEMPTS:
                    raise
        write_record(Path(output[0]), record or unmeasured_cell(self.study, generation, sandbox, utc_now(), failed))

    @logged
    def score(self, wildcards: Any, input: Any, output: Any) -> None:
        """Judge what happened."""
        from fluency.archive.code_hashes import code_sha256
        from fluency.core.task_world import world_for
        from fluency.scoring.score_cell import score_cell

        bring_to_present(input)
        score = score_cell(
            self.task_of[wildcards.task],
            read_record(Generation, Path(input.generation[0])),
            read_record(Execution, Path(input.execution[0])),
            world_for,
            code_sha256=code_sha256("score"),
            seeds=self.study.seeds,
            conditions=self.study.conditions,
        )
        write_record(Path(output[0]), score)

    @logged
    def control(self, input: Any, output: Any) -> None:
        """Run commands that are known to be right and wrong, but for those of private tasks: it would publish them."""
        from fluency.validation.control import run_control

        bring_to_present(input)
        shown = [task for task in self.tasks if self.study.show_private or not task.private]
        write_record(Path(output[0]), run_control(self.study, shown, self.sandbox()))

    @logged
    def slice(self, input: Any, output: Any, processors: int) -> None:
        """On a node of a cluster: see that it can measure, then execute and score a slice of cells."""
        from fluency.workflow.cluster import FOLDER, run_slice

        self.sandbox()
        run_slice(FOLDER / Path(input.cells).name, Path(output[0]), self.loaded.files[1:], processors)

    @logged
    def gather(self, input: Any, output: Any) -> None:
        """Write all cells into one table, and where they came from."""
        from fluency.core.table import write_table

        bring_to_present(input)
        write_table(Path(output.table), self.loaded.view().rows())
        write_record(Path(output.provenance), provenance_of(self.loaded))

    @logged
    def report(self, input: Any, output: Any) -> None:
        """Write the report with its figures, and the explorer."""
        from fluency.core.provenance import read_provenance
        from fluency.core.table import read_table
        from fluency.report.writer import write_products

        bring_to_present(input)
        view = self.loaded.view(read_provenance(Path(input.provenance)))
        write_products(view, read_table(Path(input.table)), Path(output.report).parent)

    def archive_path(self) -> str:
        """The archive rule's product: study, day and commit in its name; relative to the project."""
        commit, dirty = git_state()
        name = archive_name(self.study.study, utc_date(), commit or "nocommit", dirty=bool(dirty), partial=False)
        return str((ARCHIVES / name).relative_to(ROOT))

    @logged
    def archive(self) -> None:
        """Pack the decision record."""
        from fluency.archive.commands import pack_study

        pack_study(self.loaded)

    # ------------------------------------------------------------ services

    def _open_sandbox(self) -> Any:
        from fluency.execution.sandbox import open_sandbox

        try:
            return open_sandbox(self.study.sandbox)
        except SandboxError as error:
            if (node := node_name()) is None:
                raise
            raise SandboxError(error.what, where=f"node {node}: {error.where}", hint=error.hint) from None

    def _open_generator(self) -> Any:
        from fluency.generation.generator import Generator
        from fluency.generation.local_model.server import base_url
        from fluency.generation.store import AnswerStore

        spent = self.estimate.spent_usd
        generator = Generator(self.study, store=AnswerStore(ANSWERS), base_url=base_url, spent_usd=spent)
        generator.prepare_batches((cell, self.keys.request(cell).prompt) for cell in self.loaded.cells)
        return generator


def open_pipeline(config: dict[str, Any], workflow: Any) -> Pipeline:
    """The pipeline of a Snakefile's merged config; exits with code 2 and the sentence on a user's error."""
    try:
        check_version()
        pipeline = Pipeline(config, [Path(file) for file in workflow.overwrite_configfiles], workflow)
    except UserError as error:
        exit_with(error)
    share_threads(workflow, pipeline.study)
    # Not in the process of a job, whose run has decided, nor on a node: others record there what they make meanwhile.
    if workflow.exec_mode.name == "DEFAULT" and node_name() is None:
        mark_untracked_outputs(pipeline.loaded, pipeline.keys)
    return pipeline


def exit_with(error: UserError) -> NoReturn:
    """End the process as a user's error ends: one sentence, a hint, exit code 2."""
    print(f"Error: {error}", file=sys.stderr, flush=True)
    sys.exit(2)


def bring_to_present(paths: Iterable[str | Path]) -> None:
    """Give files from the future times just before now, in the same order.

    Snakemake fails a job whose product is older than its input, which a node's clock, or one set back, can bring about.
    """
    now = time.time_ns()
    ahead: list[tuple[int, str]] = []
    for path in map(str, paths):
        with suppress(OSError):
            if (written := os.stat(path).st_mtime_ns) > now:
                ahead.append((written, path))
    times = sorted({written for written, _ in ahead})
    place = {written: now - (len(times) - rank) * STEP_NS for rank, written in enumerate(times)}
    for written, path in ahead:
        with suppress(OSError):
            os.utime(path, ns=(place[written], place[written]))


def provenance_of(loaded: LoadedStudy) -> Provenance:
    """Where the study's numbers come from, with its deviations from the registration it names."""
    from fluency.archive.registration import with_registration
    from fluency.core.provenance import collect_provenance, read_startup_times

    start_up_s = read_startup_times(RESULTS)
    collected = collect_provenance(
        loaded.study, loaded.tasks, loaded.cells, loaded.files, loaded.records, start_up_s=start_up_s
    )
    return with_registration(collected, loaded.study, loaded.tasks)


def write_partial_report(loaded: LoadedStudy) -> int:
    """Write results/<study>/partial/ of an unfinished study and print the report's path; missing cells are counted."""
    from fluency.core.table import to_frame, write_table
    from fluency.report.writer import write_products

    folder = RESULTS / loaded.study.study / "partial"
    view = loaded.view(provenance_of(loaded))
    rows = view.rows()
    write_table(folder / "cells.csv", rows)
    write_products(view, to_frame(rows), folder)
    missing = sum(row.status == "missing" for row in rows)
    known = f"{len(rows) - missing} of {plural(len(rows), 'cell')}"
    log_line(f"Measured or known to be unmeasurable: {known}; missing: {missing}.")
    print(folder / "report.md")
    return 0
