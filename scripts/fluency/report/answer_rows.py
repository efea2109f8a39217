"""The report's tables of single answers: how each trial went, what answers are made of, how failures failed."""

from __future__ import annotations

from fluency.analysis.study_analysis import Analysis, ModelAnalysis
from fluency.core.shells import EXTRA_CONDITIONS, SHELLS
from fluency.report.markdown import table

GLYPHS = {"pass": "●", "fail": "○", "refusal": "R", "no-command": "F", "missing": "·", "not-measured": "–"}


def task_table(analysis: Analysis, model: ModelAnalysis) -> str:
    """One row a task: the trials' glyphs in each arm and the passes."""
    rows = []
    for place, task in enumerate(analysis.tasks):
        row = [task, analysis.categories[task]]
        for shell, arm in model.outcomes.arms.items():
            glyphs = "".join(GLYPHS[mark] for mark in model.marks[task, shell])
            row += [glyphs, f"{arm.passes[place]}/{arm.scored[place]}" if arm.scored[place] else "-"]
        rows.append(row)
    arms = [header for shell in model.outcomes.arms for header in (SHELLS[shell].short_title, "passes")]
    return table(["task", "category", *arms], rows, "ll" + "lr" * len(model.outcomes.arms))


def composition_table(model: ModelAnalysis) -> str:
    """What the answers of each arm are made of, pass rates, and passes under each further condition."""
    under = [c for c in EXTRA_CONDITIONS if any(c in SHELLS[shell].conditions for shell in model.outcomes.arms)]
    rows = []
    for shell, arm in model.composition.items():
        for line in arm.lines:
            counts = [(line.passed, line.measured), *(line.again[condition.name] for condition in under)]
            passes = [f"{passed}/{of}" if of else "not run" for passed, of in counts]
            rows.append([SHELLS[shell].title, line.made_of, f"{line.answers}/{arm.answers}", *passes])
        if arm.without_command:
            none = ["-"] * (1 + len(under))
            rows.append([SHELLS[shell].title, "not classified", f"{arm.without_command}/{arm.answers}", *none])
    passes = ["passed", *(f"passed {condition.title}" for condition in under)]
    return table(["arm", "made of", "answers", *passes], rows, "llr" + "r" * len(passes))


def failure_table(model: ModelAnalysis) -> str:
    """Failure classes with their counts and a link to an example."""
    measured = {shell: tally.measured for shell, tally in model.tallies.items() if tally.measured}
    rows = []
    for line in model.failures:
        numbers = [
            f"{count}/{measured[shell]}" if shell in measured else "not measured"
            for shell, count in line.counts.items()
        ]
        cell = line.example.cell.path
        rows.append([line.failure_class, *numbers, f"[{cell}](explorer.html#{cell})"])
    arms = [SHELLS[shell].short_title for shell in model.outcomes.arms]
    return table(["failure class", *arms, "example cell"], rows, "l" + "r" * len(arms))
