"""Two studies side by side, model by model: what changed, how sure that is, and what was run differently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from rich import box
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from fluency.analysis.intervals import Interval, PValue, fixed_task_halfwidth, floored_interval, sign_flip, t_interval
from fluency.analysis.outcomes import Arm, Outcomes, count_outcomes, mean, pair
from fluency.common.errors import UserError
from fluency.common.files import write_atomic
from fluency.common.paths import RESULTS
from fluency.core.provenance import Provenance, Sampling, read_provenance
from fluency.core.shells import SHELLS
from fluency.core.table import read_table
from fluency.report import markdown
from fluency.report.markdown import table as markdown_table
from fluency.report.numbers import percent, points, probability, signed, span
from fluency.report.show import terminal


@dataclass(frozen=True)
class StudyTable:
    """A study's cells table and what was recorded of its run; `provenance` is None where there is none beside it."""

    name: str
    path: Path
    frame: pd.DataFrame
    provenance: Provenance | None

    @property
    def models(self) -> list[str]:
        """In the table's order."""
        return list(dict.fromkeys(self.frame["model"]))

    @property
    def tasks(self) -> list[str]:
        """In the table's order."""
        return list(dict.fromkeys(self.frame["task"]))

    @property
    def trials(self) -> int:
        """Of the design."""
        return int(self.frame["trial"].max())


def open_study_table(name: str, results: Path = RESULTS) -> StudyTable:
    """A study by its name, its folder or its cells table; UserError if there is none."""
    given = Path(name)
    tries = [given, given / "cells.csv"] if "/" in name or given.suffix or given.is_dir() else []
    tries.append(Path(results) / name / "cells.csv")
    path = next((path for path in tries if path.is_file()), None)
    if path is None:
        known = ", ".join(sorted(file.parent.name for file in Path(results).glob("*/cells.csv"))) or "none yet"
        raise UserError(
            "there is no such study", where=name, hint=f"name a study or a cells.csv; studies with results: {known}"
        )
    frame = read_table(path)
    if frame.empty:
        raise UserError("the study has no cells", where=str(path), hint="run it first")
    beside = path.with_name("provenance.json")
    provenance = read_provenance(beside) if beside.exists() else None
    return StudyTable(path.parent.name if name == str(given) and "/" in name else name, path, frame, provenance)


GAP = "gap"


@dataclass(frozen=True)
class Change:
    """The change of one quantity from A to B over the tasks measured in both.

    what: a shell (its pass@1) or `gap` (the challenger's pass@1 less the baseline's). before, after, change: shares
    of one.
    interval: 95 %, for tasks like these. fixed: half-width for these very tasks (None for the gap, and
    where a task has one trial). p: two-sided, exact sign-flip. differing: tasks that changed at all.
    """

    what: str
    tasks: int
    before: Fraction
    after: Fraction
    change: Fraction
    interval: Interval
    fixed: float | None
    p: PValue
    differing: int


@dataclass(frozen=True)
class TaskChange:
    """One task in one pair of models: passes and measured trials by shell, in A and in B."""

    task: str
    a: dict[str, tuple[int, int]]
    b: dict[str, tuple[int, int]]

    def change(self, shell: str) -> Fraction | None:
        """Rate in B less rate in A; None where one of them was not measured."""
        (passes_a, scored_a), (passes_b, scored_b) = self.a[shell], self.b[shell]
        return Fraction(passes_b, scored_b) - Fraction(passes_a, scored_a) if scored_a and scored_b else None

    @property
    def size(self) -> Fraction:
        """How much it changed in all."""
        return sum((abs(self.change(shell) or Fraction()) for shell in self.a), Fraction())


@dataclass(frozen=True)
class ModelChange:
    """One model in both studies, or the one model of each; `contrast` is the baseline and the challenger."""

    model_a: str
    model_b: str
    arms: tuple[str, ...]
    contrast: tuple[str, str]
    changes: tuple[Change, ...]
    tasks: tuple[TaskChange, ...]


def model_change(first: StudyTable, second: StudyTable, model_a: str, model_b: str, tasks: list[str]) -> ModelChange:
    """One pair of models over the tasks both studies have."""
    shells = [*first.frame["shell"].unique(), *second.frame["shell"].unique()]
    counts = [
        count_outcomes(source.frame[source.frame["model"] == model], tasks, source.trials, shells)
        for source, model in ((first, model_a), (second, model_b))
    ]
    changes = [change for what in (*counts[0].arms, GAP) if (change := _quantity_change(what, *counts)) is not None]
    per_task = [
        TaskChange(task, *({s: (arm.passes[i], arm.scored[i]) for s, arm in c.arms.items()} for c in counts))
        for i, task in enumerate(tasks)
    ]
    return ModelChange(model_a, model_b, tuple(counts[0].arms), counts[0].contrast, tuple(changes), tuple(per_task))


