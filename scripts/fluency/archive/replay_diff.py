"""What a replay changed: one line a cell, and what became of each model's verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fluency.core.records import EARLIER_CLASS, Execution, Score
from fluency.core.shells import EXTRA_CONDITIONS
from fluency.core.table import CellRecords, Row, headline_runs
from fluency.report.escape import code, text, visible
from fluency.report.markdown import table

MARKS = ("structural_pass", "lenient_passed", *(condition.mark for condition in EXTRA_CONDITIONS))


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
    return CellDiff(score.cell.cell.path, verdict, _judgement(old), _judgement(score), "; ".join(also))


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
