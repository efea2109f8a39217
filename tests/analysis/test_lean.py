"""The gap and the verdict without the tasks that lean to a shell, and of named sets."""

from fluency.analysis.study_analysis import analyse
from fluency.core.shells import DESIGN_SHELLS
from fluency.report.sentences import could_change
from tests.report.test_report import cells, report
from tests.synthetic_tables import from_counts, make_frame, make_study, make_tasks

STUDY = make_study()
TASKS = make_tasks(30, leans=("bash", "pwsh", "neutral"))
PASSES = {"bash": (4, 2), "pwsh": (1, 5), "neutral": (3, 3)}
"""Lean -> passes of five in Bash and PowerShell, for each of its ten tasks."""


def passes(tasks):
    return from_counts({task.id: PASSES[task.lean] for task in tasks})


def model(tasks=TASKS):
    return analyse(make_frame(STUDY, tasks, passes(tasks)), STUDY, tasks).contrasts[0]


FRAME = make_frame(STUDY, TASKS, passes(TASKS))


def test_leaning_table_has_each_group_and_both(tmp_path):
    found = model()
    subsets = [(less.names, less.tasks) for less in found.without]
    assert subsets == [(("bash",), 20), (("pwsh",), 20), (DESIGN_SHELLS, 10)]
    text = report(tmp_path, passes(TASKS), STUDY, TASKS)
    rows = cells(text[text.index("| part ") :].split("\n\n")[0])[2:]
    assert [row[:3] for row in rows] == [
        ["all", "30", "+13.3"],
        ["without those that lean to Bash", "20", "+40.0"],
        ["without those that lean to PowerShell", "20", "−20.0"],
        ["without those that lean to Bash or PowerShell", "10", "0.0"],
    ]
    assert found.without[2].verdict is None and rows[3][4] == "no verdict"


def test_could_change_names_a_leaning_group_that_decides():
    said = " ".join(could_change(analyse(FRAME, STUDY, TASKS))["model-x"])
    assert "tasks that lean to PowerShell" in said
    assert "tasks that lean to Bash;" not in said, "without these it stays in the row"


def test_tasks_without_a_lean_leave_nothing_out():
    for leans, left_out in (((None,), []), (("pwsh",), []), (("bash", None), [("bash",)])):
        tasks = make_tasks(20, leans=leans)
        frame = make_frame(STUDY, tasks, lambda cell: cell.trial < 3)
        found = analyse(frame, STUDY, tasks).contrasts[0]
        assert [less.names for less in found.without] == left_out


def test_named_set_equals_a_study_of_its_tasks():
    ids = [task.id for task in TASKS]
    sets = {"first": ids[:20], "rest": ids[20:], "whole": ids, "other": [*ids[:15], "elsewhere"]}
    first, rest = analyse(FRAME, STUDY, TASKS, sets).contrasts[0].sets
    alone = model(TASKS[:20])
    assert (first.names, first.tasks) == (("first",), 20)
    assert (first.gap, first.verdict) == (alone.gap, alone.verdict)
    assert (rest.names, rest.tasks, rest.verdict) == (("rest",), 10, None)
