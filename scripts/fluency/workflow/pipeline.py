"""What the Snakefile's rules call: each rule's one action, its place in time, and its param (`rerun_keys`).

The services (sandbox, generator) exist once a process, since all jobs of a run are threads of one process.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fluency.archive.registration_file import read_registration
from fluency.common.clock import utc_now
from fluency.common.errors import UserError
from fluency.common.files import pretty_json, read_json, write_atomic
from fluency.common.once import Once
from fluency.common.paths import ANSWERS, CONFIG, RESULTS, ROOT
from fluency.common.terminal import say
from fluency.core.cells import Cell
from fluency.core.gather import STAGES, CellRecords, load_records, record_path
from fluency.core.records import Execution, Generation, read_record, write_record
from fluency.core.study import Study, naming, validate_study
from fluency.core.tasks import Task, load_tasks
from fluency.generation.prompt import build_prompt
from fluency.workflow.logged import logged
from fluency.workflow.rerun_keys import RerunKeys, cell_of


class Pipeline:
    """One study made ready to run."""

    def __init__(self, config: dict[str, Any], files: Sequence[str | Path] = ()) -> None:
        self.files = [CONFIG, *map(Path, files)]
        self.study: Study = validate_study(config, self.files)
        check_models(self.study, self.files)
        self.tasks: list[Task] = load_tasks(self.study.tasks)
        if self.study.preregistration:
            read_registration(ROOT / self.study.preregistration)
        self._task = {task.id: task for task in self.tasks}
        self.cells = list(self.study.cells(list(self._task)))
        self.key = RerunKeys(self.study, self.tasks, self.files, self.prompt)
        self.sandbox = Once(self._open_sandbox)
        self.generator = Once(self._open_generator)

    def record_paths(self) -> list[str]:
        """The record of every cell at every stage, as the rules name them."""
        return [str(record_path(Path(RESULTS.name), stage, cell)) for stage in STAGES for cell in self.cells]

    def priority(self, wildcards: Any) -> int:
        """The place of a cell in the seeded order of asking, which mixes shells, tasks and trials in time."""
        from fluency.generation.request import order_key

        return order_key(self.study, cell_of(wildcards))

    # ------------------------------------------------------------ actions

    def prompt(self, cell: Cell) -> str:
        """What the model is sent."""
        return build_prompt(self._task[cell.task].prompt, cell.shell)

    @logged
    def image(self, output: Any) -> None:
        """Build or find the image; record what it is and how long its shells take to start."""
        from fluency.execution.startup import start_up_times
        from fluency.world import build_world

        sandbox = self.sandbox()
        start_up = start_up_times(sandbox, build_world(self.study.seeds[0]), self.study.sandbox.limits)
        facts = {"image": sandbox.image.model_dump(), "engine": sandbox.engine, "start_up_s": start_up}
        write_atomic(Path(output[0]), pretty_json(facts))

    @logged
    def generate(self, wildcards: Any, output: Any) -> None:
        """Ask the model, or find its answer in the store."""
        cell = cell_of(wildcards)
        task = self._task[cell.task]
        write_record(Path(output[0]), self.generator().generate(cell, self.prompt(cell), task.sha256))

    @logged
    def execute(self, wildcards: Any, input: Any, output: Any) -> None:
        """Run the answer's command in every world."""
        from fluency.core.task_world import world_for
        from fluency.execution.execute import execute_cell

        record = read_record(Generation, Path(input.generation[0]))
        task = self._task[wildcards.task]
        write_record(Path(output[0]), execute_cell(self.study, task, record, self.sandbox(), world_for, utc_now()))

    @logged
    def score(self, wildcards: Any, input: Any, output: Any) -> None:
        """Judge what happened."""
        from fluency.core.task_world import world_for
        from fluency.scoring.score_cell import score_cell

        score = score_cell(
            self._task[wildcards.task],
            read_record(Generation, Path(input.generation[0])),
            read_record(Execution, Path(input.execution[0])),
            world_for,
            seeds=self.study.seeds,
            conditions=self.study.conditions,
        )
        write_record(Path(output[0]), score)

    @logged
    def gather(self, output: Any) -> None:
        """Lay all cells into one table, and say where they came from."""
        from fluency.core.gather import gather_rows
        from fluency.core.provenance import collect_provenance
        from fluency.core.table import write_table

        rows = gather_rows(self.cells, self.tasks, self.load)
        write_table(Path(output.table), rows)
        write_atomic(Path(output.provenance), pretty_json(collect_provenance(self, rows, RESULTS)))

    @logged
    def report(self, input: Any, output: Any) -> None:
        """Write the report with its figures, and the page on which every cell can be doubted."""
        from fluency.core.table import read_table
        from fluency.report import write_report
        from fluency.report.explorer import write_explorer

        frame = read_table(Path(input.table))
        write_explorer(Path(output.explorer), frame, self.study, self.tasks, self.load)
        write_report(Path(output.report), frame, self.study, self.tasks, read_json(input.provenance))

    def load(self, cell: Cell) -> CellRecords:
        """The records there are of a cell."""
        return load_records(RESULTS, cell)

    def archive_path(self) -> str:
        """Where the archive of this study, of today and of this commit stands."""
        from fluency.workflow.record_keeping import archive_path

        return archive_path(self)

    @logged
    def archive(self) -> None:
        """Pack the decision record."""
        from fluency.workflow.record_keeping import pack

        pack(self)

    # ------------------------------------------------------------ services

    def _open_sandbox(self) -> Any:
        from fluency.execution.sandbox.sandbox import open_sandbox

        return open_sandbox(self.study.sandbox, say=say)

    def _open_generator(self) -> Any:
        from fluency.generation.cost_estimate import plan
        from fluency.generation.generate import Generator
        from fluency.generation.local_model.server import base_url
        from fluency.generation.store import AnswerStore

        store = AnswerStore(ANSWERS)
        spent = plan(self.study, self.tasks, store, environ={}).spent_usd
        generator = Generator(self.study, store=store, base_url=base_url, say=say, spent_usd=spent)
        generator.prepare_batches((cell, self.prompt(cell)) for cell in self.cells)
        return generator


def check_models(study: Study, files: Sequence[Path]) -> None:
    """Every model can be asked as the config stands; UserError names the file, so that nothing starts in vain."""
    from fluency.generation.local_model.catalogue import find_weights
    from fluency.generation.policies import resolve

    try:
        for model in study.models:
            resolve(model)
            if model.served_by == "embedded":
                find_weights(model.id)
    except UserError as error:
        raise UserError(error.what, where=f"{naming('models', files)}: {error.where}", hint=error.hint) from None
