"""Two studies side by side: what changed, how sure that is, and what was run differently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from fluency.analysis.outcomes import Outcomes, count_outcomes
from fluency.analysis.subgroups import RateChange, rate_changes
from fluency.common.errors import UserError
from fluency.common.files import write_atomic
from fluency.common.paths import RESULTS
from fluency.core.provenance import Provenance, read_provenance
from fluency.core.shells import SHELLS
from fluency.core.table import read_table
from fluency.report.facts import flat
from fluency.report.markdown import table, text
from fluency.report.numbers import signed
from fluency.report.tables import change_table
from fluency.report.templates import render

NOT_A_SETTING: dict[str, Any] = {
    "schema_version": True,
    "registration": True,
    "deviations": True,
    "task_sha256": True,
    "start_up_s": True,
    "spent_usd": True,
    "first_answer_utc": True,
    "started_utc": True,
    "ended_utc": True,
    "images": {"__all__": {"image_id"}},
    "sampling": {"__all__": {"answers", "input_tokens", "output_tokens", "cost_usd", "price"}},
}
"""What of a provenance does not say how a study was run; an image built again has another id."""
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
    """A study's cells table and what was recorded of its run; models and tasks in its order."""

    name: str
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

    @property
    def task_sha256(self) -> dict[str, str]:
        return self.provenance.task_sha256 if self.provenance else {}


@dataclass(frozen=True)
class ModelChange:
    """One model in both studies, or the one model of each, over the tasks both have."""

    name: str
    before: Outcomes
    after: Outcomes

    @property
    def changes(self) -> tuple[RateChange, ...]:
        return rate_changes(self.before, self.after, tuple(self.before.by_shell))


@dataclass(frozen=True)
class Comparison:
    """Everything `make compare` prints.

    Attributes:
        a: The first study.
        b: The second one.
        models: Those compared.
        only: Models and tasks of the first study, and of the second, that are not compared.
        changed_tasks: Shared tasks whose files differ.
        differences: A fact of the run, in A and in B.
    """

    a: StudyTable
    b: StudyTable
    models: tuple[ModelChange, ...]
    only: tuple[list[str], ...]
    changed_tasks: list[str]
    differences: list[tuple[str, str, str]]


def compare(a: str, b: str, results: Path = RESULTS) -> Comparison:
    """The comparison of two studies, each a name, a folder or a cells.csv.

    Raises:
        UserError: The studies share no model or no task.
    """
    studies = open_study_table(a, results), open_study_table(b, results)
    first, second = studies
    pairs = paired_models(first.models, second.models)
    tasks = [task for task in first.tasks if task in second.tasks]
    for noun, shared in (("model", pairs), ("task", tasks)):
        if not shared:
            raise UserError(
                f"the two studies share no {noun}",
                where=f"{a}, {b}",
                hint="compare studies of one task bank, and give a model the same alias in both",
            )
    shells = [shell for study in studies for shell in study.frame["shell"].unique()]
    changes = []
    aliases: tuple[dict[str, str], dict[str, str]] = ({}, {})
    for pair in pairs:
        name = pair[0] if pair[0] == pair[1] else f"{pair[0]} (A) and {pair[1]} (B)"
        sides = []
        for study, names, alias in zip(studies, aliases, pair, strict=True):
            names[alias] = name
            rows = study.frame[study.frame["model"] == alias]
            sides.append(count_outcomes(rows, tasks, study.trials, shells))
        changes.append(ModelChange(name, *sides))
    facts = [_run_facts(study, names) for study, names in zip(studies, aliases, strict=True)]
    both = [
        (key, facts[0].get(key, UNKNOWN), facts[1].get(key, UNKNOWN)) for key in facts[0] | facts[1]
    ]
    return Comparison(
        a=first,
        b=second,
        models=tuple(changes),
        only=tuple(
            [name for name in (*study.models, *study.tasks) if name not in {*names, *tasks}]
            for study, names in zip(studies, aliases, strict=True)
        ),
        changed_tasks=[
            task
            for task in tasks
            if len({study.task_sha256[task] for study in studies if task in study.task_sha256}) > 1
        ],
        differences=[fact for fact in both if fact[1] != fact[2]],
    )


def paired_models(a: Sequence[str], b: Sequence[str]) -> list[tuple[str, str]]:
    """The models to compare: of one alias, and the only ones left on each side.

    Those two are taken for versions of one model.
    """
    pairs = [(model, model) for model in a if model in b]
    left = [model for model in a if model not in b], [model for model in b if model not in a]
    return pairs + ([(left[0][0], left[1][0])] if len(left[0]) == len(left[1]) == 1 else [])


def open_study_table(name: str, results: Path = RESULTS) -> StudyTable:
    """A study by its name, its folder or its cells table; UserError without one."""
    places = (Path(name), Path(name) / "cells.csv", Path(results) / name / "cells.csv")
    path = next((path for path in places if path.is_file()), None)
    if path is None:
        known = sorted(file.parent.name for file in Path(results).glob("*/cells.csv"))
        raise UserError(
            "no such study",
            where=name,
            hint=f"name a study or a cells.csv; studies with results: {', '.join(known) or 'none'}",
        )
    frame = read_table(path)
    if frame.empty:
        raise UserError("the study has no cells", where=str(path), hint="run it first")
    recorded = path.with_name("provenance.json")
    provenance = read_provenance(recorded) if recorded.exists() else None
    return StudyTable(path.parent.name, frame, provenance)


def _run_facts(study: StudyTable, names: Mapping[str, str]) -> dict[str, str]:
    """How a study was run; `names` has the compared models."""
    known: dict[str, Any] = {"tasks": len(study.tasks), "trials": study.trials}
    if study.provenance:
        known |= study.provenance.model_dump(mode="json", exclude=NOT_A_SETTING)
        sampling = known["sampling"]
        known["sampling"] = {n: sampling[alias] for alias, n in names.items() if alias in sampling}
    return flat(known)


def comparison_markdown(comparison: Comparison) -> str:
    """The comparison as a Markdown document."""
    models = [
        (model.name, change_table(model.changes, ("A", "B")), _task_table(model))
        for model in comparison.models
    ]
    values = {
        "comparison": comparison,
        "models": models,
        "facts": table(["", "A", "B"], [list(map(text, fact)) for fact in comparison.differences]),
    }
    return render("compare.md.j2", values)


def _task_table(model: ModelChange) -> str:
    """The tasks whose rates changed, the largest changes first; empty without any."""
    rows = []
    for place, task in enumerate(model.before.tasks):
        cells, size = [], Fraction()
        for shell in model.before.by_shell:
            sides = [one.by_shell[shell] for one in (model.before, model.after)]
            (p, n), (q, m) = [(side.passes[place], side.scored[place]) for side in sides]
            change = Fraction(q, m) - Fraction(p, n) if n and m else None
            cells += [f"{p}/{n}" if n else "n/a", f"{q}/{m}" if m else "n/a"]
            cells.append("n/a" if change is None else signed(change))
            size += abs(change or Fraction())
        if size:
            rows.append((-size, text(task), cells))
    parts = [
        f"{SHELLS[s].title} {part}"
        for s in model.before.by_shell
        for part in ("A", "B", "change, pp")
    ]
    shown = [[task, *cells] for _, task, cells in sorted(rows)]
    return table(["task", *parts], shown, "l" + "r" * len(parts)) if rows else ""
