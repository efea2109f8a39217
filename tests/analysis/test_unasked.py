"""Unasked changes, counted by task."""

import pytest
from scipy.stats import binomtest

from fluency.analysis.study_analysis import analyse
from tests.synthetic_tables import make_frame, make_study, make_tasks

TASKS, STUDY = make_tasks(), make_study()


def found(counts):
    frame = make_frame(STUDY, TASKS, lambda cell: True)
    for (shell, task, trial), value in counts.items():
        chosen = frame["shell"].eq(shell) & frame["task"].eq(TASKS[task].id)
        frame.loc[chosen & frame["trial"].eq(trial), "unasked_changes"] = value
    (model,) = analyse(frame, STUDY, TASKS).models
    return model, model.contrasts[0].unasked


def test_unasked_changes_by_task():
    """Two runs of a task count once, and a task that both shells have enters no sign test."""
    in_bash = {("bash", task, trial): 2 for task in range(7) for trial in (1, 4)}
    in_pwsh = {("pwsh", 6, 1): 1, ("pwsh", 9, 5): 1, ("pwsh", 3, 2): None}
    model, counts = found(in_bash | in_pwsh)
    assert {shell: tuple(share) for shell, share in counts.by_shell.items()} == {
        "bash": (7, 20), "pwsh": (2, 20),
    }  # fmt: skip
    assert counts.p == pytest.approx(binomtest(6, 7).pvalue)
    assert counts.unknown == {"bash": 0, "pwsh": 1}
    assert len(model.unasked) == 16 and model.unasked[0][1:] == (2, "find crates -type f | sort")


def test_unasked_changes_of_none():
    """Zero of twenty tasks still allows 16.8 %."""
    model, counts = found({})
    assert (counts.p, model.unasked) == (1.0, [])
    assert counts.by_shell["bash"].interval == (0, pytest.approx(0.168, abs=0.0005))
