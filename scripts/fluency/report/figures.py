"""Three kinds of figures as SVG: the gaps, and for each model its tasks and its failures.

The templates in report/figures hold the drawing; this module says what is drawn.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from fluency.analysis.decision_table import DIRECTION_PP, NOISE_PP
from fluency.analysis.study_analysis import Analysis, ModelAnalysis
from fluency.common.words import plural
from fluency.core.shells import SHELLS
from fluency.report.marks import FAILURES
from fluency.report.numbers import signed, span
from fluency.report.sentences import claims_sentence, listed, short_names, telling_first
from fluency.report.templates import render

WIDEST = 7.5
"""Width of a letter in pixels, a little generous since the reader's font may be wider."""


@dataclass(frozen=True)
class Drawing:
    """One figure: its kind and model (empty: all), its SVG, and what it shows in words."""

    kind: str
    model: str
    svg: str
    alt: str

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.model}.svg" if self.model else f"{self.kind}.svg"


def draw_figures(analysis: Analysis) -> list[Drawing]:
    """All figures of a report, in its order; what was not measured is not drawn."""
    drawings = [draw_gaps(analysis)]
    for model in analysis.models:
        drawings += [draw_tasks(model), draw_failures(model)]
    return [drawing for drawing in drawings if drawing]


def _draw(
    kind: str, title: str, alt: str, rows: Sequence[dict[str, Any]], **values: Any
) -> Drawing:
    """`rows` have names, which are written left of the plot."""
    left = round(WIDEST * max(len(row["name"]) for row in rows)) + 20
    values |= {"title": title, "alt": alt, "rows": rows, "left": left}
    return Drawing(kind, values.get("model", ""), render(f"figures/{kind}.svg.j2", values), alt)


def _ticks(most: float) -> list[int]:
    """At most five round numbers from 0 to `most` or beyond."""
    step = next(step for step in (1, 2, 5, 10, 20, 50) if most <= 5 * step)
    return list(range(0, step * ceil(most / step) + 1, step))


def draw_gaps(analysis: Analysis) -> Drawing | None:
    """A forest of gaps over the bands of the decision table; None if no model has one."""
    shown = [(model, model.gap) for model in telling_first(analysis) if model.gap]
    if not shown:
        return None
    baseline, challenger = short_names(analysis.contrast)
    reach = max(abs(100 * end) for _, gap in shown for end in gap.interval)
    limit = min(100, max(20, 5 * ceil((reach + 3) / 5)))
    rows, words = [], []
    for model, gap in shown:
        low, high = (100 * float(end) for end in gap.interval)
        said = claims_sentence(model) if model.reading.band else "Not compared."
        words.append(
            f"{model.model}: {signed(gap.value)}, 95 % interval {span(gap.interval)}. {said}"
        )
        rows.append(
            {
                "name": model.model,
                "note": f"{signed(gap.value)} ({span(gap.interval)})",
                "gap": 100 * float(gap.value),
                "low": low,
                "high": high,
                "fixed": 100 * (gap.fixed or 0),
                "edge": gap.edge,
            }
        )
    ticks = [tick for tick in _ticks(limit) if tick <= limit]
    return _draw(
        "gaps",
        "Gaps over the decision table",
        f"Gap of each model in points, {challenger} less {baseline}, over the bands of the "
        f"decision table. {' '.join(words)}",
        rows,
        limit=limit,
        ticks=[*(-tick for tick in ticks[:0:-1]), *ticks],
        baseline=baseline,
        challenger=challenger,
        direction=DIRECTION_PP,
        noise=NOISE_PP,
    )


def _by_role(model: ModelAnalysis) -> list[str]:
    """The shells in the order of their marks: baseline, challenger, any further."""
    contrast = model.outcomes.contrast
    return [*contrast, *(shell for shell in model.outcomes.by_shell if shell not in contrast)]


def draw_tasks(model: ModelAnalysis) -> Drawing | None:
    """The rates of all shells by task, the challenger's largest lead first.

    Tasks passed always or never in every shell are left out and counted. None if no task is left.
    """
    outcomes, shells = model.outcomes, _by_role(model)
    rows: list[dict[str, Any]] = []
    flat = {100.0: 0, 0.0: 0}
    for place, task in enumerate(outcomes.tasks):
        counts = [
            (outcomes.by_shell[s].passes[place], outcomes.by_shell[s].scored[place]) for s in shells
        ]
        rates = [100 * passes / scored if scored else None for passes, scored in counts]
        known = {*rates} - {None}
        if len(known) == 1 and (only := known.pop()) in flat:
            flat[only] += 1
        elif any(rate is not None for rate in rates):
            rows.append({"name": task, "rates": rates})
    if not rows:
        return None
    rows.sort(key=lambda row: ((row["rates"][0] or 0) - (row["rates"][1] or 0), row["name"]))
    left_out = [
        f"{plural(flat[rate], 'task')} {how}"
        for rate, how in (
            (100.0, "always passed in every shell"),
            (0.0, "never passed in any shell"),
        )
        if flat[rate]
    ]
    note = f"Not shown: {listed(left_out)}." if left_out else ""
    named = _legend(shells, [s for s in shells if any(outcomes.by_shell[s].scored)])
    names = listed([name for _, name in named])
    return _draw(
        "tasks",
        f"Tasks, {model.model}",
        f"Share of passed runs of {model.model} by task, in {names}. {note}".strip(),
        rows,
        model=model.model,
        shells=named,
        trials=outcomes.trials,
        flat=note,
    )


def _legend(shells: list[str], shown: Collection[str]) -> list[tuple[int, str]]:
    """The mark and name of each shell shown."""
    return [(place, SHELLS[s].short_title) for place, s in enumerate(shells) if s in shown]


def draw_failures(model: ModelAnalysis) -> Drawing | None:
    """Bars of all measured shells by failure class, the commonest first; None without any."""
    measured = {shell: tally.measured for shell, tally in model.tallies.items() if tally.measured}
    rows: list[dict[str, Any]] = [
        {
            "name": FAILURES.get(line.failure_class, ("", line.failure_class))[1],
            "counts": [line.counts.get(shell, 0) for shell in measured],
        }
        for line in model.failures
    ]
    if not rows:
        return None
    rows.sort(key=lambda row: -sum(row["counts"]))
    words = [f"{row['name']} {' / '.join(map(str, row['counts']))}" for row in rows]
    shells = _by_role(model)
    return _draw(
        "failures",
        f"Failures, {model.model}",
        f"How runs of {model.model} failed, {' / '.join(short_names(measured))}: "
        f"{'; '.join(words)}.",
        rows,
        model=model.model,
        shells=_legend(shells, measured),
        measured=[(shells.index(shell), size) for shell, size in measured.items()],
        ticks=_ticks(
            max(
                100 * count / size
                for row in rows
                for count, size in zip(row["counts"], measured.values(), strict=True)
            )
        ),
    )
