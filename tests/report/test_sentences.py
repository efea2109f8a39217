"""Each sentence against the claims or facts that it follows from."""

import itertools
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from fluency.analysis.study_analysis import Analysis, analyse
from fluency.core.provenance import Provenance, Registered
from fluency.core.records import ControlRun
from fluency.core.study import Cell
from fluency.core.table import to_frame
from fluency.core.tasks import load_tasks, task_sets
from fluency.report.sentences import (
    could_change,
    decides,
    largest_gaps,
    missing_programs,
    printed,
    result_rows,
    study_sentences,
    unexpected_controls,
)
from tests.synthetic_tables import (
    IMAGE,
    from_counts,
    make_frame,
    make_rows,
    make_study,
    make_tasks,
    view_of,
)

TASKS = make_tasks()
# So many tasks with these passes in Bash and PowerShell, of 5.
AHEAD = [(10, (1, 4)), (10, (1, 3))]
BEHIND = [(10, (4, 1)), (10, (3, 1))]
MILD = [(2, (0, 5)), (18, (3, 3))]
EQUAL = [(8, (5, 5)), (8, (0, 0)), (2, (4, 5)), (2, (5, 4))]
OPEN = [(2, (3, 1)), (18, (2, 2))]
EIGHT = [(4, (0, 1)), (4, (4, 5)), (6, (5, 5)), (6, (0, 0))]
FLOOR = [(20, (0, 0))]
MISSING = [(6, (0, -1)), (3, (0, 1)), (11, (5, 5))]
"""A negative count: that number of passes, and the first trial is missing."""


def study_analysis(*models) -> Analysis:
    """Models a, b, …, each with its counts."""
    names = "abcde"[: len(models)]
    study, by_model = make_study(names), {}
    for name, counts in zip(names, models, strict=True):
        pairs = itertools.chain.from_iterable([pair] * count for count, pair in counts)
        by_model[name] = dict(zip([task.id for task in TASKS], pairs, strict=True))

    def passes(cell: Cell):
        count = by_model[cell.model][cell.task][cell.shell == "pwsh"]
        return None if count < 0 and cell.trial == 1 else cell.trial <= abs(count) + (count < 0)

    return analyse(make_frame(study, TASKS, passes, asked_utc=None), study, TASKS)


DECIDES = [
    (
        [FLOOR, EQUAL],
        "b passed 58.0 % in Bash and 58.0 % in PowerShell (0.0 points, −4.3 to +4.3). Who is ahead is "
        "open; the gap is less than 5 points. By the decision table: hypothesis falsified: treat as "
        "noise, change nothing. a passed 0.0 %",
    ),
    ([AHEAD, BEHIND], "stance is based on policy and parsing; do not extend it to code generation. The models disagree."),
    ([OPEN], "Who is ahead is open; the gap is less than 10 points. Nothing here supports a change of policy."),
    ([MISSING], "Missing runs could still change this: finish the study before deciding."),
]  # fmt: skip
"""Models -> what the first line says of them; its claims are in test_claims.py."""


@pytest.mark.parametrize("models, said", DECIDES)
def test_decides_follows_from_all_models(models, said):
    assert said in decides(study_analysis(*models))


def test_result_rows_order_and_words():
    head, *rows = result_rows(study_analysis(FLOOR, BEHIND, MILD, MISSING, EIGHT))
    names = "gap in points (95 % interval) | what the interval shows | what would decide it"
    assert " | ".join(head) == f"model | Bash | PowerShell | {names}"
    assert [(row[0], re.split("[,;.]", row[-2])[0], row[-1].split(";")[0]) for row in rows] == [
        ("b", "Bash is ahead", "decided"),
        ("c", "Who is ahead is open", "about 57 more tasks like these"),
        ("d", "On what was measured: PowerShell is ahead", "the missing runs"),
        ("e", "PowerShell is ahead", "about 25 more tasks like these"),
        ("a", "Who is ahead is open", "decided"),
    ]
    assert rows[0][1:3] == ["70.0 % (70/100)", "20.0 % (20/100)"]


def changes(counts):
    return " ".join(could_change(study_analysis(counts)).get("a", []))


