"""The decision record says what was measured, how sure it is, and leaves the deciding to somebody."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from fluency.analysis.bands import BANDS, band_words
from fluency.archive.decision import _lines, write_decision
from fluency.common.errors import UserError
from fluency.common.files import sha256
from fluency.core.shells import DESIGN
from tests.archive.hostile import rewritten
from tests.archive.test_verify import DERIVABLE, quiet


@pytest.fixture(scope="module")
def record(archive, tmp_path_factory):
    folder = tmp_path_factory.mktemp("decisions")
    return write_decision(archive, "Which shell should prompts name?", folder, utc_date="2026-11-23", say=quiet)


def test_the_record_holds_what_a_decision_needs(record, archive, made):
    text = record.read_text()
    assert record.name == "2026-11-23-which-shell-should-prompts-name.md"
    for wanted in (
        "status: proposed",
        "decision-makers:\n",
        "# Which shell should prompts name?",
        "The study was run for this decision: which shell our prompts name",
        "Deviations: none.",
        "2 tasks, bash and pwsh, 2 trials of each, 1 model, never pooled",
        "| qwen-0.5b | Bash ",
        "No verdict: 2 of 2 tasks were measured in both shells; a verdict needs 15.",
        "### What Changes",
        "### What Does Not Change",
        "Name and date:\n",
        f"SHA-256 of the archive: `{sha256(archive.read_bytes())}`",
        "Every hash, every link and every rebuilt file fits.",
        "preregistrations/made-up-2026-11-01.json",
    ):
        assert wanted in text, wanted
    assert "\n\n\n\n" not in text


def test_a_record_is_never_written_over(record, archive):
    with pytest.raises(UserError, match="a record of this name"):
        write_decision(archive, "Which shell should prompts name", record.parent, utc_date="2026-11-23", say=quiet)


@pytest.mark.parametrize("title", ["", " ?! "])
def test_a_title_is_needed(title, archive, tmp_path):
    with pytest.raises(UserError, match="needs a title"):
        write_decision(archive, title, tmp_path, say=quiet)


def test_a_title_cannot_leave_the_folder_or_break_the_page(archive, tmp_path):
    path = write_decision(archive, "../../evil\n# <b>big</b>", tmp_path / "d", utc_date="2026-11-23", say=quiet)
    assert path.parent == tmp_path / "d" and path.name == "2026-11-23-evil-b-big-b.md"
    assert "<b>" not in path.read_text() and "\n# <" not in path.read_text()


def test_nothing_rests_on_an_altered_archive(archive, tmp_path):
    forged = rewritten(archive, tmp_path, DERIVABLE["score passed"][0], repair=True)
    with pytest.raises(UserError, match="no decision may rest on this archive"):
        write_decision(forged, "title", tmp_path / "d", say=quiet)
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize("band", BANDS)
def test_an_unresolved_verdict_changes_nothing_by_itself(band, monkeypatch):
    monkeypatch.setattr("fluency.archive.decision.headline_of", lambda model: "headline")

    words = band_words(DESIGN)

    def lines(resolved: bool, provisional: bool = False):
        verdict = SimpleNamespace(band=band, resolved=resolved, provisional=provisional, refused=())
        return _lines(SimpleNamespace(model="m", verdict=verdict, words=words))

    sure, unsure, unfinished = lines(True), lines(False), lines(True, provisional=True)
    assert unfinished.changes.startswith("Nothing yet") and "missing cells" in unfinished.changes
    assert (sure.changes, sure.stays) == (words[band].changes, words[band].stays)
    assert "could not rest on it" in unsure.changes
