"""A study loaded from its configuration, with its tasks and cells."""

import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fluency.common.paths import CONFIG, RESULTS
from fluency.core.provenance import Provenance
from fluency.core.records import read_control
from fluency.core.study import Cell, read_study
from fluency.core.study_view import StudyView
from fluency.core.table import RECORD_TYPES, cell_record, fixed_products, image_path, load_records
from fluency.core.tasks import load_tasks

_FOLDER = Path(RESULTS.name)
"""Where the rules name records."""


class LoadedStudy:
    """A validated study with its tasks and cells, and the configuration files it was read from.

    config: the values as Snakemake merged them; None: they are read from the files.
    """

    def __init__(self, config: dict[str, Any] | None, files: Sequence[str | Path]) -> None:
        self.files = [CONFIG, *map(Path, files)]
        self.study = read_study(*files, merged=config)
        self.tasks = load_tasks(self.study.tasks)
        self.task_of = {task.id: task for task in self.tasks}
        self.cells = list(self.study.cells(list(self.task_of)))
        self.records = partial(load_records, RESULTS)

    def command(self, target: str) -> str:
        """A target of make for this study, as a hint prints it."""
        files = " ".join(map(str, self.files[1:]))
        return f"make {target} CONFIG={shlex.quote(files)}" if files else f"make {target}"

    def view(self, provenance: Provenance | None = None) -> StudyView:
        """The study in results/."""
        return StudyView(
            self.study,
            self.tasks,
            self.cells,
            self.records,
            provenance=provenance or Provenance(),
            control=read_control(RESULTS / self.study.study) if self.study.control else None,
        )

    def before(self, cell: Cell) -> dict[str, str]:
        """The records that a later turn follows, as the rules name them; none for the first."""
        stages = {"generation": "generations", "execution": "executions"} if cell.turn > 1 else {}
        return {
            name: f"{_FOLDER}/{cell_record(stage, cell.before)}" for name, stage in stages.items()
        }

    def record_paths(self) -> list[str]:
        """The record of every cell at every stage, as the rules name them."""
        return [
            f"{_FOLDER}/{cell_record(stage, cell)}" for stage in RECORD_TYPES for cell in self.cells
        ]

    def products(self) -> list[str]:
        """Every file that the study's rules make but the archive, as the rules name them."""
        last = (f"{_FOLDER}/{self.study.study}/{name}" for name in fixed_products(self.study))
        return [*self.record_paths(), *self.images(), *last]

    def images(self) -> list[str]:
        """The record of each shell's image."""
        return [str(image_path(_FOLDER, shell)) for shell in self.study.shells]