def test_could_change_names_definitions_of_a_pass():
    study = make_study()

    def of(unix=False, measured=True):
        """PowerShell ahead by 20; its fourth pass needs Unix tools."""
        rows = make_rows(study, TASKS, from_counts({t.id: (3, 4) for t in TASKS}), asked_utc=None)
        for place, row in enumerate(rows):
            works = row.passed and not (unix and row.trial == 4)
            more = {"no_unix_tools_passed": works if row.shell == "pwsh" and measured else None}
            rows[place] = row.model_copy(update=more)
        return " ".join(could_change(analyse(to_frame(rows), study, TASKS))["model-x"])

    assert "The gap without Unix tools is +20.0." in of() and "less than 5" not in of()
    assert (
        'the row of the decision table is "less than 5 pp either way": without Unix tools 0.0.'
        in of(unix=True)
    )
    assert "The gap without Unix tools was not measured." in of(measured=False)


@pytest.mark.parametrize(
    "counts, said",
    [
        (
            [(5, (1, 3)), (15, (3, 3))],
            "Removing any one of these changes what the decision table says: tasks task-01, task-02, task-03 and others; categories file-i",
        ),
        (
            [(5, (2, 3)), (8, (5, 5)), (7, (0, 0))],
            "Only 5 of 20 tasks can tell the shells apart; the others were always solved in both "
            "or never solved in either shell.",
        ),
        ([(20, (2, 0))], "PowerShell passes almost nothing, which draws the gap towards 0."),
        ([(20, (5, 3))], "Bash passes almost everything, which draws the gap towards 0."),
        (MISSING, "The missing runs could move the gap to anywhere from "),
    ],
)
def test_could_change_sentences(counts, said):
    assert said in changes(counts)


def test_could_change_is_empty_where_nothing_could():
    said = changes([(20, (2, 3))])
    assert not re.search("Removing|can tell|almost|missing", said)
    assert could_change(study_analysis(FLOOR)) == {}


def differences(analysis: Analysis):
    (model,) = analysis.models
    return largest_gaps(model.contrasts[0], model.ends)


def test_largest_gaps():
    study = make_study()
    counts = dict.fromkeys([task.id for task in TASKS], (3, 3)) | {
        f"task-{n:02d}": (0, n - 1) for n in range(2, 7)
    }
    counts |= {"task-01": (5, 0), "task-07": (2, 3)}
    rows = make_rows(study, TASKS, from_counts(counts))
    rows = [row.model_copy(update={"failure_class": None if row.passed else "table-noise" if row.shell == "pwsh" else
                                   "timeout"}) for row in rows]  # fmt: skip
    shown = differences(analyse(to_frame(rows), study, TASKS))
    assert shown[0] == ["task-01", "5/5", "0/5", "printed objects as a table"]
    assert [row[0] for row in shown] == ["task-01", "task-06", "task-05", "task-04", "task-03"]
    assert shown[1] == ["task-06", "0/5", "5/5", "ran out of time"]
    assert differences(study_analysis(FLOOR)) == []


ANNOUNCED = Provenance(
    registration=Registered(path="preregistrations/x.json", utc="2026-05-02T10:00:00Z")
)
LATE = ANNOUNCED.model_copy(update={"first_answer_utc": "2026-05-01T10:00:00Z"})
DEPARTED = ANNOUNCED.model_copy(update={"deviations": ["trials: 5 became 4", "a task changed"]})
OTHER_BUILD = Provenance(images=[IMAGE])


def of_study(analysis: Analysis, provenance: Provenance = ANNOUNCED, tasks=TASKS, **more):
    return " ".join(study_sentences(analysis, view_of(make_study("a", **more), tasks, provenance)))


@pytest.mark.parametrize(
    "provenance, said",
    [
        (Provenance(), "Exploratory: not registered in advance, and no decision named."),
        (LATE, "Exploratory: registered after its first answer, no deviations."),
        (ANNOUNCED, "Registered in advance, no deviations."),
        (DEPARTED, "Registered in advance, 2 deviations."),
        (OTHER_BUILD, "PowerShell here is not the official release's build"),
    ],
)
def test_study_sentences_on_registration(provenance, said):
    line = of_study(study_analysis(OPEN), provenance)
    assert said in line and ("official release" in line) == (provenance is OTHER_BUILD)
    decided = of_study(study_analysis(OPEN), Provenance(), decision="which shell")
    assert "no decision named" not in decided


def test_study_sentences_on_the_design():
    said = of_study(study_analysis(MISSING, OPEN))
    assert "20 tasks (no named set) × 2 shells × 5 trials × 2 models, 394 of 400 runs" in said
    assert "Missing: 6 of 100 in PowerShell for a." in said
    name = next(iter(task_sets()))
    named = of_study(study_analysis(OPEN), tasks=load_tasks(task_sets()[name].tasks))
    assert f"20 tasks ({name}) × 2" in named


