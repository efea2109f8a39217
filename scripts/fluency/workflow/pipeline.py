"""What the Snakefile's rules call: each rule's one action, its place in time, and its param (`rerun_keys`).

The services (sandbox, generator) exist once a process, since all jobs of a run are threads of one process.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fluency.archive.manifest import archive_name
from fluency.common.canonical import canonical_json
from fluency.common.clock import utc_date, utc_now
from fluency.common.errors import ResultLost, SandboxError, UserError
from fluency.common.files import pretty_json, sha256, write_atomic
from fluency.common.git import git_state
from fluency.common.locks import Once
from fluency.common.paths import ANSWERS, ARCHIVES, RESULTS, ROOT
from fluency.core.records import Execution, Generation
from fluency.core.schema import read_record, write_record
from fluency.workflow.file_times import bring_to_present
from fluency.workflow.logged import logged
from fluency.workflow.ready_study import ReadyStudy
from fluency.workflow.rerun_keys import RerunKeys, cell_of


class Pipeline(ReadyStudy):
    """One study made ready to run."""

    def __init__(self, config: dict[str, Any], files: Sequence[str | Path] = ()) -> None:
        super().__init__(config, files)
        if self.study.seeds_sealed:
            raise UserError(
                "the seeds of its worlds are committed to and not revealed: it can be registered, not run",
                where="seeds",
                hint="`make seeds REVEAL=sealed/<study>.yaml` says what to write in their place",
            )
        self.key = RerunKeys(self.study, self.tasks, self.files, self.prompt)
        self.sandbox = Once(self._open_sandbox)
        self.generator = Once(self._open_generator)

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
        write_record(Path(output[0]), self.generator().generate(cell, self.prompt(cell), task.sha256))

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
        decides = [self.key.execute(wildcards), sandbox.image.model_dump(), generation.answer.request_key]
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
        write_record(Path(output[0]), record or unmeasured_cell(study, generation, sandbox, utc_now(), failed))

    @logged
    def score(self, wildcards: Any, input: Any, output: Any) -> None:
        """Judge what happened."""
        from fluency.core.task_world import world_for
        from fluency.scoring.score_cell import score_cell

        bring_to_present(input)
        score = score_cell(
            self.task_of[wildcards.task],
            read_record(Generation, Path(input.generation[0])),
            read_record(Execution, Path(input.execution[0])),
            world_for,
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
        from fluency.workflow.slices import FOLDER, work_off

        self.sandbox()
        work_off(FOLDER / Path(input.cells).name, Path(output[0]), self.files[1:], processors)

    @logged
    def gather(self, input: Any, output: Any) -> None:
        """Lay all cells into one table, and say where they came from."""
        from fluency.core.table import gather_rows, write_table
        from fluency.workflow.study_provenance import provenance_of

        bring_to_present(input)
        rows = gather_rows(self.cells, self.shown_tasks, self.load)
        write_table(Path(output.table), rows)
        write_record(Path(output.provenance), provenance_of(self))

    @logged
    def report(self, input: Any, output: Any) -> None:
        """Write the report with its figures, and the page on which every cell can be doubted."""
        from fluency.core.provenance import read_provenance
        from fluency.core.records import read_control
        from fluency.core.table import read_table
        from fluency.report.explorer import write_explorer
        from fluency.report.writer import write_report

        bring_to_present(input)
        frame = read_table(Path(input.table))
        write_explorer(Path(output.explorer), frame, self.study, self.shown_tasks, self.load)
        provenance, control = read_provenance(Path(input.provenance)), None
        if self.study.control:
            control = read_control(Path(input.table).parent)
        write_report(Path(output.report), frame, self.study, self.shown_tasks, provenance, control)

    def archive_path(self) -> str:
        """The archive rule's product: study, day and commit in its name; relative to the project."""
        commit, dirty = git_state()
        name = archive_name(self.study.study, utc_date(), commit or "nocommit", dirty=bool(dirty), partial=False)
        return str((ARCHIVES / name).relative_to(ROOT))

    @logged
    def archive(self) -> None:
        """Pack the decision record."""
        from fluency.workflow.packing import pack

        pack(self)

    # ------------------------------------------------------------ services

    def _open_sandbox(self) -> Any:
        from fluency.execution.sandbox import open_sandbox
        from fluency.workflow.slices import node_name

        try:
            return open_sandbox(self.study.sandbox)
        except SandboxError as error:
            if (node := node_name()) is None:
                raise
            raise SandboxError(error.what, where=f"node {node}: {error.where}", hint=error.hint) from None

    def _open_generator(self) -> Any:
        from fluency.generation.cost_estimate import estimate_cost
        from fluency.generation.generate import Generator
        from fluency.generation.local_model.server import base_url
        from fluency.generation.store import AnswerStore

        store = AnswerStore(ANSWERS)
        spent = estimate_cost(self.study, self.tasks, store, environ={}).spent_usd
        generator = Generator(self.study, store=store, base_url=base_url, spent_usd=spent)
        generator.prepare_batches((cell, self.prompt(cell)) for cell in self.cells)
        return generator
