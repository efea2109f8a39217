"""The rows of the report's tables: numbers and their denominators as Markdown cells."""

from __future__ import annotations

from fluency.analysis import Analysis, ModelAnalysis
from fluency.analysis.headline import BAND_WORDS
from fluency.analysis.numbers import percent, points, probability, seconds, signed, span
from fluency.core.shells import SHELLS
from fluency.report.escape import text
from fluency.report.markdown import table

GLYPHS = {"pass": "●", "fail": "○", "refusal": "R", "no-command": "F", "missing": "·", "not-measured": "–"}


SUMMARY = (
    "model",
    "runs measured",
    "Bash pass@1",
    "PowerShell pass@1",
    "gap, pp",
    "without Unix tools",
    "95 %, tasks like these",
    "95 %, these tasks",
    "p (sign-flip)",
    "by the table",
)
COUNTS = ("model", "arm", "planned", "measured", "missing", "not measured", "why not")


def summary_table(analysis: Analysis) -> str:
    """The one table that says it all, headers included, so that no two documents can label it differently."""
    return table(SUMMARY, summary(analysis), "lrrrrrrrrl")


def counts_table(analysis: Analysis) -> str:
    """Cells planned, measured, missing and not measured."""
    return table(COUNTS, counts(analysis), "llrrrrl")


def summary(analysis: Analysis) -> list[list[str]]:
    """One row a model: measured, both rates, gap, intervals, p, verdict, resolved."""
    return [_summary(model) for model in analysis.models]


def _summary(model: ModelAnalysis) -> list[str]:
    planned = sum(tally.planned for tally in model.tallies.values())
    measured = sum(tally.measured for tally in model.tallies.values())
    gap, verdict = model.gap, model.verdict
    rates = [rate_cell(model, shell) for shell in ("bash", "pwsh")]
    if gap is None:
        return [model.model, f"{measured}/{planned}", *rates, "n/a", "n/a", "n/a", "n/a", "n/a", "no verdict"]
    fixed = "undefined" if gap.fixed is None else f"±{points(gap.fixed)}"
    words = f"{BAND_WORDS[verdict.band]}, {'resolved' if verdict.resolved else 'not resolved'}" if verdict.band else ""
    without = model.without_unix_tools
    return [
        model.model,
        f"{measured}/{planned}",
        *rates,
        signed(gap.value),
        signed(without) if without is not None else "n/a",
        span(gap.s95) + (" (floored)" if gap.floored else ""),
        fixed,
        probability(gap.p),
        (words or "no verdict") + (", provisional" if verdict.provisional else ""),
    ]


def rate_cell(model: ModelAnalysis, shell: str) -> str:
    """`61.0 % (61/100)`: over the compared tasks, or over the arm's own where there is no comparison."""
    if shell not in model.tallies:
        return "not in study"
    rate = getattr(model.gap.paired, f"{shell}_rate") if model.gap is not None else model.rates[shell]
    if rate.value is None:
        return "not measured" if model.tallies[shell].state == "not-measured" else "missing"
    return f"{percent(rate.value)} ({rate.passes}/{rate.scored})"


def counts(analysis: Analysis) -> list[list[object]]:
    """Cells planned, measured, missing, not measured, by model and arm, with the reasons."""
    rows = []
    for model in analysis.models:
        for shell, tally in model.tallies.items():
            reasons = "; ".join(f"{text(reason)} ({count})" for reason, count in tally.reasons[:3])
            if len(tally.reasons) > 3:
                reasons += f"; {len(tally.reasons) - 3} more"
            numbers = [tally.planned, tally.measured, tally.missing, tally.not_measured]
            rows.append([model.model, SHELLS[shell].title, *numbers, reasons or "-"])
    return rows


def tasks(analysis: Analysis, model: ModelAnalysis) -> list[list[str]]:
    """One row a task: the trials' glyphs in both shells and the rates."""
    rows = []
    for place, task in enumerate(analysis.tasks):
        row = [task, analysis.categories[task]]
        for shell in ("bash", "pwsh"):
            arm = model.outcomes.arm(shell)
            glyphs = "".join(GLYPHS[mark] for mark in model.marks[task, shell])
            row += [glyphs, f"{arm.passes[place]}/{arm.scored[place]}" if arm.scored[place] else "-"]
        rows.append(row)
    return rows


