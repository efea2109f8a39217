"""A real study of both shells, made by older code: today's code reads it, judges it alike and finds the same numbers.

Two small models, 400 measured cells. Its PowerShell executions were real and cannot be repeated on a machine without
PowerShell, so no change of the project may lose them. Its own tasks judge it, so that the bank can be edited.
"""

from fractions import Fraction

import pytest

from fluency.analysis.study_analysis import analyse
from fluency.archive import decision
from fluency.archive.replay import replay_archive
from fluency.archive.verify import verify_archive
from fluency.common.paths import ROOT
from fluency.core.study import PILOT, Study
from fluency.core.table import to_frame
from fluency.core.tasks import load_tasks
from fluency.report.figures import draw_gaps
from fluency.report.first_page import could_change, model_sentence
from fluency.report.sentences import headline_of
from fluency.report.tables import first_table
from tests.archive.hostile import contents
from tests.archive.test_old_archives import EVIDENCE

EXAMPLE = ROOT / "example" / "example-2026-11-22-a2e9e2164007.tar.zst"
SHA256 = "9e87bb7efb69a33c07b9870b48873cb820aaf541bc17a89f833c422f03165ab4"


@pytest.fixture(scope="module")
def verified():
    return verify_archive(EXAMPLE)


@pytest.fixture(scope="module")
def replayed():
    return replay_archive(EXAMPLE)


def test_it_is_the_file_that_was_made(verified):
    assert verified.sha256 == SHA256
    assert verified.manifest.commit.startswith("a2e9e2164007") and verified.manifest.cells == 400


def test_it_is_never_called_altered(verified):
    """By other code some words may be unproven; hashes, links and scores must fit, at every later commit."""
    assert verified.problems == [] and verified.exit_code in (0, 3)
    assert verified.verdict("scores") == "proven", verified.lines()
    assert (verified.checked["hashes"], verified.checked["links"], verified.checked["scores"]) == (
        2882,
        10000,
        400,
    )
    found = [
        finding for finding in verified.unproven if finding.where.startswith((*EVIDENCE, "sandbox"))
    ]
    assert {finding.aspect for finding in found} <= {"wording"}, found


def test_the_study_of_sixty_tasks_is_proven_but_for_words():
    (path,) = (ROOT / "example" / "bank").glob("*.tar.zst")
    report = verify_archive(path)
    assert report.problems == [] and (report.proven or report.only_words_differ), report.conclusion
    assert report.checked["scores"] == 120


def test_all_scores_come_out_equal(replayed):
    assert replayed.cells == 400 and all("makes other worlds" in note for note in replayed.notes)
    reworded = [
        cell
        for cell in replayed.differences
        if not cell.pass_changed and "% Total" in cell.archived
    ]
    assert replayed.differences == reworded, (
        "a reason is the error, no longer curl's progress meter"
    )
    assert [row.status for row in replayed.rows] == ["measured"] * 400


@pytest.fixture(scope="module")
def analysis(replayed):
    return analyse(
        to_frame(replayed.rows),
        Study.model_validate_json(contents(EXAMPLE)["study.json"]),
        load_tasks(PILOT),
    )


def test_the_headline_numbers_are_those_it_was_published_with_but_for_the_widened_interval(
    replayed, analysis
):
    weaker, stronger = analysis.models
    assert passes(weaker) == {"bash": (0, 100), "pwsh": (0, 100)}
    assert (weaker.gap.value, weaker.gap.floored) == (0, True)
    assert weaker.gap.s95 == pytest.approx((-0.0684, 0.0684), abs=5e-5)
    assert passes(stronger) == {"bash": (11, 100), "pwsh": (2, 100)}
    assert (stronger.gap.value, stronger.gap.floored) == (Fraction(-9, 100), False)
    assert stronger.gap.tested == pytest.approx((-0.183, 0.003), abs=5e-4), (
        "the interval of analysis plan 2"
    )
    assert stronger.gap.s95 == pytest.approx((-0.1985, 0.0185), abs=5e-4)
    assert replayed.before == replayed.after


def test_a_model_that_passes_nothing_gets_no_verdict(analysis):
    """0 of 100 in both shells: the tasks cannot tell, and nothing is proposed."""
    weaker, stronger = analysis.models
    assert model_sentence(weaker).startswith(
        "solved nothing in either shell: for this model the tasks are too hard"
    )
    assert list(could_change(analysis)) == ["qwen-1.5b"]
    assert (
        "PowerShell passes nearly nothing, which draws the gap towards 0."
        in could_change(analysis)["qwen-1.5b"]
    )
    assert (weaker.verdict.band, weaker.verdict.edge, weaker.verdict.resolved) == (
        "falsified",
        "floor",
        False,
    )
    assert stronger.verdict.edge is None
    assert decision._lines(weaker)["changes"].startswith(
        "Nothing is proposed: both shells are at the floor"
    )
    assert "Both shells are at the floor: these tasks cannot tell" in headline_of(weaker)
    assert "does not apply (floor)" in first_table(analysis)
    assert "both at the floor: cannot tell" in draw_gaps(analysis).alt


def passes(model) -> dict[str, tuple[int, int]]:
    return {shell: (rate.passes, rate.scored) for shell, rate in model.rates.items()}
