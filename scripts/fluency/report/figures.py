"""Figures as SVG: the gaps, and for each model its failures and its turns.

The templates in report/figures hold the drawing; this module says what is drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from fluency.analysis.decision_table import DIRECTION_PP, NOISE_PP
from fluency.analysis.study_analysis import Analysis, ModelAnalysis
from fluency.analysis.turns import Turns
from fluency.report.marks import FAILURES
from fluency.report.numbers import percent, signed, span
from fluency.report.sentences import headline_of, telling_first
from fluency.report.templates import render
from fluency.report.words import short_name, short_names

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
    failures, turns = map(draw_failures, analysis.models), map(draw_turns, analysis.turns)
    return [*filter(None, (draw_gaps(analysis), *failures, *turns))]


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
    shown = [(pair, pair.gap) for pair in telling_first(analysis.contrasts) if pair.gap]
    if not shown:
        return None
    baseline, *others = short_names(analysis.shells_shown)
    challenger = others[0] if len(others) == 1 else "other shell"
    reach = max(abs(100 * end) for _, gap in shown for end in gap.interval)
    limit = min(100, max(20, 5 * ceil((reach + 3) / 5)))
    rows = [
        {
            "name": pair.name,
            "note": f"{signed(gap.value)} ({span(gap.interval)})",
            "gap": 100 * float(gap.value),
            "low": 100 * float(gap.interval.low),
            "high": 100 * float(gap.interval.high),
        }
        for pair, gap in shown
    ]
    ticks = [tick for tick in _ticks(limit) if tick <= limit]
    return _draw(
        "gaps",
        "Gaps over the decision table",
        f"Gap of each model in points, {challenger} less {baseline}, over the bands of the "
        f"decision table. {' '.join(headline_of(pair) for pair, _ in shown)}",
        rows,
        limit=limit,
        ticks=[*(-tick for tick in ticks[:0:-1]), *ticks],
        baseline=baseline,
        challenger=challenger,
        direction=DIRECTION_PP,
        noise=NOISE_PP,
    )


def draw_failures(model: ModelAnalysis) -> Drawing | None:
    """Bars of all measured shells by failure class, the commonest first; None without any."""
    shells = [*model.outcomes.by_shell]
    bars = [
        (shells.index(shell), short_name(shell), tally.measured)
        for shell, tally in model.tallies.items()
        if tally.measured
    ]
    rows: list[dict[str, Any]] = [
        {
            "name": FAILURES[line.failure_class][1],
            "counts": [line.counts[shells[place]] for place, *_ in bars],
        }
        for line in model.failures
    ]
    if not rows:
        return None
    rows.sort(key=lambda row: -sum(row["counts"]))
    words = [f"{row['name']} {' / '.join(map(str, row['counts']))}" for row in rows]
    most = max(
        100 * count / size
        for row in rows
        for count, (*_, size) in zip(row["counts"], bars, strict=True)
    )
    return _draw(
        "failures",
        f"Failures, {model.model}",
        f"How runs of {model.model} failed, {' / '.join(name for _, name, _ in bars)}: "
        f"{'; '.join(words)}.",
        rows,
        model=model.model,
        bars=bars,
        ticks=_ticks(most),
    )


def draw_turns(turns: Turns) -> Drawing | None:
    """Bars of each shell's pass rate by turn, and the rate of fresh draws."""
    rows: list[dict[str, Any]] = []
    for place, (shell, fresh) in enumerate(turns.fresh.items()):
        for turn, each in enumerate(turns.outcomes):
            if (own := each.of(shell).paired()) and fresh:
                share = own.by_shell[shell].rate
                name, note = f"{short_name(shell)}, turn {turn + 1}", percent(share)
                drawn = {"share": 100 * float(share), "fresh": 100 * fresh[turn]}
                rows.append({"name": name, "note": note, "place": place, **drawn})
    words = "; ".join(
        f"{row['name']} {row['note']} (fresh draws {row['fresh']:.1f} %)" for row in rows
    )
    alt = f"Pass rate of {turns.model} by turn: {words}."
    if not rows:
        return None
    return _draw("turns", f"Second look, {turns.model}", alt, rows, model=turns.model)