def sensitivity(model: ModelAnalysis) -> list[list[str]]:
    """The gap under each definition of a pass."""
    rows = []
    for line in model.sensitivities:
        if line.paired is None:
            rows.append([line.label, "n/a", "n/a", "n/a", "n/a", "n/a", "no task was measured this way in both shells"])
            continue
        bash, pwsh = line.paired.bash_rate, line.paired.pwsh_rate
        rows.append(
            [
                line.label,
                f"{percent(bash.value)} ({bash.passes}/{bash.scored})",
                f"{percent(pwsh.value)} ({pwsh.passes}/{pwsh.scored})",
                signed(line.paired.gap),
                span(line.interval),
                probability(line.p),
                f"{BAND_WORDS[line.band]}, {len(line.paired.tasks)} tasks",
            ]
        )
    return rows


def make_up(model: ModelAnalysis) -> list[list[str]]:
    """What the answers of each arm are made of, pass rates, and passes without Unix tools."""
    rows = []
    for shell, arm in model.make_up.items():
        for line in arm.lines:
            second = f"{line.no_unix_tools_passed}/{line.no_unix_tools_run}" if line.no_unix_tools_run else "not run"
            passed = f"{line.passed}/{line.measured}" if line.measured else "not run"
            rows.append([SHELLS[shell].title, line.made_of, f"{line.answers}/{arm.answers}", passed, second])
        if arm.without_command:
            rows.append([SHELLS[shell].title, "not classified", f"{arm.without_command}/{arm.answers}", "-", "-"])
    return rows


def failures(model: ModelAnalysis) -> list[list[str]]:
    """Failure classes with their counts and a link to an example."""
    measured = {shell: tally.measured for shell, tally in model.tallies.items() if tally.measured}
    rows = []
    for line in model.failures:
        numbers = [
            f"{line.counts[shell]}/{measured[shell]}" if shell in measured else "not measured"
            for shell in ("bash", "pwsh")
        ]
        cell = line.example.cell.path
        rows.append([line.failure_class, *numbers, f"[{cell}](explorer.html#{cell})"])
    return rows


def categories(model: ModelAnalysis) -> list[list[str]]:
    """Means by category; descriptive."""
    return [
        [line.category, str(line.tasks), percent(line.bash), percent(line.pwsh), signed(line.gap), str(line.differing)]
        for line in model.categories
    ]


def times(model: ModelAnalysis) -> list[list[str]]:
    """The three times of each arm."""
    rows = []
    for shell in model.tallies:
        arm = model.times.arms[shell]
        rows.append(
            [
                SHELLS[shell].title,
                f"{arm.passes}/{arm.scored}" if arm.scored else "not measured",
                _spread(arm.t_run),
                _spread(arm.t_exec),
                f"{seconds(arm.t_first)} ({arm.first_tasks} tasks)" if arm.t_first is not None else "n/a",
                seconds(arm.expected),
                f"{arm.never_passed}/{arm.tasks}" if arm.tasks else "n/a",
            ]
        )
    return rows


def drift_head(model: ModelAnalysis) -> list[str]:
    """The columns of `drift`."""
    arms = [f"{SHELLS[shell].title}, {what}" for shell in model.tallies for what in ("passes", "t_gen")]
    return ["answered, UTC", *arms]


def drift(model: ModelAnalysis) -> list[list[str]]:
    """Passes and median time of generation of each arm, by stretches of the time of asking."""
    return [
        [
            text(f"{stretch.first_utc[:16]} to {stretch.last_utc[:16]}"),
            *(
                cell
                for arm in stretch.arms.values()
                for cell in (f"{arm.passes}/{arm.scored}", "n/a" if arm.t_gen is None else seconds(arm.t_gen))
            ),
        ]
        for stretch in model.drift
    ]


def _spread(spread) -> str:
    return f"{seconds(spread.median)} ({seconds(spread.low)} to {seconds(spread.high)})" if spread else "n/a"


def pass_k(model: ModelAnalysis) -> list[list[str]]:
    """pass@k and pass^k with the tasks they are defined for."""
    rows = []
    for name, measure in ((f"pass@{model.pass_k.k}", "any_of"), (f"pass^{model.pass_k.k}", "all_of")):
        row = [name]
        shares = [getattr(model.pass_k, measure)[shell] for shell in ("bash", "pwsh")]
        for share in shares:
            if share.value is None:
                row.append("n/a")
            else:
                low, high = share.interval
                row.append(f"{percent(share.value)} of {share.tasks} tasks ({percent(low)} to {percent(high)})")
        known = all(share.value is not None for share in shares)
        comparable = known and shares[0].tasks == shares[1].tasks
        row.append(signed(shares[1].value - shares[0].value) if comparable else "n/a")
        rows.append(row)
    return rows
