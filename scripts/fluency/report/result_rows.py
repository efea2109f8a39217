"""The report's tables of results: pass rates, the gap, the verdict, and what they are made of."""

from __future__ import annotations

from fluency.analysis.estimate import Verdict
from fluency.analysis.outcomes import Rate
from fluency.analysis.pass_at_k import ShareOfTasks
from fluency.analysis.robustness import conditions_of
from fluency.analysis.study_analysis import Analysis, ModelAnalysis
from fluency.core.shells import SHELLS, Condition
from fluency.report.escape import text
from fluency.report.markdown import table
from fluency.report.numbers import percent, points, probability, signed, span
from fluency.report.wording import listed

COUNTS = ("model", "arm", "planned", "measured", "missing", "not measured", "why not")


def summary_table(analysis: Analysis) -> str:
    """The one table that says it all, headers included, so that no two documents can label it differently."""
    rates = [f"{SHELLS[shell].short_title} pass@1" for shell in analysis.arms]
    under = [condition.title for condition in _summarised(analysis)]
    intervals = ["95 %, tasks like these", "95 %, these tasks"]
    headers = ["model", "runs measured", *rates, "gap, pp", *under, *intervals, "p (sign-flip)", "by the table"]
    return table(headers, [_summary(analysis, model) for model in analysis.models], "l" + "r" * (len(headers) - 2))


def _summarised(analysis: Analysis) -> list[Condition]:
    """The conditions whose gap has a column of its own."""
    return [condition for condition in conditions_of(analysis.contrast) if condition.in_summary]


def _summary(analysis: Analysis, model: ModelAnalysis) -> list[str]:
    """Runs measured, pass@1 of each arm, gap, intervals, p, verdict, resolved."""
    planned = sum(tally.planned for tally in model.tallies.values())
    measured = sum(tally.measured for tally in model.tallies.values())
    row = [model.model, f"{measured}/{planned}", *(rate_cell(model, shell) for shell in analysis.arms)]
    gap = model.gap
    under = [model.under(condition) for condition in _summarised(analysis)]
    if gap is None:
        return [*row, *["n/a"] * (4 + len(under)), "no verdict"]
    return [
        *row,
        signed(gap.value),
        *("n/a" if found is None else signed(found.paired.gap) for found in under),
        span(gap.s95) + (" (floored)" if gap.floored else ""),
        "undefined" if gap.fixed is None else f"±{points(gap.fixed)}",
        probability(gap.p),
        _judged(model, model.verdict),
    ]


def _judged(model: ModelAnalysis, verdict: Verdict) -> str:
    if verdict.band is None:
        return "no verdict"
    label = model.words[verdict.band].label
    provisional = ", provisional" if verdict.provisional else ""
    if verdict.edge:
        return f"cannot tell, both at the {verdict.edge} (label: {label}{provisional})"
    return f"{label}, {'resolved' if verdict.resolved else 'not resolved'}{provisional}"


def rate_cell(model: ModelAnalysis, shell: str) -> str:
    """`61.0 % (61/100)`: over the compared tasks, or over the arm's own where it is in no comparison."""
    if shell not in model.tallies:
        return "not in study"
    rate = model.rates[shell]
    if model.gap is not None and shell in model.outcomes.contrast:
        paired = model.gap.paired
        rate = paired.baseline_rate if shell == model.outcomes.contrast[0] else paired.challenger_rate
    if rate is None:
        return "not measured" if model.tallies[shell].state == "not-measured" else "missing"
    return _rate(rate)


def _rate(rate: Rate) -> str:
    return f"{percent(rate.value)} ({rate.passes}/{rate.scored})"


def decision_table(analysis: Analysis) -> str:
    """The decision table as the report prints it."""
    rows = [[words.condition, words.reading] for words in analysis.words.values()]
    return table(["gap on pass@1", "reading"], rows)


def counts_table(analysis: Analysis) -> str:
    """Cells planned, measured, missing, not measured, by model and arm, with the reasons."""
    rows = []
    for model in analysis.models:
        for shell, tally in model.tallies.items():
            reasons = "; ".join(f"{text(reason)} ({count})" for reason, count in tally.reasons[:3])
            if len(tally.reasons) > 3:
                reasons += f"; {len(tally.reasons) - 3} more"
            numbers = [tally.planned, tally.measured, tally.missing, tally.not_measured]
            rows.append([model.model, SHELLS[shell].title, *numbers, reasons or "-"])
    return table(COUNTS, rows, "llrrrrl")


