"""Two studies side by side: what changed, how sure that is, and what was run differently."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from fluency.analysis.changes import RateChange, rate_changes
from fluency.analysis.outcomes import Outcomes, count_outcomes
from fluency.common.errors import UserError
from fluency.common.paths import RESULTS
from fluency.core.provenance import Provenance, read_provenance
from fluency.core.shells import arms, gap_pairs
from fluency.core.table import read_table
from fluency.report.facts import flat
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


class StudyTable(NamedTuple):
    """A study's cells table and what was recorded of its run; models and tasks in its order."""

    name: str
    frame: pd.DataFrame
    provenance: Provenance | None

    def named(self, column: str) -> list[str]:
        return list(dict.fromkeys(self.frame[column]))

    @property
    def trials(self) -> int:
        return int(self.frame["trial"].max())


class Comparison(NamedTuple):
    """Everything `make compare` prints.

    Attributes:
        studies: A and B.
        models: Of those compared, what changed, and the tasks whose rates did.
        only: Models and tasks of A, and of B, that are not compared.
        changed_tasks: Shared tasks whose files differ.
        differences: A fact of the run, in A and in B.
    """

    studies: tuple[StudyTable, StudyTable]
    models: dict[str, tuple[list[RateChange], list[Any]]]
    only: list[list[str]]
    changed_tasks: list[str]
    differences: list[list[str]]

    def markdown(self) -> str:
        """The comparison as a page."""
        return render("compare.md.j2", self._asdict())


def compare(first: StudyTable, second: StudyTable) -> Comparison:
    """The comparison of two studies, A and B.

    Raises:
        UserError: The studies share no model or no task.
    """
    studies = first, second
    pairs = paired_models(first.named("model"), second.named("model"))
    tasks = [task for task in first.named("task") if task in second.named("task")]
    for noun, shared in (("model", pairs), ("task", tasks)):
        if not shared:
            raise UserError(
                f"the two studies share no {noun}",
                where=f"{first.name}, {second.name}",
                hint="compare studies of one task bank, and give a model the same alias in both",
            )
    shells = [*first.named("shell"), *second.named("shell")]
    models, facts, only = {}, [], []
    for name, pair in pairs.items():
        before, after = (
            count_outcomes(
                study.frame[study.frame["model"].eq(alias) & study.frame["turn"].eq(1)],
                tasks,
                study.trials,
                arms(shells),
            )
            for alias, study in zip(pair, studies, strict=True)
        )
        models[name] = rate_changes(before, after, gap_pairs(shells)), _changed_rates(before, after)
    for study, aliases in zip(studies, zip(*pairs.values(), strict=True), strict=True):
        facts.append(_run_facts(study, dict(zip(aliases, pairs, strict=True))))
        named = (*study.named("model"), *study.named("task"))
        only.append([name for name in named if name not in {*aliases, *tasks}])
    known = [study.provenance.task_sha256 for study in studies if study.provenance]
    both = (
        [key, *(side.get(key, "not recorded") for side in facts)] for key in facts[0] | facts[1]
    )
    return Comparison(
        studies=studies,
        models=models,
        only=only,
        changed_tasks=[t for t in tasks if len({files[t] for files in known if t in files}) > 1],
        differences=[fact for fact in both if fact[1] != fact[2]],
    )


def paired_models(a: Sequence[str], b: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The models to compare, by their name: of one alias, and the only ones left on each side.

    Those two are treated as versions of one model.
    """
    pairs = {model: (model, model) for model in a if model in b}
    old, new = ([model for model in side if model not in pairs] for side in (a, b))
    if len(old) == len(new) == 1:
        pairs[f"{old[0]} (A) and {new[0]} (B)"] = old[0], new[0]
    return pairs


def open_study_table(name: str) -> StudyTable:
    """A study by its name, its folder or its cells table; UserError without one."""
    places = (Path(name), Path(name) / "cells.csv", RESULTS / name / "cells.csv")
    path = next((path for path in places if path.is_file()), None)
    if path is None:
        names = sorted(file.parent.name for file in RESULTS.glob("*/cells.csv"))
        known = f"studies with results: {', '.join(names) or 'none'}"
        raise UserError(
            "no such study",
            where=name or "A=, B=",
            hint=f"name a study, a cells.csv or an archive; {known}",
        )
    frame = read_table(path)
    if frame.empty:
        raise UserError("the study has no cells", where=str(path), hint="run it first")
    recorded = path.with_name("provenance.json")
    provenance = read_provenance(recorded) if recorded.exists() else None
    return StudyTable(path.parent.name, frame, provenance)


def _run_facts(study: StudyTable, names: Mapping[str, str]) -> dict[str, str]:
    """How a study was run; `names` has the compared models."""
    known: dict[str, Any] = {"tasks": len(study.named("task")), "trials": study.trials}
    if study.provenance:
        known |= study.provenance.model_dump(mode="json", exclude=NOT_A_SETTING)
        sampling = known["sampling"]
        known["sampling"] = {n: sampling[alias] for alias, n in names.items() if alias in sampling}
    return flat(known)


def _changed_rates(before: Outcomes, after: Outcomes) -> list[tuple[Fraction, str, str, str, str]]:
    """The tasks whose rates changed in a shell, the largest changes first."""
    rows = []
    for shell, old in before.by_shell.items():
        new = after.by_shell[shell]
        counts = zip(old.passes, old.scored, new.passes, new.scored, strict=True)
        for task, (p, n, q, m) in zip(before.tasks, counts, strict=True):
            if n and m and (change := Fraction(q, m) - Fraction(p, n)):
                rows.append((change, task, shell, f"{p}/{n}", f"{q}/{m}"))
    return sorted(rows, key=lambda row: (-abs(row[0]), *row[1:]))
