"""Rescore or rerun an archive; differences as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fluency.analysis.study_analysis import analyse
from fluency.archive.archived_study import ArchivedStudy, read_archived_study
from fluency.archive.code_hashes import code_sha256
from fluency.archive.task_trust import present_tasks
from fluency.archive.unpack import unpacked
from fluency.common.errors import ArchiveError, UserError
from fluency.common.terminal import log_line
from fluency.core.records import EARLIER_CLASS, Execution, Score
from fluency.core.shells import EXTRA_CONDITIONS
from fluency.core.study import Cell, read_study
from fluency.core.table import CellRecords, Row, headline_runs, to_frame
from fluency.core.task_world import world_for
from fluency.core.tasks import Task
from fluency.execution.execute import execute_cell
from fluency.report.markdown import code, table, text, visible
from fluency.report.summary import headline_of
from fluency.scoring.score_cell import score_cell

if TYPE_CHECKING:
    from fluency.execution.sandbox import Sandbox

MARKS = ("structural_pass", "lenient_passed", *(condition.score_field for condition in EXTRA_CONDITIONS))


@dataclass(frozen=True)
class CellDiff:
    """A cell that comes out otherwise. `verdict`: whether it passes changed, and not only what it printed or why."""

    cell: str
    verdict: bool
    archived: str
    now: str
    also: str


@dataclass(frozen=True)
class ReplayDiff:
    """The outcome of a replay; `rows` is the new cells table, `before` and `after` hold a headline for each model."""

    title: str
    archive: str
    cells: int
    differences: list[CellDiff]
    notes: list[str]
    before: dict[str, str]
    after: dict[str, str]
    rows: list[Row]

    def markdown(self) -> str:
        """The differences and the effect on the verdict as Markdown."""
        return "\n".join(self._written("# ", code, "**{}**", text, _table)) + "\n"

    def lines(self) -> list[str]:
        """The same in plain words, for a terminal."""
        return self._written("", visible, "{}", visible, _plain)

    def _written(
        self, mark: str, name: Callable[[str], str], model: str, words: Callable[[str, int], str], cells: _Cells
    ) -> list[str]:
        verdicts = [d for d in self.differences if d.verdict]
        others = [d for d in self.differences if not d.verdict]
        lines = [f"{mark}{self.title}", "", f"Archive {name(self.archive)}. No model was asked.", ""]
        lines += [f"- {words(note, 500)}" for note in self.notes] + [""] * bool(self.notes)
        lines += [f"{len(verdicts)} of {self.cells} cells pass or fail otherwise than archived.", ""]
        lines += cells(verdicts)
        lines += [f"{len(others)} further cells differ without that changing.", ""]
        lines += cells(others)
        lines += [f"{mark and '#' + mark}What it does to the verdict", ""]
        for alias, before in self.before.items():
            after, who = self.after[alias], model.format(words(alias, 60))
            if before == after:
                lines.append(f"- {who}: unchanged. {words(before, 4000)}")
            else:
                lines += [f"- {who} archived: {words(before, 4000)}", f"- {who} now: {words(after, 4000)}"]
        return lines


_Cells = Callable[[list[CellDiff]], list[str]]


def _table(differences: list[CellDiff]) -> list[str]:
    if not differences:
        return []
    rows = [[code(d.cell), text(d.archived, 300), text(d.now, 300), text(d.also, 300)] for d in differences]
    return [table(["cell", "archived", "now", "also"], rows), ""]


def _plain(differences: list[CellDiff]) -> list[str]:
    lines = []
    for found in differences:
        told = {"archived": found.archived, "now": found.now, "also": found.also}
        lines += [visible(found.cell), *(f"  {name}: {visible(words, 300)}" for name, words in told.items() if words)]
    return [*lines, ""] if lines else []


def diff_cell(records: CellRecords, execution: Execution, score: Score) -> CellDiff | None:
    """How a cell's new score and execution differ from the archived ones; None where they do not."""
    old = records.score
    if old is None:
        return None
    also = list(_marks(old, score)) if None not in (old.passed, score.passed) else []
    if records.execution is not None and execution is not records.execution:
        also += _ran(records.execution, execution)
    verdict = old.passed != score.passed
    now = score.failure_class or ""
    judged = verdict or old.why != score.why or (old.failure_class or "") not in (now, EARLIER_CLASS.get(now))
    if not judged and not also:
        return None
    return CellDiff(score.cell.path, verdict, _judgement(old), _judgement(score), "; ".join(also))