def sensitivity_table(model: ModelAnalysis) -> str:
    """The gap under each definition of a pass."""
    arms = [SHELLS[shell].short_title for shell in model.outcomes.contrast]
    rows = []
    for line in model.sensitivities:
        found = line.estimate
        if found is None:
            rows.append([line.label, *["n/a"] * 5, "no task was measured this way in both shells"])
            continue
        rows.append(
            [
                line.label,
                _rate(found.paired.baseline_rate),
                _rate(found.paired.challenger_rate),
                signed(found.paired.gap),
                span(found.interval),
                probability(found.p),
                f"{model.words[found.band].label}, {len(found.paired.tasks)} tasks",
            ]
        )
    return table(["a pass is", *arms, "gap, pp", "95 %, tasks like these", "p", "by the table"], rows, "lrrrrrl")


def category_table(model: ModelAnalysis) -> str:
    """Means by category; descriptive."""
    arms = [SHELLS[shell].short_title for shell in model.outcomes.arms]
    rows = [
        [line.category, line.tasks, *map(percent, line.rates.values()), signed(line.gap), line.differing]
        for line in model.categories
    ]
    return table(["category", "tasks", *arms, "gap, pp", "tasks that differ"], rows, "lrr" + "r" * len(arms) + "r")


def lean_table(model: ModelAnalysis) -> str:
    """Means by the shell that tasks lean to; descriptive."""
    arms = [SHELLS[shell].short_title for shell in model.outcomes.arms]
    rows = [
        [_leaning(line.category), line.tasks, *map(percent, line.rates.values()), signed(line.gap), line.differing]
        for line in model.leans
    ]
    return table(["tasks lean to", "tasks", *arms, "gap, pp", "tasks that differ"], rows, "lrr" + "r" * len(arms) + "r")


def _leaning(lean: str) -> str:
    return SHELLS[lean].short_title if lean in SHELLS else lean


def without_table(model: ModelAnalysis) -> str:
    """The gap and the verdict without the tasks that lean to a shell; the first line is the headline."""
    whole = [("-", len(model.outcomes.tasks), model.gap, model.verdict)]
    less = [(listed([_leaning(s) for s in w.left_out]), w.tasks, w.gap, w.verdict) for w in model.without]
    rows = []
    for left_out, tasks, gap, verdict in whole + less:
        if gap is None:
            rows.append([left_out, tasks, *["n/a"] * 3, "no verdict"])
            continue
        label = model.words[gap.claims.band].label
        said = _judged(model, verdict) if verdict.band else f"no verdict, too little measured (label: {label})"
        rows.append([left_out, tasks, signed(gap.value), span(gap.s95), probability(gap.p), said])
    heads = ["left out: tasks that lean to", "tasks left", "gap, pp", "95 %, tasks like these", "p", "by the table"]
    return table(heads, rows, "lrrrrl")


def pass_k_table(model: ModelAnalysis) -> str:
    """pass@k and pass^k with the tasks they are defined for."""
    arms = [SHELLS[shell].short_title for shell in model.outcomes.arms]
    k = model.pass_k.k
    rows = []
    for name, shares in ((f"pass@{k}", model.pass_k.any_of), (f"pass^{k}", model.pass_k.all_of)):
        below, above = (shares[shell] for shell in model.outcomes.contrast)
        gap = "n/a"
        if below.value is not None and above.value is not None and below.tasks == above.tasks:
            gap = signed(above.value - below.value)
        rows.append([name, *map(_share_of_tasks, shares.values()), gap])
    return table(["measure", *arms, "gap, pp"], rows, "lr" + "r" * len(arms))


def _share_of_tasks(share: ShareOfTasks) -> str:
    if share.value is None or share.interval is None:
        return "n/a"
    low, high = share.interval
    return f"{percent(share.value)} of {share.tasks} tasks ({percent(low)} to {percent(high)})"
