"""A real study of both shells, made by older code: today's code reads it, judges it alike and finds the same numbers.

Two small models, 400 measured cells. Its PowerShell executions were real and cannot be repeated on a machine without
PowerShell, so no change of the project may lose them. Its own tasks judge it, so that the bank can be edited.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from fluency.analysis import analyse
from fluency.archive.replay import replay_archive
from fluency.archive.verify import verify_archive
from fluency.core.study import Study
from fluency.core.table import to_frame
from fluency.core.tasks import load_tasks
from tests.archive.fixture import FOLDER
from tests.archive.hostile import contents
from tests.archive.test_old_archives import EVIDENCE
from tests.archive.test_verify import quiet

EXAMPLE = FOLDER / "example-2026-11-22-a2e9e2164007.tar.zst"
SHA256 = "9e87bb7efb69a33c07b9870b48873cb820aaf541bc17a89f833c422f03165ab4"


@pytest.fixture(scope="module")
def verified():
    return verify_archive(EXAMPLE, quiet, trust_tasks=True)


@pytest.fixture(scope="module")
def replayed():
    return replay_archive(EXAMPLE, "score", say=quiet, trust_tasks=True)


def test_it_is_the_file_that_was_made(verified):
    assert verified.sha256 == SHA256
    assert verified.manifest.commit.startswith("a2e9e2164007") and verified.manifest.cells == 400


def test_it_is_never_called_altered(verified):
    """By other code some words may be unproven; hashes, links and scores must fit."""
    assert verified.problems == []
    assert (verified.checked["hashes"], verified.checked["links"], verified.checked["scores"]) == (2882, 7588, 400)
    assert not [finding for finding in verified.unproven if finding.where.startswith((*EVIDENCE, "sandbox"))]


def test_all_scores_come_out_equal(replayed):
    assert (replayed.cells, replayed.differences, replayed.notes) == (400, [], [])
    assert [row.status for row in replayed.rows] == ["measured"] * 400


def test_the_headline_numbers_are_those_it_was_published_with(replayed):
    study = Study.model_validate_json(contents(EXAMPLE)["study.json"])
    weaker, stronger = analyse(to_frame(replayed.rows), study, load_tasks()).models
    assert passes(weaker) == {"bash": (0, 100), "pwsh": (0, 100)}
    assert (weaker.gap.value, weaker.gap.floored) == (0, True)
    assert weaker.gap.s95 == pytest.approx((-0.0684, 0.0684), abs=5e-5)
    assert passes(stronger) == {"bash": (11, 100), "pwsh": (2, 100)}
    assert (stronger.gap.value, stronger.gap.floored) == (Fraction(-9, 100), False)
    assert stronger.gap.s95 == pytest.approx((-0.183, 0.003), abs=5e-4)
    assert replayed.before == replayed.after


def passes(model) -> dict[str, tuple[int, int]]:
    return {shell: (rate.passes, rate.scored) for shell, rate in model.rates.items()}
