"""The deciding paragraph: each sentence against the claims, and each thing that it must not leave out."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from fluency.analysis.estimate import Claims
from fluency.analysis.study_analysis import Analysis, analyse
from fluency.core.provenance import Provenance, Registered
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.study import Cell
from fluency.core.table import to_frame
from fluency.report import summary
from fluency.report.sentences import order_of_asking
from fluency.report.summary import claim_sentence
from tests.analysis.test_claims import GRID, MIDDLE, claimed
from tests.synthetic_tables import from_counts, make_frame, make_rows, make_study, make_tasks

TASKS = make_tasks()
ANNOUNCED = Provenance(registration=Registered(path="preregistrations/x.json"))
FLOOR = (Fraction(0), Fraction(1, 20))
ALL = {claimed(*point, rates=rates) for point in GRID for rates in (MIDDLE, FLOOR)}


def said(claims: Claims) -> str:
    return claim_sentence(claims, DESIGN_SHELLS)


def paragraph(analysis: Analysis, provenance: Provenance = ANNOUNCED) -> str:
    return summary.opening_paragraph(analysis, provenance)


def told(*counts: tuple[int, tuple[int, int]], trials: int = 5) -> str:
    """The paragraph of 20 tasks: so many with these passes in Bash and PowerShell."""
    pairs = list(itertools.chain.from_iterable([pair] * count for count, pair in counts))
    study = make_study(trials=trials)
    frame = make_frame(
        study, TASKS, from_counts({task.id: pair for task, pair in zip(TASKS, pairs, strict=True)}), asked_utc=None
    )
    return paragraph(analyse(frame, study, TASKS))


PHRASES = {
    "PowerShell is ahead": lambda c: c.ahead == "challenger",
    "Bash is ahead": lambda c: c.ahead == "baseline",
    "and that the gap is 10 points or more": lambda c: c.size == "ten-or-more",
    "the gap is 5 to 10 points": lambda c: c.size == "five-to-ten",
    "that the gap is less than 5 points": lambda c: c.size == "under-five",
    "that the gap is less than 10 points": lambda c: c.size == "under-ten",
    "neither that the gap is 10 points or more nor that it is less": lambda c: (
        c.ahead and c.size == "open" and not c.edge
    ),
    "not by how much": lambda c: c.ahead and c.edge,
    "cannot tell": lambda c: c.edge,
    "the data fit other rows": lambda c: not (c.ahead or c.edge or c.size == "under-five") and len(c.rows) > 1,
    "the sign-flip p is above 0.05": lambda c: not (c.ahead or c.edge or c.size == "under-five") and len(c.rows) == 1,
    "label from the table, not evidence": lambda c: not (c.ahead or c.edge) and c.size == "open",
}


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_sentence_stands_where_its_claim_does_and_nowhere_else(phrase: str) -> None:
    holds = {claims for claims in ALL if PHRASES[phrase](claims)}
    assert holds and holds == {claims for claims in ALL if phrase in said(claims)}


def test_the_other_rows_are_named_and_the_own_is_not_among_them() -> None:
    labels = {"challenger": "PowerShell", "baseline": "Bash", "falsified": "noise", "inconclusive": "inconclusive"}
    for claims in ALL:
        if "other rows" in said(claims):
            named = said(claims).split("(")[1].split(")")[0]
            assert {band for band, label in labels.items() if label in named} == set(claims.rows) - {claims.band}


def test_a_gap_beyond_ten_is_not_called_doubtful() -> None:
    text = told((10, (1, 4)), (10, (1, 3)))
    assert "The data carry that PowerShell is ahead for model-x, and that the gap is 10 points or more." in text
    assert "though" not in text and "other rows" not in text


def test_a_gap_that_lies_in_the_hole_is_said_to() -> None:
    text = told((5, (0, 1)), (5, (0, 2)), (5, (19, 20)), (5, (18, 20)), trials=20)
    assert "a gap of +7.5 points" in text and "**resolved**" in text
    assert (
        "The data carry that PowerShell is ahead for model-x, and that the gap is 5 to 10 points, "
        "for which the table has no rule." in text
    )


def test_both_claims_are_named() -> None:
    for counts, words in (
        ([(10, (1, 4)), (10, (1, 3))], "On tasks like these PowerShell is ahead; on these very tasks too."),
        (
            [(3, (0, 5)), (17, (2, 2))],
            "On tasks like these it is open who is ahead; on these very tasks PowerShell is.",
        ),
        ([(2, (3, 1)), (18, (2, 2))], "On tasks like these it is open who is ahead; on these very tasks too."),
        (
            [(4, (0, 5)), (16, (5, 5))],
            "on these very tasks too little is known (no trial varied, which is not certainty).",
        ),
    ):
        assert words in told(*counts)
    assert "(one trial does not show its own noise)" in told((4, (0, 1)), (16, (1, 1)), trials=1)


def test_tasks_without_room_are_the_first_thing_said_and_the_label_comes_after() -> None:
    for counts, edge in (
        ([(20, (0, 0))], "floor"),
        ([(20, (5, 5))], "ceiling"),
        ([(8, (0, 1)), (12, (0, 0))], "floor"),
    ):
        text = told(*counts)
        about = text.split("**model-x**: ")[1]
        assert about.startswith(f"these tasks cannot tell for this model: both arms stand at the {edge}")
        assert about.index("cannot tell") < about.index("the table's label for it, no finding here")
        assert "resolved" not in text and "carry" not in text
    assert "They show that PowerShell is ahead, not by how much." in text


def test_one_shell_at_an_edge_is_said_to_bias_the_gap() -> None:
    assert "PowerShell stands at the floor, which biases the gap towards 0." in told((20, (2, 0)))
    assert "Bash stands at the ceiling, which biases the gap towards 0." in told((20, (5, 3)))
    assert "biases" not in told((20, (2, 3)))


def test_a_gap_that_vanishes_or_turns_without_unix_tools_or_refusals_is_named() -> None:
    """PowerShell ahead by 20; all its passes of three tasks need Unix tools, and refusals lower Bash."""
    study = make_study()

    def altered(unix: bool, refused: bool, turned: bool = False) -> str:
        rows = make_rows(study, TASKS, from_counts({t.id: (3, 4) for t in TASKS}), asked_utc=None)
        changed = []
        for row in rows:
            works = row.passed and not (unix and row.trial in ((3, 4) if turned else (4,)))
            more: dict = {"no_unix_tools_passed": works if row.shell == "pwsh" else None}
            if refused and row.shell == "bash" and row.trial == 4:
                more |= {"outcome": "refusal"}
            changed.append(row.model_copy(update=more))
        return paragraph(analyse(to_frame(changed), study, TASKS))

    unix = "no Unix tools on PATH for PowerShell (Bash as designed)"
    assert "read otherwise" not in altered(False, False)
    assert f"The gap vanishes (less than 5 points) where a pass is read otherwise ({unix}: 0.0)." in altered(
        True, False
    )
    assert f"The gap turns round where a pass is read otherwise ({unix}: −20.0)." in altered(True, False, turned=True)
    both = altered(True, True)
    assert "refusals left out instead of failed: +5.0" in both and f"{unix}: 0.0" in both
    rows = []
    for row in make_rows(study, TASKS, from_counts({t.id: (3, 4) for t in TASKS}), asked_utc=None):
        more = {"no_unix_tools_passed": row.passed, "windows_aliases_passed": row.passed and row.trial < 3}
        rows.append(row.model_copy(update=more if row.shell == "pwsh" else {}))
    text = paragraph(analyse(to_frame(rows), study, TASKS))
    assert "turns round where a pass is read otherwise (the aliases of Windows for PowerShell (Bash as desi" in text


def test_tasks_and_categories_without_which_the_row_is_another_are_named() -> None:
    text = told((5, (1, 3)), (15, (3, 3)))
    assert "a gap of +10.0 points" in text
    words = (
        "The row of the table is another without any one of 5 tasks (task-01, task-02, task-03, …) or one category ("
    )
    assert words in text
    assert "is another without" not in told((20, (2, 3)))


def test_models_that_disagree_are_said_to() -> None:
    def of(*passes: tuple[int, int]) -> str:
        names = [f"m{place}" for place in range(len(passes))]
        study = make_study(names)
        frame = make_frame(
            study,
            TASKS,
            lambda cell: cell.trial <= passes[names.index(cell.model)][cell.shell == "pwsh"] - (cell.task == "task-01"),
        )
        return paragraph(analyse(frame, study, TASKS))

    assert (
        "The models disagree: on tasks like these, PowerShell is ahead for m0 and m2 and Bash is ahead for m1."
        in of((1, 4), (3, 2), (2, 3))
    )
    assert "disagree" not in of((1, 4), (2, 3)) and "rows" not in of((1, 4), (2, 3))
    assert "The models' rows of the table differ: PowerShell for m0; noise for m1." in of((1, 4), (3, 3))


def test_models_may_disagree_on_these_tasks_alone() -> None:
    study = make_study(("a", "b"))
    ahead = {"a": "pwsh", "b": "bash"}

    def passes(cell) -> bool:
        return cell.trial <= (
            5 if cell.task <= "task-03" and cell.shell == ahead[cell.model] else 2 if cell.task > "task-03" else 0
        )

    text = paragraph(analyse(make_frame(study, TASKS, passes), study, TASKS))
    assert "The models disagree: on these very tasks, PowerShell is ahead for a and Bash is ahead for b." in text


def test_missing_cells_are_named_by_shell() -> None:
    study = make_study()

    def lost(cell):
        return None if cell.shell == "pwsh" and cell.trial == 1 and cell.task <= "task-06" else cell.trial < 4

    text = paragraph(analyse(make_frame(study, TASKS, lost), study, TASKS))
    assert "The study is unfinished or was stopped early, runs are missing: 6 of 100 in PowerShell for model-x." in text
    assert "unfinished" not in told((20, (2, 3)))


def test_a_study_that_grew_is_said_to_have_and_one_in_a_mixed_order_is_not() -> None:
    study = make_study(trials=10)

    def asked(when) -> str:
        rows = make_rows(study, TASKS, lambda cell: cell.trial < 4)
        times = [row.model_copy(update={"asked_utc": when(place, row.trial)}) for place, row in enumerate(rows)]
        return paragraph(analyse(to_frame(times), study, TASKS))

    mixed = lambda place, trial: f"2026-05-01T10:{place * 37 % 60:02d}:00Z"  # noqa: E731
    assert "grew" not in asked(mixed) and "grew" not in asked(lambda place, trial: None)
    later = lambda place, trial: mixed(place, trial).replace("05-01", "05-02" if trial > 5 else "05-01")  # noqa: E731
    assert (
        "The study grew: trials beyond 5 for model-x were asked for when the earlier ones had been answered"
        in asked(later)
    )


def test_what_was_not_announced_and_what_was_not_kept_to_is_said() -> None:
    study = make_study()
    analysis = analyse(make_frame(study, TASKS, lambda cell: True), study, TASKS)
    assert "exploratory: nothing was registered" in paragraph(analysis, Provenance())
    late = Registered(path="preregistrations/x.json", utc="2026-05-02T10:00:00Z")
    for first, told in (("2026-05-01T10:00:00Z", True), ("2026-05-03T10:00:00Z", False), (None, False)):
        text = paragraph(analysis, Provenance(registration=late, first_answer_utc=first))
        assert ("exploratory: it was registered after its first answer" in text) is told
    kept = paragraph(analysis)
    assert "exploratory" not in kept and "departs" not in kept
    departed = ANNOUNCED.model_copy(update={"deviations": ["trials: 5 became 4", "a task changed"]})
    assert "The study departs from its registration in 2 points (see Plan and deviations)." in paragraph(
        analysis, departed
    )


def test_runs_of_more_than_one_attempt_are_counted() -> None:
    study = make_study()

    def of(attempts: int) -> str:
        rows = make_rows(study, TASKS, lambda cell: cell.trial < 4)
        again = {"task-01", "task-02"}
        changed = [r.model_copy(update={"attempts": attempts}) if r.task in again and r.trial == 1 else r for r in rows]
        return paragraph(analyse(to_frame(changed), study, TASKS))

    assert "Runs with more than one attempt, as the engine or somebody outside ended one: 4 for model-x." in of(2)
    assert "attempt" not in of(1)


@pytest.mark.parametrize(
    ("apart", "sentence", "warned"),
    [
        (lambda cell, place: 0, "in one mixed, seeded order (rank correlation with the planned order 1.00; mean place Bash 0.", False),
        (lambda cell, place: place > 30, "in one mixed, seeded order, resumed, 2 runs (rank correlation with", False),
        (lambda cell, place: cell.shell == "pwsh", "not in the planned order, 2 runs (rank correlation with the planned order 0.5", True),
    ],
)  # fmt: skip
def test_what_is_said_of_the_order_of_asking_follows_from_the_times(apart, sentence, warned) -> None:
    study = make_study()
    rows = {Cell(row.model, row.shell, row.task, row.trial): row for row in make_rows(study, TASKS, lambda cell: True)}
    for place, cell in enumerate(sorted(rows, key=study.priority, reverse=True)):
        time = f"2026-05-0{1 + apart(cell, place)}T1{place // 60}:{place % 60:02d}:00Z"
        rows[cell] = rows[cell].model_copy(update={"asked_utc": time})
    analysis = analyse(to_frame(list(rows.values())), study, TASKS)
    assert order_of_asking(analysis).startswith(f"model-x: {sentence}")
    assert (
        "not asked for in the planned order (rank correlation with it: model-x 0.5" in paragraph(analysis)
    ) == warned