@pytest.mark.parametrize(
    "apart, caution",
    [
        (lambda cell, place: 0, ""),
        (lambda cell, place: place > 100, ""),
        (
            lambda cell, place: cell.shell == "bash",
            "The shells were asked on different days for model-x: Bash 1.0 days after PowerShell",
        ),
        (
            lambda cell, place: place < 40 and cell.shell == "bash",
            "Asked much later than planned, or again, for model-x: 22 in Bash and 0 in PowerShell.",
        ),
    ],
)
def test_study_sentences_on_the_order_of_asking(apart, caution):
    study, day = make_study(), 24 * 60
    minutes = lambda cell, place: place + day * apart(cell, place)  # noqa: E731
    frame = make_frame(study, TASKS, lambda cell: True, minutes=minutes)
    said = of_study(analyse(frame, study, TASKS))
    assert caution in said
    assert ("later than planned" in said or "different days" in said) == bool(caution)


def test_study_sentences_on_several_models():
    two, study = study_analysis(OPEN, OPEN), make_study("ab")
    said = " ".join(study_sentences(two, view_of(study, TASKS)))
    assert "With 2 models of no true gap, one or more would be called ahead in up to 10 %" in said
    models = [model.model_copy(update={"id": "x"}) for model in study.models]
    same = study.model_copy(update={"models": models})
    for analysis in (replace(two, study=same), study_analysis(OPEN)):
        assert "of no true gap" not in of_study(analysis)


def test_study_sentences_on_leaning_and_dropped_tasks():
    analysis = study_analysis(OPEN)
    leaning = make_tasks(leans=("bash",))
    assert "All tasks lean to Bash" in of_study(analysis, tasks=leaning)
    assert "lean to" not in of_study(analysis, tasks=make_tasks(leans=("bash", "neutral")))
    name, chosen = next(iter(task_sets().items()))
    part = load_tasks(chosen.tasks[2:])
    first, second = chosen.tasks[:2]
    said = of_study(analysis, tasks=part)
    assert f"2 of the 20 tasks of {name} were dropped: {first} and {second}." in said
    assert "dropped" not in of_study(analysis, tasks=load_tasks(chosen.tasks))


def test_printed_page_has_the_paths(tmp_path):
    study = make_study(decision="a\x1b[2Jb")
    frame = make_frame(study, TASKS, lambda cell: "not_measured" if cell.shell == "pwsh" else True)
    frame["reason"] = frame["reason"].str.replace("image", "\x1b[2Jimage")
    lines = printed(analyse(frame, study, TASKS), view_of(study, TASKS), tmp_path).splitlines()
    assert lines[1] == "PowerShell was not measured here: this report compares nothing."
    assert "Not compared: PowerShell 7 was not measured" in lines[3]
    assert "\x1b" not in "".join(lines)
    assert lines[-2] == f"Report:   {tmp_path / 'report.html'}"
    assert lines[-1] == f"Explorer: {tmp_path / 'explorer.html'}"


@pytest.mark.parametrize(
    "bash, pwsh, favoured",
    [(29, 4, "PowerShell"), (0, 3, "Bash"), (2, 4, ""), (9, None, "")],
)
def test_missing_programs_name_the_favoured_shell(bash, pwsh, favoured):
    """A number of failures lack a program, by shell; None: the shell was not measured."""
    study, left = make_study(), {"bash": bash, "pwsh": pwsh or 0}
    absent = "pwsh" if pwsh is None else None
    rows = make_rows(
        study, TASKS, lambda cell: "not_measured" if cell.shell == absent else cell.trial == 3
    )
    for place, row in enumerate(rows):
        lacks = not row.passed and left[row.shell] > 0
        left[row.shell] -= lacks
        failure = "missing-program" if lacks else None if row.passed else "silent-wrong"
        rows[place] = row.model_copy(update={"failure_class": failure})
    (model,) = analyse(to_frame(rows), study, TASKS).models
    said = missing_programs(model.contrasts[0], model.failures)
    assert said.startswith(f"The sandbox may favour {favoured}: ") == bool(favoured)
    assert not favoured or f"differ by {abs(bash - pwsh)}.0 points" in said
    assert favoured or said == ""


def test_unexpected_controls_are_named():
    runs = [
        ControlRun(task="t", shell="bash", kind=kind, command="c", passed=passed, why="So.")
        for kind in ("reference", "wrong")
        for passed in (True, False)
    ]
    first, second = unexpected_controls(SimpleNamespace(runs=runs))
    assert "the reference command `c` failed" in first
    assert "the wrong command `c` passed" in second
