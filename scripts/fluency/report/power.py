"""`make power`: what gap a design can detect, from a study's own results or an assumption."""

from fractions import Fraction
from math import isfinite

from tabulate import tabulate  # type: ignore[import-untyped]  # it has no types

from fluency.analysis.decision_table import edge_of
from fluency.analysis.gap import estimate_gap
from fluency.analysis.outcomes import count_outcomes
from fluency.analysis.power import (
    LARGEST,
    Spread,
    assumed_spread,
    detectable,
    finds,
    half_width,
    larger,
    sample_sizes,
)
from fluency.common.errors import UserError
from fluency.common.paths import ANSWERS, RESULTS
from fluency.core.loaded_study import LoadedStudy
from fluency.core.shells import gap_pairs
from fluency.core.study import Study
from fluency.core.table import read_table
from fluency.core.tasks import load_tasks
from fluency.generation.cost_estimate import estimate_cost
from fluency.generation.policies import resolve
from fluency.generation.store import AnswerStore

HEADS = [
    "",
    "half-width",
    "gap found",
    "finds 10, of 100",
    "tasks: who is ahead (gap 10)",
    "tasks: less than 5 (gap 0)",
]


def main(loaded: LoadedStudy) -> int:
    """Print the table for a study: from its own results, else from the pass rate it assumes."""
    study, ids, sources = loaded.study, [*loaded.task_of], dict[str, tuple[Spread, bool]]()
    path = RESULTS / study.study / "cells.csv"
    for alias, cells in read_table(path).groupby("model", sort=False) if path.exists() else ():
        for pair in (pairs := gap_pairs(study.shells)):
            gap = estimate_gap(count_outcomes(cells, ids, study.trials, pair))
            if gap and len(gap.paired.tasks) > 1:
                named = f"results of {alias}" + (f", {pair[1]}" if len(pairs) > 1 else "")
                sources[named] = gap.spread, gap.near_edge
    lines = [f"This design: {len(ids)} tasks x {study.trials} trials, one model."]
    if not sources:
        lines.append("No results of both shells yet: the spread is assumed, docs/figures.md.")
        assumed = assumed_spread(study.assume, study.trials), bool(edge_of(Fraction(study.assume)))
        sources[f"both shells pass {100 * study.assume:g} %"] = assumed
    rows = []
    for title, (spread, near_edge) in sources.items():
        rows.append(size_row(title, spread, len(ids), near_edge))
        if most := larger(len(ids)):
            whole = f"with the {most} tasks of {LARGEST}"
            rows.append([*size_row(whole, spread, most, near_edge)[:4], "", ""])
    lines += [
        "",
        "In points: the half-width of the interval at a true gap of 0, and the gap found 80 % of",
        "the time. Of 100 studies, those that find a gap of 10. Then the tasks that answer a",
        "question 80 % of the time.",
        tabulate(rows, HEADS, "plain", colalign=["left", *["right"] * 5], disable_numparse=True),
        "",
        *larger_price(study, len(ids)),
        "The spread of one study is uncertain: with 20 tasks by a third. n/a: none was seen.",
    ]
    print("\n".join(lines))
    return 0


def larger_price(study: Study, tasks: int) -> list[str]:
    """What the same models cost on the largest set; nothing if that is free, or no larger."""
    if not (most := larger(tasks)):
        return []
    try:
        if not any(resolve(model).cost(1, 1) for model in study.models):
            return []
        cost = estimate_cost(study, load_tasks(LARGEST), AnswerStore(ANSWERS))
    except UserError:  # a model without a price
        return []
    said = f"about ${cost.expected_usd:.2f}, at most ${cost.most_usd:.2f}"
    return [f"The same models on the {most} tasks of `{LARGEST}`: {said}."] * bool(cost.most_usd)


def size_row(title: str, spread: Spread, tasks: int, near_edge: bool = False) -> list[str]:
    """What the tasks find, and how many answer each question."""
    sizes = sample_sizes(spread, near_edge) if tasks > 1 else None
    if not sizes:
        return [title, *["n/a"] * 5]
    half = half_width(spread(0.0) ** 2 * (tasks - 1), tasks, floored=near_edge)
    gaps = (float(half), detectable(spread, tasks))
    shown = [f"{100 * gap:.1f}" if isfinite(gap) else "n/a" for gap in gaps]
    share = f"{100 * finds(spread, tasks, near_edge):.0f}"
    return [title, *shown, share, str(sizes.ahead), str(sizes.no_difference)]
