"""The tables that are computed or that more than one page shows; others are in the templates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from fluency.analysis.contrast import Contrast
from fluency.analysis.outcomes import Outcomes
from fluency.analysis.study_analysis import Analysis
from fluency.report.markdown import table, text
from fluency.report.marks import FAILURES, MARKS
from fluency.report.sentences import results, short_names, telling_first

SHOWN = 5


def result_rows(analysis: Analysis) -> list[list[str]]:
    """The headers, and the results of each model."""
    pairs = telling_first(analysis.contrasts)
    found = [results(pair, analysis.shells_shown) for pair in pairs]
    return [[*found[0]], *([*row.values()] for row in found)]


def first_table(analysis: Analysis) -> str:
    """The results of each model, a row for each."""
    headers, *rows = ([text(cell, 1000) for cell in row] for row in result_rows(analysis))
    return table(headers, rows, "l" + "r" * (len(headers) - 3))


def difference_table(contrast: Contrast, marks: Mapping[tuple[str, str], Sequence[str]]) -> str:
    """The largest gaps, and how the losing shell failed there most often; empty without any."""
    if contrast.gap is None:
        return ""
    paired, shells, rows = contrast.gap.paired, contrast.shells, []
    apart = zip(paired.tasks, paired.differences, strict=True)
    for task, gap in sorted(apart, key=lambda item: (-abs(item[1]), item[0]))[:SHOWN]:
        if gap:
            failed = [mark for mark in marks[task, shells[gap < 0]] if mark not in MARKS]
            worst = Counter(failed).most_common(1)[0][0]
            passes = [_passes(contrast.outcomes, shell, task) for shell in shells]
            rows.append([task, *passes, FAILURES[worst][1]])
    names = short_names(shells)
    headers = [f"largest gaps of {contrast.model}", *names, "how the losing shell failed"]
    return table(headers, rows, "lrr") if rows else ""


def _passes(outcomes: Outcomes, shell: str, task: str) -> str:
    counts, place = outcomes.by_shell[shell], outcomes.tasks.index(task)
    return f"{counts.passes[place]}/{counts.scored[place]}" if counts.scored[place] else "-"
