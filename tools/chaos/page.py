"""The results: what was done to how many runs, and what they did."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from fluency.common.words import plural
from tools.chaos.faults import FAULTS
from tools.chaos.study_run import Size
from tools.chaos.trial import Trial

USUAL = 50
"""Trials of a campaign."""
_INTRODUCTION = """# Disturbed runs

A study runs and is disturbed once, at a random moment. It is then run again, as its user would, until it is finished.
A trial passes if the table of cells equals that of an undisturbed run (except times and resource use), the answer
store is sound, no answer that could be kept was asked for again, and a further run has nothing to do.

`make chaos N=50 SEED=1` writes this page and continues a campaign that was stopped. The model is a Messages endpoint
on this machine that numbers its replies, so the test knows of each answer whether it was kept. About two commands of
three are right. The engine that is killed belongs to the trial, and the full disk is a small one in memory.

- *Broke off*: disturbed runs with an exit code other than 0; the others waited until the fault was over.
- *Asked twice*: requests although the store had all answers to their prompt, and replies that were sent to a live
  process and are neither in the store nor printed.
- *Repeated*: requests made again because they were in flight when the process was killed, at most `in_flight` (4) for
  each kill, or because the disk refused their answers, which the run prints (docs/asking-models.md).
- *Kept*: records that existed when the disturbed run ended and are byte for byte in the finished study. Snakemake
  makes the others again, because a killed job may have left them half done.
"""
_HEAD = (
    "| Fault | Trials | Passed | Broke off | Records when struck | Runs to finish | Seconds to finish | Requests | "
    "Repeated | Asked twice | Kept |"
)


def page_of(
    trials: Sequence[Trial], undisturbed_s: float, seed: int, skipped: Sequence[str]
) -> str:
    """The page: one row a fault, then what failed."""
    cells = trials[0].cells if trials else 0
    passed = sum(not trial.problems for trial in trials)
    lines = [
        _INTRODUCTION,
        f"{plural(len(trials), 'trial')} of {cells} cells, seed {seed}: {passed} passed. An undisturbed run took "
        f"{undisturbed_s:.0f} s on the same machine, which was not idle.",
        "",
        _HEAD,
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    if trials and (len(trials) < USUAL or cells < Size().cells):
        lines[1] += (
            f" `make chaos` does {USUAL} trials of {Size().cells} cells; this page is of fewer or smaller ones."
        )
    for kind, fault in FAULTS.items():
        if group := [trial for trial in trials if trial.fault == kind]:
            lines.append(_row(fault.title, group))
    if trials:
        lines.append(_row("**all**", trials))
    lines += [f"\nNot done here: {sentence}." for sentence in skipped]
    if failed := [trial for trial in trials if trial.problems]:
        lines += ["", "## Not passed", ""]
        lines += [
            f"- trial {trial.number}, {trial.fault}: {'; '.join(trial.problems)}"
            for trial in failed
        ]
    return "\n".join(lines) + "\n"


def _row(title: str, group: Sequence[Trial]) -> str:
    kept, stood = (
        sum(trial.kept for trial in group),
        sum(trial.kept + trial.made_again for trial in group),
    )
    columns = [
        title,
        str(len(group)),
        str(sum(not trial.problems for trial in group)),
        str(sum(trial.exit_code != 0 for trial in group)),
        _range([trial.records_before for trial in group]),
        _range([trial.runs_after for trial in group]),
        _range([round(trial.finish_s) for trial in group]),
        _range([trial.requests for trial in group]),
        str(sum(trial.repeated for trial in group)),
        str(sum(trial.asked_twice for trial in group)),
        f"{kept} of {stood}",
    ]
    return f"| {' | '.join(columns)} |"


def _range(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low} to {high}, median {median(values):g}"