def _quantity_change(what: str, a: Outcomes, b: Outcomes) -> Change | None:
    """One change, over the tasks that have enough measured trials in every arm it needs; None without any."""
    shells = a.contrast if what == GAP else (what,)
    kept = [
        i for i in range(len(a.tasks)) if all(o.arms[s].scored[i] >= ceil(o.trials / 2) for o in (a, b) for s in shells)
    ]
    if not kept:
        return None
    rates = [[_quantity(outcomes, what, i) for i in kept] for outcomes in (a, b)]
    differences = [after - before for before, after in zip(*rates, strict=True)]
    return Change(
        what=what,
        tasks=len(kept),
        before=mean(rates[0]),
        after=mean(rates[1]),
        change=mean(differences),
        interval=t_interval(differences) or floored_interval(differences),
        fixed=None if what == GAP else _fixed(a.arms[what], b.arms[what], kept),
        p=sign_flip(differences),
        differing=sum(difference != 0 for difference in differences),
    )


def _quantity(outcomes: Outcomes, what: str, i: int) -> Fraction:
    def rate(shell: str) -> Fraction:
        return Fraction(outcomes.arms[shell].passes[i], outcomes.arms[shell].scored[i])

    baseline, challenger = outcomes.contrast
    return rate(challenger) - rate(baseline) if what == GAP else rate(what)


def _fixed(a: Arm, b: Arm, kept: list[int]) -> float | None:
    """The report's interval for these very tasks, with A and B in the places of the contrasted arms."""
    arms = [Arm(tuple(arm.passes[i] for i in kept), tuple(arm.scored[i] for i in kept)) for arm in (a, b)]
    as_arms = Outcomes("A against B", tuple(str(i) for i in kept), 1, dict(zip("AB", arms, strict=True)), ("A", "B"))
    return fixed_task_halfwidth(as_arms) if pair(as_arms) else None


UNKNOWN, NOTHING = "not recorded", "none"
RESULT = {"answers", "input_tokens", "output_tokens", "cost_usd", "price", "refusals", "inference_geo"}
"""What of a model's sampling is no way of asking."""
NEW_IN_2 = {"extra_body", "headers"}


class RunDifference(NamedTuple):
    """What was not the same, as texts."""

    what: str
    a: str
    b: str


def run_differences(a: StudyTable, b: StudyTable, models: Sequence[tuple[str, str]]) -> list[RunDifference]:
    """Everything that is not the same in both; what a study did not record is said so."""
    looked_at = [*_designs(a, b), *_surroundings(a, b)]
    for model_a, model_b in models:
        looked_at += _sampling_differences(a, b, model_a, model_b)
    return [found for found in looked_at if found.a != found.b]


def changed_tasks(a: StudyTable, b: StudyTable) -> list[str]:
    """The tasks of both studies whose files were not the same, in A's order."""
    hashes = [study.provenance.task_sha256 if study.provenance else {} for study in (a, b)]
    return [task for task in a.tasks if all(task in known for known in hashes) and hashes[0][task] != hashes[1][task]]


def _designs(a: StudyTable, b: StudyTable) -> Iterator[RunDifference]:
    yield RunDifference("tasks", str(len(a.tasks)), str(len(b.tasks)))
    yield RunDifference("trials", str(a.trials), str(b.trials))
    for key in ("worlds", "conditions", "version", "commit"):
        yield RunDifference(key, _recorded(a, key), _recorded(b, key))


def _recorded(study: StudyTable, key: str) -> str:
    value = getattr(study.provenance, key) if study.provenance else None
    return _shown(value) if value else UNKNOWN


def _surroundings(a: StudyTable, b: StudyTable) -> Iterator[RunDifference]:
    """Each fact of the images, engines and limits; an image's id is another one wherever the same is built again."""
    for what, name in (("image", "images"), ("engine", "engines"), ("limit", "limits")):
        one, other = (_documents(study, name) for study in (a, b))
        for key in dict.fromkeys(key for document in (*one, *other) for key in document if key != "image_id"):
            yield RunDifference(f"{what} {key.replace('_', ' ')}", _of_all(one, key), _of_all(other, key))


def _documents(study: StudyTable, field: str) -> list[dict[str, Any]]:
    return study.provenance.model_dump(mode="json", include={field})[field] if study.provenance else []


def _of_all(documents: Sequence[Mapping[str, Any]], key: str) -> str:
    return ", ".join(sorted({_shown(document.get(key)) for document in documents})) or UNKNOWN


