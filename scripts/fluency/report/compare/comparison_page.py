"""A comparison of two studies as tables: in a terminal, and as Markdown."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from rich import box
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from fluency.common.files import write_atomic
from fluency.core.shells import SHELLS
from fluency.report import markdown
from fluency.report.compare.changes import GAP, Change, ModelChange, TaskChange
from fluency.report.compare.comparison import Comparison, compare
from fluency.report.markdown import table as markdown_table
from fluency.report.numbers import percent, points, probability, signed, span
from fluency.report.show import terminal

CAVEAT = (
    "Paired over tasks, each task weighing the same. The interval is 95 % for tasks like these; ± is for these very "
    "tasks. p is the exact two-sided sign-flip over tasks, not adjusted for the number of rows. With fewer than 6 "
    "changed tasks it cannot fall below 0.05. Models are never pooled."
)


@dataclass(frozen=True)
class Section:
    """A heading, sentences, and a table of plain texts; `align` as in the report's tables."""

    title: str
    notes: list[str] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    align: str = ""


def sections(comparison: Comparison) -> list[Section]:
    """The comparison's parts in the order they are read."""
    a, b = comparison.a, comparison.b
    parts = [Section(f"{a.name} (A) and {b.name} (B)", [CAVEAT])]
    for model in comparison.models:
        parts += [_changes(model), _tasks(model)]
    parts.append(_differences(comparison))
    for name, only in ((f"A, {a.name}", comparison.only_a), (f"B, {b.name}", comparison.only_b)):
        notes = [f"{noun.capitalize()}: {', '.join(found)}." for noun, found in only.items() if found]
        if notes:
            parts.append(Section(f"Only in {name}", [*notes, "They are not compared."]))
    return parts


def as_markdown(comparison: Comparison) -> str:
    """The comparison as a Markdown document."""
    out = []
    for number, part in enumerate(sections(comparison)):
        out.append(f"{'#' if number == 0 else '##'} {markdown.text(part.title)}")
        out += [markdown.text(note, limit=10_000) for note in part.notes]
        if part.rows:
            cells = [[markdown.text(cell).replace("pass&#64;1", "pass@1") for cell in row] for row in part.rows]
            out.append(markdown_table(part.headers, cells, part.align))
    return "\n\n".join(out) + "\n"


def print_comparison(comparison: Comparison, console: Console | None = None) -> None:
    """The comparison in a terminal."""
    console = console or terminal()
    for part in sections(comparison):
        console.print(Text(f"\n{markdown.visible(part.title)}", style="bold"))
        for note in part.notes:
            console.print(Text(markdown.visible(note, limit=10_000)))
        if part.rows:
            drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
            sides: dict[str, JustifyMethod] = {"r": "right", "l": "left"}
            for header, side in zip(part.headers, part.align, strict=True):
                drawn.add_column(Text(header), justify=sides[side], overflow="fold")
            for row in part.rows:
                drawn.add_row(*(Text(markdown.visible(cell)) for cell in row))
            console.print(drawn)


def _name(model: ModelChange) -> str:
    return model.model_a if model.model_a == model.model_b else f"{model.model_a} (A) and {model.model_b} (B)"


def _changes(model: ModelChange) -> Section:
    headers = ["", "A", "B", "change, pp", "95 % interval", "these tasks", "p", "changed tasks"]
    if not model.changes:
        return Section(_name(model), ["No task was measured in both studies."])
    return Section(_name(model), [], headers, [_row(change, model.contrast) for change in model.changes], "lrrrrrrr")


def _row(change: Change, contrast: tuple[str, str]) -> list[str]:
    gap = change.what == GAP
    baseline, challenger = (SHELLS[shell].short_title for shell in contrast)
    shown = [f"{signed(value)} pp" if gap else percent(value) for value in (change.before, change.after)]
    return [
        f"gap ({challenger} less {baseline})" if gap else f"pass@1 in {SHELLS[change.what].title}",
        *shown,
        signed(change.change),
        span(change.interval),
        "n/a" if change.fixed is None else f"± {points(change.fixed)}",
        probability(change.p),
        f"{change.differing} of {change.tasks}",
    ]


def _tasks(model: ModelChange) -> Section:
    changed = sorted((task for task in model.tasks if task.size), key=lambda task: (-task.size, task.task))
    unmeasured = sum(all(task.change(shell) is None for shell in model.arms) for task in model.tasks)
    same = len(model.tasks) - len(changed) - unmeasured
    notes = [f"{len(changed)} of {len(model.tasks)} tasks changed, {same} did not, {unmeasured} cannot be compared."]
    headers = ["task", *(f"{SHELLS[s].title} {part}" for s in model.arms for part in ("A", "B", "change, pp"))]
    rows = [[task.task, *(cell for shell in model.arms for cell in _task_cells(task, shell))] for task in changed]
    return Section(f"{_name(model)}: tasks that changed", notes, headers, rows, "l" + "rrr" * len(model.arms))


def _task_cells(task: TaskChange, shell: str) -> list[str]:
    counts = [f"{passes}/{scored}" if scored else "n/a" for passes, scored in (task.a[shell], task.b[shell])]
    change = task.change(shell)
    return [*counts, "n/a" if change is None else signed(change, 0)]


def _differences(comparison: Comparison) -> Section:
    notes = []
    for name, source in (("A", comparison.a), ("B", comparison.b)):
        if source.provenance is None:
            notes.append(f"{name} has no provenance.json beside its table: only what the table tells is compared.")
    if comparison.changed_tasks:
        listed = ", ".join(comparison.changed_tasks)
        notes.append(f"These tasks were edited between the studies, so a change may be the task's: {listed}.")
    if not comparison.differences:
        notes.append("Nothing that was recorded differs.")
    rows = [list(row) for row in comparison.differences]
    return Section("What was run differently", notes, ["", "A", "B"], rows, "lll")


def main(a: str, b: str, markdown: Path | None = None) -> int:
    """`make compare`: print the comparison, and write it as Markdown if asked to."""
    comparison = compare(a, b)
    print_comparison(comparison)
    if markdown:
        write_atomic(Path(markdown), as_markdown(comparison))
        print(f"Written to {markdown}")
    return 0
