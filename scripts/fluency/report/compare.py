"""Two studies side by side, model by model: what changed, how sure that is, and what was run differently."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from fluency.analysis.outcomes import count_outcomes
from fluency.analysis.subgroups import RateChange, rate_changes
from fluency.common.errors import UserError
from fluency.common.files import write_atomic
from fluency.common.paths import RESULTS
from fluency.core.provenance import Provenance, Sampling, read_provenance
from fluency.core.shells import SHELLS
from fluency.core.table import read_table
from fluency.report.markdown import table, text
from fluency.report.numbers import signed
from fluency.report.tables import change_table

CAVEAT = (
    "Paired over tasks, each task weighing the same. The interval is the report's, 95 % for tasks "
    "like these, and not adjusted for the number of rows. Models are never pooled."
)
NOT_A_SETTING = {
    "schema_version",
    "registration",
    "deviations",
    "task_sha256",
    "start_up_s",
    "sampling",
    "spent_usd",
}
NOT_A_SETTING |= {"first_answer_utc", "started_utc", "ended_utc"}
NOT_ASKED_FOR = {
    "answers",
    "input_tokens",
    "output_tokens",
    "cost_usd",
    "price",
    "refusals",
    "inference_geo",
}
"""What of a model's sampling is no way of asking."""
UNKNOWN = "not recorded"


def main(a: str, b: str, markdown: Path | None = None) -> int:
    """`make compare`: print the comparison, and write it if asked to."""
    page = comparison_markdown(compare(a, b))
    print(page, end="")
    if markdown:
        write_atomic(Path(markdown), page)
        print(f"Written to {markdown}")
    return 0


@dataclass(frozen=True)
class StudyTable:
    """A study's cells table and what was recorded of its run, if anything; models and tasks in the table's order."""

    name: str
    path: Path
    frame: pd.DataFrame
    provenance: Provenance | None

    @property
    def models(self) -> list[str]:
        return list(dict.fromkeys(self.frame["model"]))

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(self.frame["task"]))

    @property
    def trials(self) -> int:
        return int(self.frame["trial"].max())


@dataclass(frozen=True)
class TaskChange:
    """One task in one pair of models: passes and measured trials by shell, in A and in B."""

    task: str
    a: dict[str, tuple[int, int]]
    b: dict[str, tuple[int, int]]

    def change(self, shell: str) -> Fraction | None:
        """Rate in B less rate in A; None where one of them was not measured."""
        (passes_a, scored_a), (passes_b, scored_b) = self.a[shell], self.b[shell]
        return (
            Fraction(passes_b, scored_b) - Fraction(passes_a, scored_a)
            if scored_a and scored_b
            else None
        )

    @property
    def size(self) -> Fraction:
        return sum((abs(self.change(shell) or Fraction()) for shell in self.a), Fraction())


@dataclass(frozen=True)
class ModelChange:
    """One model in both studies, or the one model of each."""

    model_a: str
    model_b: str
    shells_shown: tuple[str, ...]
    changes: tuple[RateChange, ...]
    tasks: tuple[TaskChange, ...]