def _sampling_differences(a: StudyTable, b: StudyTable, model_a: str, model_b: str) -> Iterator[RunDifference]:
    name = model_a if model_a == model_b else f"{model_a} and {model_b}"
    one, other = _sampling(a, model_a), _sampling(b, model_b)
    if one and other:
        for key in sorted(Sampling.model_fields.keys() - RESULT):
            yield RunDifference(
                f"{name}: {key.replace('_', ' ')}", _asked(a.provenance, one, key), _asked(b.provenance, other, key)
            )
        return
    for column, label in (("model_echoed", "echoed"), ("temperature_sent", "temperature sent")):
        yield RunDifference(f"{name}: {label}", _in_table(a, model_a, column), _in_table(b, model_b, column))


def _sampling(study: StudyTable, model: str) -> Sampling | None:
    return study.provenance.sampling.get(model) if study.provenance else None


def _asked(provenance: Provenance | None, sampling: Sampling, key: str) -> str:
    if provenance is None or (provenance.schema_version == 1 and key in NEW_IN_2) or not sampling.answers:
        return UNKNOWN
    return _shown(getattr(sampling, key))


def _in_table(study: StudyTable, model: str, column: str) -> str:
    values = study.frame.loc[study.frame["model"] == model, column].dropna()
    return ", ".join(sorted(set(map(str, values)))) or UNKNOWN


def _shown(value: Any) -> str:
    if value is None or value in ([], {}):
        return NOTHING
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_shown(item)}" for key, item in sorted(value.items()))
    text = str(value)
    return text[:16] + "…" if len(text) in (40, 64) and not set(text) - set("0123456789abcdef") else text


@dataclass(frozen=True)
class Comparison:
    """Everything `make compare` prints."""

    a: StudyTable
    b: StudyTable
    models: tuple[ModelChange, ...]
    only_a: dict[str, list[str]]
    only_b: dict[str, list[str]]
    changed_tasks: list[str]
    differences: list[RunDifference]


def compare(a: str, b: str, results: Path = RESULTS) -> Comparison:
    """The comparison of two studies, each a name, a folder or a cells.csv; UserError if they share no model."""
    first, second = open_study_table(a, results), open_study_table(b, results)
    pairs = paired_models(first.models, second.models)
    if not pairs:
        raise UserError(
            "the two studies share no model",
            where=f"{a} has {', '.join(first.models)}; {b} has {', '.join(second.models)}",
            hint="give both configurations the same alias for the models to compare",
        )
    shared = [task for task in first.tasks if task in second.tasks]
    if not shared:
        raise UserError("the two studies share no task", where=f"{a}, {b}", hint="compare studies of one task bank")
    return Comparison(
        a=first,
        b=second,
        models=tuple(model_change(first, second, x, y, shared) for x, y in pairs),
        only_a=_only(first, second, {x for x, _ in pairs}),
        only_b=_only(second, first, {y for _, y in pairs}),
        changed_tasks=changed_tasks(first, second),
        differences=run_differences(first, second, pairs),
    )


def paired_models(a: Sequence[str], b: Sequence[str]) -> list[tuple[str, str]]:
    """The models to compare: same alias; and if one is left on each side, those two, a new version of the other."""
    pairs = [(model, model) for model in a if model in b]
    left = [model for model in a if model not in b], [model for model in b if model not in a]
    return pairs + ([(left[0][0], left[1][0])] if len(left[0]) == len(left[1]) == 1 else [])


def _only(one: StudyTable, other: StudyTable, paired: set[str]) -> dict[str, list[str]]:
    return {
        "tasks": [task for task in one.tasks if task not in other.tasks],
        "models": [model for model in one.models if model not in paired],
    }


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


def comparison_markdown(comparison: Comparison) -> str:
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


def _models_name(model: ModelChange) -> str:
    return model.model_a if model.model_a == model.model_b else f"{model.model_a} (A) and {model.model_b} (B)"


def _changes(model: ModelChange) -> Section:
    headers = ["", "A", "B", "change, pp", "95 % interval", "these tasks", "p", "changed tasks"]
    if not model.changes:
        return Section(_models_name(model), ["No task was measured in both studies."])
    return Section(
        _models_name(model), [], headers, [_row(change, model.contrast) for change in model.changes], "lrrrrrrr"
    )


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
    return Section(f"{_models_name(model)}: tasks that changed", notes, headers, rows, "l" + "rrr" * len(model.arms))


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
        write_atomic(Path(markdown), comparison_markdown(comparison))
        print(f"Written to {markdown}")
    return 0
