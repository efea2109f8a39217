"""The decision record says what was measured and how sure it is; a person decides."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from fluency.analysis.contrast import Contrast
from fluency.analysis.decision_table import BANDS, band_words
from fluency.analysis.gap import GapEstimate
from fluency.analysis.study_analysis import analyse
from fluency.archive.decision import _lines, write_decision
from fluency.common.errors import UserError
from fluency.common.files import sha256
from fluency.common.paths import ROOT
from fluency.core.shells import DESIGN_SHELLS
from tests.archive.hostile import put, rewritten
from tests.archive.hostile import record as edit_of
from tests.archive.test_verify import EXECUTION, SCORE
from tests.programs import completed
from tests.synthetic_tables import make_frame, make_study, make_tasks, random_passes


@pytest.fixture(scope="module")
def record(archive, tmp_path_factory):
    folder = tmp_path_factory.mktemp("decisions")
    return write_decision(
        archive, "Which shell should prompts name?", folder, utc_date="2026-11-23"
    )


def test_the_record_holds_what_a_decision_needs(record, archive, made):
    text = record.read_text()
    assert record.name == "2026-11-23-which-shell-should-prompts-name.md"
    for wanted in (
        "status: proposed",
        "decision-makers:\n",
        "# Which shell should prompts name?",
        "The study was run for this decision: which shell our prompts name",
        f"**Registered in advance**: `{made.study.preregistration}`",
        "the first answer came 2026-11-22T01:02:03.456Z.",
        "Deviations: none.",
        "2 tasks (no named set) × 2 shells × 2 trials × 1 model, 8 of 8 runs measured.",
        "Not compared: 2 of 2 tasks were measured in both shells; a verdict needs 15",
        "### What Changes",
        "### What Does Not Change",
        "Name and date:\n",
        f"SHA-256 of the archive: `{sha256(archive.read_bytes())}`",
        "Verification when this record was written: PROVEN",
        "preregistrations/made-up-2026-11-01.json",
    ):
        assert wanted in text, wanted
    assert "\n\n\n\n" not in text


def test_record_needs_a_title_and_is_never_written_over(record, archive):
    for title, said in (
        ("Which shell should prompts name", "record of this name"),
        (" ?! ", "needs a title"),
        ("Über", "needs a title in ASCII"),
    ):
        with pytest.raises(UserError, match=said):
            write_decision(archive, title, record.parent, utc_date="2026-11-23")


def test_nothing_rests_on_an_altered_archive(archive, tmp_path):
    forged = rewritten(archive, tmp_path, edit_of(EXECUTION, put("attempts", value=99)))
    with pytest.raises(UserError, match="it is altered or damaged"):
        write_decision(forged, "title", tmp_path / "d")
    assert not (tmp_path / "d").exists()


def test_record_of_unchecked_archive_says_so(archive, tmp_path):
    """Forged scores of an unknown commit; the numbers are the recomputed ones."""
    forged = rewritten(archive, tmp_path, edit_of(SCORE, put("passed", value=False)))
    text = write_decision(forged, "title", tmp_path / "d").read_text()
    top = text.split("## Context and Problem Statement")[0]
    assert "NOT CHECKED" in top and "Nobody here knows commit 0123456789abcdef" in top
    numbers = re.search(r"\| qwen-0.5b .*", text)[0]
    honest = write_decision(archive, "title", tmp_path / "e").read_text()
    assert "NOT CHECKED" not in honest and numbers in honest


def test_commands_of_a_record_work_as_written(archive, tmp_path):
    """From the project's folder, also if the record was written from another."""
    path = write_decision(archive, "it's done", tmp_path / "a folder")
    line = next(line for line in path.read_text().splitlines() if "RECORD=" in line)
    verify, replay = re.findall(r"`+ ?(make (?:verify|replay) .*?) ?`", line)
    path = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    verified, dry = (
        completed("bash", "-c", command, env=path)
        for command in (verify, replay.replace("make", "make --dry-run", 1))
    )
    assert "\nPROVEN\n" in verified.stdout and "fluency replay" in dry.stdout


def test_signature_is_made_and_verified_as_the_page_says(archive, tmp_path):
    page = (ROOT / "docs/archive.md").read_text()
    sign, verify = re.findall("^ssh-keygen -Y .*$", page, re.MULTILINE)
    shutil.copy(archive, tmp_path / "file")
    (tmp_path / ".ssh").mkdir()
    key = tmp_path / ".ssh/id_ed25519"
    here = {"cwd": tmp_path, "env": os.environ | {"HOME": str(tmp_path)}}
    completed("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key, **here)
    public = key.with_suffix(".pub").read_text()
    (tmp_path / "allowed_signers").write_text(f"ada@example.org {public}")
    for command, code in ((sign, 0), (verify, 0), (f"echo >> file; {verify}", 255)):
        completed("bash", "-c", command, code=code, **here)


def test_names_of_archive_and_record_are_made_harmless(archive, tmp_path):
    named = tmp_path / "a`<b>x[l](h).tar.zst"
    named.write_bytes(archive.read_bytes())
    title, folder = "../../evil\n# <b>big</b>", tmp_path / "d"
    path = write_decision(named, title, folder, utc_date="2026-11-23")
    assert path == folder / "2026-11-23-evil-b-big-b.md"
    text = path.read_text()
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert "<b>" not in html and "<a " not in html and "a`&lt;b&gt;x[l](h).tar.zst" in html
    assert "\n# <" not in text


@pytest.mark.parametrize("proposed", [True, False])
def test_record_proposes_only_supported_band(proposed, archive, tmp_path, monkeypatch):
    def judged(*args):
        monkeypatch.setattr(GapEstimate, "supported", proposed)
        monkeypatch.setattr(Contrast, "refused", ())
        return analyse(*args)

    monkeypatch.setattr("fluency.archive.decision.analyse", judged)
    text = write_decision(archive, "title", tmp_path).read_text()
    assert ("Proposed by the decision table" in text, "**Nothing is proposed.**" in text) == (
        proposed,
        not proposed,
    )


@pytest.mark.parametrize("band", BANDS)
def test_unresolved_verdict_changes_nothing(band, monkeypatch):
    study, tasks = make_study(), make_tasks()
    (pair,) = analyse(make_frame(study, tasks, random_passes()), study, tasks).contrasts
    words = band_words(DESIGN_SHELLS)

    def lines(resolved, provisional=False):
        for name, said in (("band", band), ("provisional", provisional), ("supported", resolved)):
            monkeypatch.setattr(GapEstimate, name, said)
        return _lines(pair)

    sure, unsure, unfinished = lines(True), lines(False), lines(True, provisional=True)
    assert unfinished["changes"].startswith("Nothing yet")
    assert "missing runs" in unfinished["changes"]
    assert (sure["changes"], sure["stays"]) == (words[band].changes, words[band].stays)
    assert unsure["changes"].startswith("Nothing is proposed: ")
