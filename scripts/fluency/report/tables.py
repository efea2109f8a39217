"""The tables that are computed or that more than one page shows; others are in the templates."""

from collections import Counter
from collections.abc import Mapping, Sequence

from fluency.analysis.contrast import Contrast
from fluency.analysis.study_analysis import Analysis
from fluency.report.marks import FAILURES, MARKS
from fluency.report.sentences import results, telling_first

SHOWN = 5


def result_rows(analysis: Analysis) -> list[list[str]]:
    """The headers, and the results of each model."""
    pairs = telling_first(analysis.contrasts)
    found = [results(pair, analysis.shells_shown) for pair in pairs]
    return [[*found[0]], *([*row.values()] for row in found)]


def largest_gaps(
    contrast: Contrast, ends: Mapping[tuple[str, str], Sequence[str]]
) -> list[list[str]]:
    """Tasks, passes in both shells, and how the losing shell failed there most often."""
    rows = list[list[str]]()
    if contrast.gap is None:
        return rows
    paired = contrast.gap.paired
    passes = [
        [f"{count}/{size}" for count, size in zip(*counts, strict=True)]
        for counts in paired.by_shell.values()
    ]
    apart = zip(paired.differences, paired.tasks, *passes, strict=True)
    for gap, task, *shown in sorted(apart, key=lambda row: (-abs(row[0]), row[1]))[:SHOWN]:
        if gap:
            counts = Counter(ends[task, contrast.shells[gap < 0]])
            worst = next(end for end, _ in counts.most_common() if end not in MARKS)
            rows.append([task, *shown, FAILURES[worst][1]])
    return rows
