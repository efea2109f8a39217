"""A study made ready: its configuration read and checked, its tasks loaded, its cells laid out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fluency.archive.registration import read_registration
from fluency.common.errors import UserError
from fluency.common.paths import CONFIG, RESULTS, ROOT
from fluency.core.config_files import file_defining
from fluency.core.held_out import public_tasks
from fluency.core.records import CONTROL_FILE
from fluency.core.study import Cell, Study, read_study
from fluency.core.table import PRODUCTS, RECORD_TYPES, CellRecords, load_records, record_path
from fluency.core.tasks import Task, load_tasks
from fluency.generation.local_model.catalogue import find_weights
from fluency.generation.policies import resolve
from fluency.generation.request import build_prompt


class ReadyStudy:
    """A validated study with its tasks and cells; `files` are the configurations it was read from.

    `config` holds the values as Snakemake merged them; None: they are read from the files.

    `public_tasks` are the tasks as table, report and explorer may know them: private ones without their texts.
    """

    def __init__(self, config: dict[str, Any] | None, files: Sequence[str | Path] = ()) -> None:
        self.files = [CONFIG, *map(Path, files)]
        self.study: Study = read_study(*files, merged=config)
        check_models(self.study, self.files)
        self.tasks: list[Task] = load_tasks(self.study.tasks)
        if self.study.preregistration:
            read_registration(ROOT / self.study.preregistration)
        self.shown_tasks = public_tasks(self.tasks, self.study)
        self.task_of = {task.id: task for task in self.tasks}
        self.cells = list(self.study.cells(list(self.task_of)))

    def record_paths(self, wildcards: Any = None) -> list[str]:
        """The record of every cell at every stage, as the rules name them; `wildcards` are Snakemake's, and none.

        A function there and no list: only the process that gathers pays for the paths of a large study.
        """
        return [str(record_path(Path(RESULTS.name), stage, cell)) for stage in RECORD_TYPES for cell in self.cells]

    def products(self) -> list[str]:
        """Every file that the study's rules make, the archive left out, as the rules name them."""
        folder = Path(RESULTS.name) / self.study.study
        last = [*PRODUCTS, *([CONTROL_FILE] if self.study.control else [])]
        return [*self.record_paths(), f"{RESULTS.name}/image.json", *(str(folder / name) for name in last)]

    def prompt(self, cell: Cell) -> str:
        """What the model is sent."""
        return build_prompt(self.task_of[cell.task].prompt, cell.shell)

    def load(self, cell: Cell) -> CellRecords:
        """The records there are of a cell."""
        return load_records(RESULTS, cell)


def open_study(files: Sequence[str]) -> ReadyStudy:
    """The study of config.yaml with the override files laid over it."""
    return ReadyStudy(None, files)


def check_models(study: Study, files: Sequence[Path]) -> None:
    """Every model can be asked as the config stands; UserError names the file, so that nothing starts in vain."""
    try:
        for model in study.models:
            resolve(model)
            if model.served_by == "embedded":
                find_weights(model.id)
    except UserError as error:
        raise UserError(error.what, where=f"{file_defining('models', files)}: {error.where}", hint=error.hint) from None
