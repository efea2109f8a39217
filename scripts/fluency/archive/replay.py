"""Rescore or rerun an archive, and print what differs."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import SystemRandom
from typing import Literal

from fluency.analysis.study_analysis import analyse
from fluency.archive.archived_study import ArchivedStudy, read_archived_study
from fluency.archive.playback import differences, play_score
from fluency.archive.unpack import unpacked
from fluency.common.clock import utc_now
from fluency.common.errors import ArchiveError, UserError
from fluency.common.terminal import log_line, print_lines
from fluency.core.study import Cell, SandboxConfig, read_study
from fluency.core.table import CellRecords, Row, cell_record, to_frame
from fluency.core.task_world import world_for
from fluency.execution.execute import execute_cell
from fluency.execution.sandbox import Sandbox, open_sandbox
from fluency.report.sentences import headline_of
from fluency.report.templates import render

UNSTEADY = {"wall_s", "why", "expected"}
"""Of a score: differ with the day, the time and the processes' ids that a command prints."""


@dataclass(frozen=True)
class CellDifference:
    """A cell that is judged differently.

    Attributes:
        pass_changed: whether it passes, and not only how it failed; None if it was not replayed.
        what: what differs, or why the cell was not replayed.
    """

    cell: str
    pass_changed: bool | None
    what: str


@dataclass(frozen=True)
class Replay:
    """The outcome of a replay.

    Attributes:
        cells: number of cells that were chosen.
        before, after: a headline for each model.
    """

    heading: str
    archive: str
    cells: int
    differences: list[CellDifference]
    notes: list[str]
    before: dict[str, str]
    after: dict[str, str]

    def lines(self) -> list[str]:
        """The differences and the effect on the verdict."""
        return render("replay.txt.j2", vars(self)).splitlines()

    @property
    def exit_code(self) -> int:
        """1: a cell passes or fails differently; 3: a cell could not be replayed."""
        changed = {one.pass_changed for one in self.differences}
        return 1 if True in changed else 3 if None in changed else 0


def replay(archive: Path, stage: Literal["score", "execute"] | None, sample: int | None) -> int:
    """Rescore or re-execute an archive with the present code and image; print the differences.

    Args:
        stage: the first that is repeated; if missing, a sample is executed, all else is scored.
        sample: execute this number of random cells only.
    """
    if stage == "score" and sample:
        raise UserError("a sample is executed", where="STAGE=score", hint="leave out STAGE= or N=")
    sandbox = open_sandbox(SandboxConfig()) if sample or stage == "execute" else None
    found = replay_archive(archive, sandbox, sample)
    print_lines(found.lines())
    return found.exit_code


def replay_archive(path: Path, sandbox: Sandbox | None = None, sample: int | None = None) -> Replay:
    """Score an archive with this checkout's tasks and checks.

    A task that this checkout lacks is named, and its cells are left as archived.

    Args:
        sandbox: where its commands run again before they are scored.
        sample: how many executed cells are chosen, at random; all if missing.

    Raises:
        UserError: for files that the manifest does not name, and for limits above config.yaml's.
    """
    with unpacked(path) as archive:
        if archive.problems:
            raise ArchiveError(
                f"it is altered or damaged: {archive.problems[0]}",
                where=str(path),
                hint="`make verify ARCHIVE=…` lists all",
            )
        archived = read_archived_study(archive)
        if sandbox:
            _check_limits(archived)
        cells = [
            cell
            for cell in archived.cells
            if f"results/{cell_record('executions', cell)}" in archive.places
        ]
        chosen = SystemRandom().sample(cells, min(sample, len(cells))) if sample else cells
        replayed, replay_one = [], partial(_replayed, archived, sandbox, {*chosen})
        with ThreadPoolExecutor(2) as pool:
            for one in pool.map(replay_one, archived.cells):
                replayed.append(one)
                if not sample and len(replayed) % 100 == 0:
                    log_line(f"replayed {len(replayed):,} of {len(archived.cells):,} cells")
        before, after, found = zip(*replayed, strict=True)
        how = "Run again in the present image" if sandbox else "Scored again by the present checks"
        return Replay(
            heading=how,
            archive=path.name,
            cells=len(chosen),
            differences=sorted(filter(None, found), key=lambda one: not one.pass_changed),
            notes=list(_notes(archived, sandbox)),
            before=_headlines(archived, before),
            after=_headlines(archived, after),
        )


def _check_limits(archived: ArchivedStudy) -> None:
    """UserError for limits that give archived commands more of this machine than its own get."""
    theirs, ours = archived.study.sandbox.limits, read_study().sandbox.limits
    larger = [
        f"{name} {limit}"
        for name, limit in theirs
        if name != "timeout_s" and limit > getattr(ours, name)
    ]
    deadlines = ((s, theirs.deadline_s(s), ours.deadline_s(s)) for s in theirs.timeout_s)
    larger += [f"timeout_s of {s} {limit:g}" for s, limit, own in deadlines if limit > own]
    if larger:
        raise UserError(
            f"it asks for higher limits than config.yaml gives: {', '.join(larger)}",
            where=archived.unpacked.path.name,
            hint="if this machine can give that much, raise `sandbox: {limits: …}` in config.yaml",
        )


def _replayed(
    archived: ArchivedStudy, sandbox: Sandbox | None, chosen: set[Cell], cell: Cell
) -> tuple[Row, Row, CellDifference | None]:
    """A cell's row before and after, and what differs; the archived row if it is not replayed."""
    records = archived.records(cell)
    generation, execution, was = records
    old, task, made = archived.row(cell, records), archived.ours.get(cell.task), None
    if cell not in chosen or generation is None or execution is None or execution.repeats:
        return old, old, None
    try:
        if task is None:
            raise UserError("this checkout lacks its task")
        if cell.shell in archived.foreign:
            raise UserError("this checkout lacks its shell, or has another entry of its name")
        if sandbox:
            execution = execute_cell(
                archived.study, task, generation, sandbox, archived.world, utc_now()
            )
        made = play_score(archived.study, task, generation, execution, archived.world)
    except UserError as error:
        return old, old, CellDifference(cell.path, None, error.what)
    new = archived.row(cell, CellRecords(generation, execution, made))
    found = differences(made, was) if was else [("recomputed", "", "it was not scored")]
    what = [text for kind, name, text in found if kind != "code" and name not in UNSTEADY]
    changed = old.passed != new.passed
    said = "; ".join(dict.fromkeys([*what, *[made.why] * changed]))
    return old, new, CellDifference(cell.path, changed, said) if said else None


def _headlines(archived: ArchivedStudy, rows: Iterable[Row]) -> dict[str, str]:
    found = analyse(to_frame(list(rows)), archived.study, archived.tasks).contrasts
    return {contrast.name: headline_of(contrast) for contrast in found}


def _notes(archived: ArchivedStudy, sandbox: Sandbox | None) -> Iterator[str]:
    for task in archived.tasks:
        mine = archived.ours.get(task.id)
        if mine is None:
            continue
        if mine.check_sha256 != task.check_sha256:
            yield f"task {task.id} has another check than the archived one"
        if any(
            world_for(mine, seed).sha256 != archived.world(task, seed).sha256
            for seed in archived.study.seeds
        ):
            yield f"this checkout makes other worlds for {task.id}; the archived ones were used"
    if sandbox:
        for shell in sorted(archived.images.keys() - archived.foreign):
            file = archived.images[shell]
            was, now = file.image.shells.get(shell), sandbox.images[shell].shells.get(shell)
            yield f"{shell}: archived {was or 'not in the image'}, now {now or 'not in the image'}"
