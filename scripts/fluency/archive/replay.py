"""Judge an archive's answers anew, or run its commands anew, with what this checkout has now. No model is asked."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

from fluency.analysis import analyse
from fluency.analysis.headline import headline_of
from fluency.archive.opened import Opened, open_unpacked
from fluency.archive.replay_diff import Difference, Replay, difference_of
from fluency.archive.unpack import unpacked
from fluency.common.errors import UserError
from fluency.common.terminal import Say, say
from fluency.core.cells import Cell
from fluency.core.gather import CellRecords, row_of
from fluency.core.records import Execution, Score
from fluency.core.table import Row, to_frame
from fluency.core.task_world import world_for
from fluency.core.tasks import Task, load_tasks
from fluency.execution.execute import Executor, execute_cell
from fluency.scoring.score_cell import score_cell
from fluency.world import World

Stage = Literal["score", "execute"]
TITLES = {"score": "Judged anew by the present checks", "execute": "Run anew in the present image"}


def replay_archive(
    path: Path,
    stage: Stage = "score",
    sandbox: Executor | None = None,
    say: Say = say,
    *,
    trust_tasks: bool = False,
    parallel: int = 2,
    utc: str = "",
) -> Replay:
    """Replay an archive with this checkout's tasks and checks, and for `execute` with the given sandbox.

    The archive's own task code is run only with `trust_tasks`; without, a task that this checkout lacks is named
    and its cells are left as archived. UserError for `execute` without a sandbox.
    """
    if stage == "execute" and sandbox is None:
        raise UserError("there is no sandbox to run the commands in", where="STAGE=execute", hint="`make image`")
    with unpacked(Path(path)) as archive:
        opened = open_unpacked(archive, trust_tasks=trust_tasks)
        return _Replayer(opened, stage, sandbox, say, parallel, utc, trust_tasks).replay()


class _Replayer:
    def __init__(
        self, opened: Opened, stage: Stage, sandbox: Executor | None, say: Say, parallel: int, utc: str, trust: bool
    ) -> None:
        self._opened, self._stage, self._sandbox, self._say = opened, stage, sandbox, say
        self._parallel, self._utc = parallel, utc
        ours = {} if trust else {task.id: task for task in load_tasks()}
        archived = {task.id: task for task in opened.tasks}
        self._runnable = archived if trust else {name: ours[name] for name in archived if name in ours}
        self._tasks = archived | self._runnable

    def replay(self) -> Replay:
        """Every cell, in parallel, then the comparison."""
        opened = self._opened
        archived, rows, differences = [], [], []
        with ThreadPoolExecutor(self._parallel) as pool:
            for number, (old, new, found) in enumerate(pool.map(self._cell, opened.cells), 1):
                archived.append(old)
                rows.append(new)
                differences += [found] if found else []
                if number % 100 == 0:
                    self._say(f"replayed {number:,} of {len(opened.cells):,} cells")
        return Replay(
            title=TITLES[self._stage],
            archive=opened.unpacked.path.name,
            cells=len(opened.cells),
            differences=differences,
            notes=list(self._notes()),
            before=self._headlines(archived),
            after=self._headlines(rows),
            rows=rows,
        )

    def _cell(self, cell: Cell) -> tuple[Row, Row, Difference | None]:
        task = self._tasks[cell.task]
        records = self._opened.records(cell)
        old = row_of(cell, task.category, records)
        if cell.task not in self._runnable or records.generation is None or records.execution is None:
            return old, old, None
        try:
            execution = self._execution(task, records)
            score = self._score(task, records, execution)
        except UserError as error:
            return old, old, Difference(cell.path, False, "", f"not replayed: {error.what}", "")
        new = row_of(cell, task.category, CellRecords(records.generation, execution, score))
        return old, new, difference_of(records, execution, score)

    def _world(self, task: Task, seed: int) -> World:
        """The archived world: what a replay changes is the judge or the image, never what the command met."""
        return self._opened.world(task, seed)

    def _execution(self, task: Task, records: CellRecords) -> Execution:
        if self._sandbox is None:
            assert records.execution is not None
            return records.execution
        assert records.generation is not None
        return execute_cell(self._opened.study, task, records.generation, self._sandbox, self._world, self._utc)

    def _score(self, task: Task, records: CellRecords, execution: Execution) -> Score:
        study = self._opened.study
        assert records.generation is not None
        return score_cell(
            task, records.generation, execution, self._world, seeds=study.seeds, conditions=study.conditions
        )

    def _headlines(self, rows: list[Row]) -> dict[str, str]:
        analysis = analyse(to_frame(rows), self._opened.study, self._opened.tasks)
        return {model.model: headline_of(model) for model in analysis.models}

    def _notes(self) -> Iterator[str]:
        opened = self._opened
        for name in sorted({task.id for task in opened.tasks} - self._runnable.keys()):
            yield f"task {name} is not in this checkout; its cells are left as archived"
        for name, task in sorted(self._runnable.items()):
            archived = next(other for other in opened.tasks if other.id == name)
            if archived.check_sha256 != task.check_sha256:
                yield f"task {name} has another check than the archived one"
            if any(world_for(task, seed).sha256 != opened.world(archived, seed).sha256 for seed in opened.study.seeds):
                yield f"this checkout makes other worlds for {name}; the archived ones were used"
        if self._sandbox is not None:
            ran = (opened.records(cell).execution for cell in opened.cells)
            before = next((execution.image for execution in ran if execution), None)
            for shell in opened.study.shells:
                was, now = (image.shells.get(shell) if image else None for image in (before, self._sandbox.image))
                yield f"{shell}: archived {was or 'not in the image'}, now {now or 'not in the image'}"
