"""Rescore or rerun an archive; differences as Markdown."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fluency.analysis.study_analysis import analyse
from fluency.archive.archived_study import (
    ArchivedStudy,
    present_tasks,
    read_archived_study,
)
from fluency.archive.judge_again import EXTRA_MARKS, rescored
from fluency.archive.unpack import unpacked
from fluency.common.errors import ArchiveError, UserError
from fluency.common.terminal import log_line
from fluency.core.records import Execution, Score
from fluency.core.study import Cell, read_study
from fluency.core.table import CellRecords, Row, headline_runs, to_frame
from fluency.core.task_world import world_for
from fluency.core.tasks import Task
from fluency.execution.execute import execute_cell
from fluency.report.markdown import code, table, text
from fluency.report.sentences import headline_of

if TYPE_CHECKING:
    from fluency.execution.sandbox import Sandbox


@dataclass(frozen=True)
class CellDifference:
    """A cell whose result changed.

    Attributes:
        pass_changed: whether it passes, and not only what it printed or why it failed.
    """

    cell: str
    pass_changed: bool
    archived: str
    now: str
    details: str = ""


@dataclass(frozen=True)
class Replay:
    """The outcome of a replay.

    Attributes:
        before, after: a headline for each model.
        rows: the new cells table.
    """

    heading: str
    archive: str
    cells: int
    differences: list[CellDifference]
    notes: list[str]
    before: dict[str, str]
    after: dict[str, str]
    rows: list[Row]

    def markdown(self) -> str:
        """The differences and the effect on the verdict."""
        changed = [one for one in self.differences if one.pass_changed]
        others = [one for one in self.differences if not one.pass_changed]
        lines = [f"# {self.heading}", "", f"Archive {code(self.archive)}. No model was asked.", ""]
        lines += [f"- {text(note, 500)}" for note in self.notes] + [""] * bool(self.notes)
        lines += [f"{len(changed)} of {self.cells} cells pass or fail differently.", ""]
        lines += _table(changed)
        lines += [f"{len(others)} further cells differ without that changing.", ""]
        lines += [*_table(others), "## Effect on the verdict", ""]
        for alias, before in self.before.items():
            after, model = self.after[alias], f"**{text(alias, 60)}**"
            if before == after:
                lines.append(f"- {model}: unchanged. {text(before, 4000)}")
            else:
                lines.append(f"- {model} archived: {text(before, 4000)}")
                lines.append(f"- {model} now: {text(after, 4000)}")
        return "\n".join(lines) + "\n"


def _table(differences: list[CellDifference]) -> list[str]:
    rows = [
        [code(one.cell), *(text(part, 300) for part in (one.archived, one.now, one.details))]
        for one in differences
    ]
    return [table(["cell", "archived", "now", "details"], rows), ""] if rows else []


def replay_archive(
    path: Path, sandbox: Sandbox | None = None, *, utc: str = "", allowed: Collection[str] = ()
) -> Replay:
    """Score an archive with this checkout's tasks and checks.

    A task that this checkout lacks is named, and its cells are left as archived.

    Args:
        sandbox: where its commands run again before they are scored.
        allowed: the limits that may be higher than this checkout's.

    Raises:
        UserError: for files that the manifest does not name, and for higher limits.
    """
    with unpacked(path) as archive:
        if archive.problems:
            what = f"it is altered or damaged: {archive.problems[0]}"
            raise ArchiveError(what, where=str(path), hint="`make verify` lists all")
        archived = read_archived_study(archive)
        if sandbox:
            _check_limits(archived, allowed)
        ours = present_tasks(archived.task_of)
        before, after, differences = [], [], []
        with ThreadPoolExecutor(2) as pool:
            replay = partial(_replay_cell, archived, ours, sandbox, utc)
            for number, (old, new, difference) in enumerate(pool.map(replay, archived.cells), 1):
                before.append(old)
                after.append(new)
                differences += [difference] if difference else []
                if number % 100 == 0:
                    log_line(f"replayed {number:,} of {len(archived.cells):,} cells")
        return Replay(
            heading="Run again in the present image"
            if sandbox
            else "Scored again by the present checks",
            archive=path.name,
            cells=len(after),
            differences=differences,
            notes=list(_notes(archived, ours, sandbox)),
            before=_headlines(archived, before),
            after=_headlines(archived, after),
            rows=after,
        )


def _check_limits(archived: ArchivedStudy, allowed: Collection[str]) -> None:
    """UserError for limits that give archived commands more of this machine than its own get."""
    theirs = archived.study.sandbox.limits.model_dump()
    ours = read_study().sandbox.limits.model_dump()
    if unknown := sorted(set(allowed) - ours.keys()):
        hint = f"the limits are {', '.join(ours)}"
        raise UserError(f"there is no limit {unknown[0]}", where="ALLOW", hint=hint)
    larger = [
        name for name in sorted(ours.keys() - set(allowed)) if _exceeds(theirs[name], ours[name])
    ]
    if larger:
        asked = [
            f"{name} {json.dumps(theirs[name])} where this checkout gives {json.dumps(ours[name])}"
            for name in larger
        ]
        what = f"it asks for higher limits than this checkout's: {'; '.join(asked)}"
        hint = f"if this machine can give that much, allow them by name: ALLOW={','.join(larger)}"
        raise UserError(what, where=archived.unpacked.path.name, hint=hint)


def _exceeds(theirs: Any, ours: Any) -> bool:
    if isinstance(theirs, dict):
        return any(seconds > ours.get(shell, 0) for shell, seconds in theirs.items())
    return bool(theirs > ours)


def _replay_cell(
    archived: ArchivedStudy,
    tasks: Mapping[str, Task],
    sandbox: Sandbox | None,
    utc: str,
    cell: Cell,
) -> tuple[Row, Row, CellDifference | None]:
    """A cell's row before and after, and what differs; the archived row where the cell cannot be replayed."""
    records = archived.records(cell)
    generation, execution, _ = records
    task, old = tasks.get(cell.task), archived.row(cell, records)
    if task is None or generation is None or execution is None:
        return old, old, None
    try:
        if sandbox:
            execution = execute_cell(archived.study, task, generation, sandbox, archived.world, utc)
        score = rescored(archived, task, generation, execution)
    except UserError as error:
        return old, old, CellDifference(cell.path, False, "", f"not replayed: {error.what}")
    new = CellRecords(generation, execution, score)
    return old, archived.row(cell, new), _difference(cell, records, new)