def _judgement(score: Score) -> str:
    if score.passed is None or score.passed:
        return "pass" if score.passed else score.why
    return f"fail, {score.failure_class}: {score.why}"


def _marks(old: Score, new: Score) -> Iterator[str]:
    for name in MARKS:
        was, now = getattr(old, name), getattr(new, name)
        if was != now:
            yield f"{name} {_word(was)}, now {_word(now)}"


def _word(value: bool | None) -> str:
    return "n/a" if value is None else "yes" if value else "no"


def _ran(old: Execution, new: Execution) -> Iterator[str]:
    """Exit codes and outputs that changed, of the runs that decide and are there in both."""
    now = {run.seed: run.result for run in headline_runs(new)}
    for run in headline_runs(old):
        result = now.get(run.seed)
        if result is None:
            continue
        if result.exit_code != run.result.exit_code:
            yield f"exit code in world {run.seed}: {run.result.exit_code}, now {result.exit_code}"
        elif result.stdout != run.result.stdout:
            yield f"output in world {run.seed}: {run.result.stdout.bytes} bytes, now {result.stdout.bytes}"


Stage = Literal["score", "execute"]
TITLES = {"score": "Judged anew by the present checks", "execute": "Run anew in the present image"}


def replay_archive(
    path: Path,
    stage: Stage = "score",
    sandbox: Sandbox | None = None,
    *,
    trust_tasks: bool = False,
    parallel: int = 2,
    utc: str = "",
    allowed: Collection[str] = (),
) -> ReplayDiff:
    """Replay an archive with this checkout's tasks and checks, and for `execute` with the given sandbox.

    The archive's own task code is run only with `trust_tasks`; without, a task that this checkout lacks is named
    and its cells are left as archived. UserError for `execute` without a sandbox, for files that are not those of the
    manifest, and for an archive that asks for higher limits than this checkout's, but for those `allowed` by name.
    """
    if stage == "execute" and sandbox is None:
        raise UserError("there is no sandbox to run the commands in", where="STAGE=execute", hint="`make image`")
    with unpacked(Path(path)) as archive:
        if archive.problems:
            raise ArchiveError(
                f"it is altered or damaged: {archive.problems[0]}", where=str(path), hint="`make verify` lists all"
            )
        archived = read_archived_study(archive, trust_tasks=trust_tasks)
        if stage == "execute":
            _check_limits(archived, allowed)
        return _Replayer(archived, stage, sandbox, parallel, utc, trust_tasks).replay()


def _check_limits(archived: ArchivedStudy, allowed: Collection[str]) -> None:
    """UserError for limits that would give archived commands more of this machine than its own studies give."""
    theirs, ours = (limits.model_dump() for limits in (archived.study.sandbox.limits, read_study().sandbox.limits))
    unknown = sorted(set(allowed) - ours.keys())
    if unknown:
        raise UserError(f"there is no limit {unknown[0]}", where="ALLOW", hint=f"the limits are {', '.join(ours)}")
    larger = [
        f"{name} {_words(theirs[name])} where this checkout gives {_words(ours[name])}"
        for name in sorted(ours.keys() - set(allowed))
        if _exceeds(theirs[name], ours[name])
    ]
    if larger:
        names = ",".join(told.split()[0] for told in larger)
        raise UserError(
            f"it asks for higher limits than this checkout's: {'; '.join(larger)}",
            where=archived.unpacked.path.name,
            hint=f"if this machine has room for them, allow them by name: ALLOW={names}",
        )


def _exceeds(theirs: Any, ours: Any) -> bool:
    if isinstance(theirs, dict):
        return any(seconds > ours.get(shell, 0) for shell, seconds in theirs.items())
    return bool(theirs > ours)


