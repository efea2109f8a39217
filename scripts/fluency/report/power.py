"""`make power`: what gap a design can detect, from a study's own results or an assumption."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, sqrt
from pathlib import Path

from fluency.analysis.outcomes import count_outcomes
from fluency.analysis.power import Spread, assumed_spread, critical, detectable, sample_sizes
from fluency.common.paths import RESULTS
from fluency.core.shells import gap_shells
from fluency.core.study import Study
from fluency.core.table import read_table
from fluency.core.tasks import load_tasks

HEADS = [
    "",
    "half-width",
    "gap found",
    "tasks: who is ahead (gap 10)",
    "tasks: less than 5 (gap 0)",
]


def main(study: Study, results: Path = RESULTS) -> int:
    """Print the table for a study: from its own results, else from the pass rate it assumes."""
    ids, sources = [task.id for task in load_tasks(study.tasks)], dict[str, Spread]()
    path = Path(results) / study.study / "cells.csv"
    for alias, cells in read_table(path).groupby("model", sort=False) if path.exists() else ():
        paired = count_outcomes(cells, ids, study.trials, gap_shells(study.shells)).paired()
        if paired and len(paired.tasks) > 1:
            sources[f"results of {alias}"] = constant(paired.sd)
    lines = [f"This design: {len(ids)} tasks x {study.trials} trials, one model."]
    if not sources:
        lines.append("No results of both shells yet: the spread is assumed, docs/figures.md.")
        sources[f"both shells pass {100 * study.assume:g} %"] = assumed_spread(
            study.assume, study.trials
        )
    rows = [HEADS, *size_rows(sources, len(ids))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines += [
        "",
        "With this design, in points: the half-width of the interval at a true gap of 0, and the",
        "gap found 80 % of the time. Then the tasks that answer a question 80 % of the time.",
        *(
            "  ".join([head.ljust(widths[0]), *map(str.rjust, rest, widths[1:])])
            for head, *rest in rows
        ),
        "",
        "The spread of one study is uncertain: with 20 tasks by a third. n/a: none was seen.",
    ]
    print("\n".join(lines))
    return 0


def constant(spread: float) -> Spread:
    """A spread that was measured, for any gap."""
    return lambda gap: spread


def size_rows(sources: Mapping[str, Spread], tasks: int) -> list[list[str]]:
    """A row for each source: what the tasks find, and how many answer each question."""
    rows = []
    for title, spread in sources.items():
        half_width = critical(tasks) * spread(0.0) / sqrt(tasks)
        gaps = (half_width, detectable(spread, tasks))
        shown = [f"{100 * gap:.1f}" if gap and isfinite(gap) else "n/a" for gap in gaps]
        sizes = sample_sizes(spread)
        needed = [sizes.ahead, sizes.no_difference] if sizes else ["n/a", "n/a"]
        rows.append([title, *shown, *map(str, needed)])
    return rows