def _difference(cell: Cell, old: CellRecords, new: CellRecords) -> CellDifference | None:
    was, now = old.score, new.score
    if was is None or now is None:
        return None
    details = []
    if None not in (was.passed, now.passed):
        marks = [(name, getattr(was, name), getattr(now, name)) for name in EXTRA_MARKS]
        details += [
            f"{name} {_WORDS[one]}, now {_WORDS[two]}" for name, one, two in marks if one != two
        ]
    if old.execution and new.execution and new.execution is not old.execution:
        details += _run_differences(old.execution, new.execution)
    same = (was.passed, was.why, was.failure_class) == (now.passed, now.why, now.failure_class)
    if same and not details:
        return None
    return CellDifference(
        cell.path, was.passed != now.passed, _verdict(was), _verdict(now), "; ".join(details)
    )


_WORDS = {None: "n/a", True: "yes", False: "no"}


def _verdict(score: Score) -> str:
    if score.passed is None or score.passed:
        return "pass" if score.passed else score.why
    return f"fail, {score.failure_class}: {score.why}"


def _run_differences(old: Execution, new: Execution) -> Iterator[str]:
    """Exit codes and outputs that changed, of the runs that decide and are there in both."""
    now = {run.seed: run.result for run in headline_runs(new.runs)}
    for run in headline_runs(old.runs):
        result = now.get(run.seed, run.result)
        if result.exit_code != run.result.exit_code:
            yield f"exit code in world {run.seed}: {run.result.exit_code}, now {result.exit_code}"
        elif result.stdout != run.result.stdout:
            yield f"output in world {run.seed}: {run.result.stdout.bytes} bytes, now {result.stdout.bytes}"


def _headlines(archived: ArchivedStudy, rows: list[Row]) -> dict[str, str]:
    analysis = analyse(to_frame(rows), archived.study, archived.tasks)
    return {model.model: headline_of(model) for model in analysis.models}


def _notes(
    archived: ArchivedStudy, ours: Mapping[str, Task], sandbox: Sandbox | None
) -> Iterator[str]:
    for task in sorted(archived.tasks, key=lambda task: task.id):
        mine = ours.get(task.id)
        if mine is None:
            yield f"task {task.id} is not in this checkout; its cells are left as archived"
        else:
            if mine.check_sha256 != task.check_sha256:
                yield f"task {task.id} has another check than the archived one"
            if any(
                world_for(mine, seed).sha256 != archived.world(task, seed).sha256
                for seed in archived.study.seeds
            ):
                yield f"this checkout makes other worlds for {task.id}; the archived ones were used"
    if sandbox:
        ran = (archived.records(cell).execution for cell in archived.cells)
        before = next((execution.image for execution in ran if execution), None)
        for shell in archived.study.shells:
            was, now = (
                image.shells.get(shell) if image else None for image in (before, sandbox.image)
            )
            yield f"{shell}: archived {was or 'not in the image'}, now {now or 'not in the image'}"