@dataclass(frozen=True)
class Comparison:
    """Everything `make compare` prints."""

    a: StudyTable
    b: StudyTable
    models: tuple[ModelChange, ...]
    only_a: dict[str, list[str]]
    only_b: dict[str, list[str]]
    changed_tasks: list[str]
    differences: list[tuple[str, str, str]]


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
        raise UserError(
            "the two studies share no task",
            where=f"{a}, {b}",
            hint="compare studies of one task bank",
        )
    return Comparison(
        a=first,
        b=second,
        models=tuple(model_change(first, second, x, y, shared) for x, y in pairs),
        only_a=_only(first, second, {x for x, _ in pairs}),
        only_b=_only(second, first, {y for _, y in pairs}),
        changed_tasks=_edited_tasks(first, second),
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


def _edited_tasks(a: StudyTable, b: StudyTable) -> list[str]:
    hashes = [study.provenance.task_sha256 if study.provenance else {} for study in (a, b)]
    return [
        task
        for task in a.tasks
        if all(task in known for known in hashes) and hashes[0][task] != hashes[1][task]
    ]


def open_study_table(name: str, results: Path = RESULTS) -> StudyTable:
    """A study by its name, its folder or its cells table; UserError if there is none."""
    given = Path(name)
    tries = [given, given / "cells.csv"] if "/" in name or given.suffix or given.is_dir() else []
    tries.append(Path(results) / name / "cells.csv")
    path = next((path for path in tries if path.is_file()), None)
    if path is None:
        known = (
            ", ".join(sorted(file.parent.name for file in Path(results).glob("*/cells.csv")))
            or "none yet"
        )
        raise UserError(
            "there is no such study",
            where=name,
            hint=f"name a study or a cells.csv; studies with results: {known}",
        )
    frame = read_table(path)
    if frame.empty:
        raise UserError("the study has no cells", where=str(path), hint="run it first")
    recorded = path.with_name("provenance.json")
    provenance = read_provenance(recorded) if recorded.exists() else None
    return StudyTable(
        path.parent.name if name == str(given) and "/" in name else name, path, frame, provenance
    )


def model_change(
    first: StudyTable, second: StudyTable, model_a: str, model_b: str, tasks: list[str]
) -> ModelChange:
    """One pair of models over the tasks both studies have."""
    shells = [*first.frame["shell"].unique(), *second.frame["shell"].unique()]
    counts = [
        count_outcomes(source.frame[source.frame["model"] == model], tasks, source.trials, shells)
        for source, model in ((first, model_a), (second, model_b))
    ]
    per_task = [
        TaskChange(
            task,
            *({s: (own.passes[i], own.scored[i]) for s, own in c.by_shell.items()} for c in counts),
        )
        for i, task in enumerate(tasks)
    ]
    return ModelChange(
        model_a,
        model_b,
        tuple(counts[0].by_shell),
        rate_changes(counts[0], counts[1], tuple(counts[0].by_shell)),
        tuple(per_task),
    )


def run_differences(
    a: StudyTable, b: StudyTable, models: Sequence[tuple[str, str]]
) -> list[tuple[str, str, str]]:
    """(fact, in A, in B) where they differ; a fact that a study does not have is `not recorded`."""
    titles = [one if one == other else f"{one} and {other}" for one, other in models]
    facts = [
        _run_facts(study, dict(zip(aliases, titles, strict=True)))
        for study, aliases in zip((a, b), zip(*models, strict=True), strict=True)
    ]
    a_facts, b_facts = facts
    both = [
        (what, a_facts.get(what, UNKNOWN), b_facts.get(what, UNKNOWN)) for what in a_facts | b_facts
    ]
    return [fact for fact in both if fact[1] != fact[2]]


def _run_facts(study: StudyTable, titles: Mapping[str, str]) -> dict[str, str]:
    facts = {"tasks": str(len(study.tasks)), "trials": str(study.trials)}
    made = study.provenance
    known = made.model_dump(mode="json", exclude=NOT_A_SETTING) if made else {}
    for key, value in known.items():
        documents = [part for part in (value if isinstance(value, list) else [value]) if part]
        if not all(isinstance(document, Mapping) for document in documents):
            facts[key] = _shown(value)
            continue
        # An image's id is another one wherever the same image is built again.
        for name in dict.fromkeys(n for part in documents for n in part if n != "image_id"):
            shown = sorted({_shown(document.get(name)) for document in documents})
            facts[f"{key}: {name}"] = ", ".join(shown)
    for alias, title in titles.items():
        sent = made.sampling.get(alias) if made else None
        rows = study.frame[study.frame["model"] == alias]
        if sent and sent.answers:
            asked = sorted(Sampling.model_fields.keys() - NOT_ASKED_FOR)
            of_model = {key: getattr(sent, key) for key in asked}
        else:
            columns = {"model_echoed": "echoed", "temperature_sent": "temperature_sent"}
            of_model = {
                key: sorted({*rows[column].dropna()}) or UNKNOWN for column, key in columns.items()
            }
        facts |= {f"{title}: {key}": _shown(value) for key, value in of_model.items()}
    return facts


def _shown(value: Any) -> str:
    if value is None or value in ([], {}):
        return "none"
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_shown(item)}" for key, item in sorted(value.items()))
    shown = str(value)
    return f"{shown[:16]}…" if re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", shown) else shown


def comparison_markdown(comparison: Comparison) -> str:
    """The comparison as a Markdown document."""
    return "\n\n".join(_parts(comparison)) + "\n"


def _parts(comparison: Comparison) -> Iterator[str]:
    a, b = comparison.a, comparison.b
    yield f"# {text(a.name)} (A) and {text(b.name)} (B)"
    yield CAVEAT
    for model in comparison.models:
        name = text(
            model.model_a
            if model.model_a == model.model_b
            else f"{model.model_a} (A) and {model.model_b} (B)"
        )
        yield f"## {name}"
        yield (
            change_table(model.changes, ("A", "B"))
            if model.changes
            else "No task was measured in both studies."
        )
        yield f"## {name}: tasks that changed"
        yield from _changed_tasks(model)
    yield "## What was run differently"
    for letter, source in (("A", a), ("B", b)):
        if source.provenance is None:
            yield f"{letter} has no provenance.json beside its table: only what the table tells is compared."
    if comparison.changed_tasks:
        names = text(", ".join(comparison.changed_tasks), limit=10_000)
        yield f"These tasks were edited between the studies, so a change may be the task's: {names}."
    if comparison.differences:
        yield table(
            ["", "A", "B"], [[text(value) for value in row] for row in comparison.differences]
        )
    else:
        yield "Nothing that was recorded differs."
    for title, only in ((f"A, {a.name}", comparison.only_a), (f"B, {b.name}", comparison.only_b)):
        if any(only.values()):
            yield f"## Only in {text(title)}"
            for noun, found in only.items():
                if found:
                    yield text(f"{noun.capitalize()}: {', '.join(found)}.", limit=10_000)
            yield "They are not compared."


def _changed_tasks(model: ModelChange) -> Iterator[str]:
    changed = sorted(
        (task for task in model.tasks if task.size), key=lambda task: (-task.size, task.task)
    )
    unmeasured = sum(
        all(task.change(shell) is None for shell in model.shells_shown) for task in model.tasks
    )
    same = len(model.tasks) - len(changed) - unmeasured
    yield f"{len(changed)} of {len(model.tasks)} tasks changed, {same} did not, {unmeasured} cannot be compared."
    if changed:
        headers = [
            "task",
            *(
                f"{SHELLS[s].title} {part}"
                for s in model.shells_shown
                for part in ("A", "B", "change, pp")
            ),
        ]
        rows = [
            [
                text(task.task),
                *(cell for shell in model.shells_shown for cell in _task_cells(task, shell)),
            ]
            for task in changed
        ]
        yield table(headers, rows, "l" + "rrr" * len(model.shells_shown))


def _task_cells(task: TaskChange, shell: str) -> list[str]:
    counts = [
        f"{passes}/{scored}" if scored else "n/a"
        for passes, scored in (task.a[shell], task.b[shell])
    ]
    change = task.change(shell)
    return [*counts, "n/a" if change is None else signed(change)]