def _words(value: Any) -> str:
    return ", ".join(f"{key} {held:g}" for key, held in value.items()) if isinstance(value, dict) else f"{value:,}"


class _Replayer:
    def __init__(
        self,
        archived: ArchivedStudy,
        stage: Stage,
        sandbox: Sandbox | None,
        parallel: int,
        utc: str,
        trust: bool,
    ) -> None:
        self._archived, self._stage, self._sandbox = archived, stage, sandbox
        self._parallel, self._utc = parallel, utc
        ours = {} if trust else present_tasks(task.id for task in archived.tasks)
        theirs = {task.id: task for task in archived.tasks if isinstance(task, Task)}
        self._runnable = theirs if trust else {name: ours[name] for name in theirs if name in ours}

    def replay(self) -> ReplayDiff:
        """Every cell, in parallel, then the comparison."""
        archived = self._archived
        before, after, differences = [], [], []
        with ThreadPoolExecutor(self._parallel) as pool:
            for number, (old, new, found) in enumerate(pool.map(self._cell, archived.cells), 1):
                before.append(old)
                after.append(new)
                differences += [found] if found else []
                if number % 100 == 0:
                    log_line(f"replayed {number:,} of {len(archived.cells):,} cells")
        return ReplayDiff(
            title=TITLES[self._stage],
            archive=archived.unpacked.path.name,
            cells=len(archived.cells),
            differences=differences,
            notes=list(self._notes()),
            before=self._headlines(before),
            after=self._headlines(after),
            rows=after,
        )

    def _cell(self, cell: Cell) -> tuple[Row, Row, CellDiff | None]:
        """A cell's row before and after, and what differs; the archived row where it cannot be replayed."""
        task, study = self._runnable.get(cell.task), self._archived.study
        records = self._archived.records(cell)
        old = self._archived.row(cell, records)
        generation, execution, _ = records
        if task is None or generation is None or execution is None:
            return old, old, None
        # The archived worlds: what a replay changes is the judge or the image, never what the command met.
        world = self._archived.world
        try:
            if self._sandbox is not None:
                execution = execute_cell(study, task, generation, self._sandbox, world, self._utc)
            score = score_cell(
                task,
                generation,
                execution,
                world,
                code_sha256=code_sha256("score"),
                seeds=study.seeds,
                conditions=study.conditions,
            )
        except UserError as error:
            return old, old, CellDiff(cell.path, False, "", f"not replayed: {error.what}", "")
        new = self._archived.row(cell, CellRecords(generation, execution, score))
        return old, new, diff_cell(records, execution, score)

    def _headlines(self, rows: list[Row]) -> dict[str, str]:
        analysis = analyse(to_frame(rows), self._archived.study, self._archived.tasks)
        return {model.model: headline_of(model) for model in analysis.models}

    def _notes(self) -> Iterator[str]:
        archived = self._archived
        for name in sorted(archived.held_out):
            yield f"task {name} is held out; its cells are left as archived"
        for name in sorted({task.id for task in archived.tasks} - self._runnable.keys() - archived.held_out.keys()):
            yield f"task {name} is not in this checkout; its cells are left as archived"
        for name, task in sorted(self._runnable.items()):
            theirs = next(other for other in archived.tasks if other.id == name)
            if theirs.check_sha256 != task.check_sha256:
                yield f"task {name} has another check than the archived one"
            if any(
                world_for(task, seed).sha256 != archived.world(theirs, seed).sha256 for seed in archived.study.seeds
            ):
                yield f"this checkout makes other worlds for {name}; the archived ones were used"
        if self._sandbox is not None:
            ran = (archived.records(cell).execution for cell in archived.cells)
            before = next((execution.image for execution in ran if execution), None)
            for shell in archived.study.shells:
                was, now = (image.shells.get(shell) if image else None for image in (before, self._sandbox.image))
                yield f"{shell}: archived {was or 'not in the image'}, now {now or 'not in the image'}"
