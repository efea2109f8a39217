"""The control in the report: a table, and whatever did not come out as it must."""

from __future__ import annotations

from fluency.core.records import Control
from fluency.core.shells import SHELLS
from fluency.report.escape import code, text
from fluency.report.markdown import table


def control_table(control: Control) -> str:
    """A row a shell: references and wrong commands that passed, of those that ran."""
    rows = []
    for shell in control.shells():
        counts = [_passed(control, shell, kind) for kind in ("reference", "wrong")]
        rows.append([SHELLS[shell].title, *counts, text(control.not_measured.get(shell, "-"))])
    return table(["shell", "references that passed", "wrong commands that passed", "why not"], rows, "lrr")


def control_sentence(control: Control) -> str:
    """The table in one line, for a terminal."""
    parts = []
    for shell in control.shells():
        right, wrong = (_passed(control, shell, kind) for kind in ("reference", "wrong"))
        measured = f"{right} references and {wrong} wrong commands passed"
        parts.append(f"{SHELLS[shell].short_title} {'not measured' if shell in control.not_measured else measured}")
    return f"Control: {', '.join(parts)}."


def _passed(control: Control, shell: str, kind: str) -> str:
    runs = control.of(shell, kind)
    return f"{sum(run.passed for run in runs)} of {len(runs)}" if runs else "not measured"


def surprises(control: Control) -> list[str]:
    """A sentence for each command that did not come out as it must."""
    return [
        f"{SHELLS[run.shell].title}, {text(run.task)}: the {run.kind} command {code(run.command)} "
        f"{'passed' if run.passed else 'failed'}: {code(run.why)}"
        for run in control.runs
        if not run.as_it_must
    ]
