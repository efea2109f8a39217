"""An honest archive verifies offline in one screen; what an archive contains."""

import re
import shutil
from pathlib import Path

import pytest

from fluency.archive import pack, verify
from fluency.archive.manifest import MANIFEST_NAME, Manifest
from fluency.archive.stated_commit import StatedCommit
from fluency.archive.unpack import unpacked
from fluency.archive.verify import VerifyReport, make_verified_archive, verify_archive
from fluency.cli import main
from fluency.common.errors import ArchiveError, UserError
from fluency.common.files import sha256
from fluency.core.records import Result
from fluency.core.study import Study, read_study
from fluency.core.table import image_path
from fluency.core.tasks import load_tasks
from fluency.execution.protocol import Invocation
from tests.archive.conftest import DECISION, TASKS
from tests.archive.factory import (
    Executor,
    Made,
    archived,
    make,
    make_study,
    preregister_at,
    result_of,
)
from tests.archive.hostile import FACTS, contents, flip, ours, put, record, rewritten

EXECUTION, SCORE = (
    f"results/{stage}/qwen-0.5b/pwsh/stale-lockfiles/1.json" for stage in ("executions", "scores")
)


def test_sound_archive_is_proven_offline(archive, offline):
    report = verify_archive(archive)
    lines = [*report.lines()]
    assert lines[-1] == "PROVEN" and report.exit_code == 0 and len(lines) < 12
    assert report.sha256 == sha256(archive.read_bytes())


@pytest.mark.usefixtures("zsh")
def test_archive_without_a_further_shell_is_proven(archive):
    """It holds no limits or image of a shell that the study does not ask."""
    assert [*verify_archive(archive).lines()][-1] == "PROVEN"


class Loses(Executor):
    """A sandbox that loses every result of PowerShell."""

    def run(self, invocation: Invocation) -> Result:
        lost = invocation.shell == "pwsh"
        change = {"exit_code": None, "lost": "the runner failed"}
        return result_of(b"").model_copy(update=change) if lost else super().run(invocation)


def test_screen_of_a_stranger_follows_the_verdict(tmp_path, at, monkeypatch, capsys):
    study = make_study(TASKS, trials=1, decision=DECISION)
    tasks = load_tasks(study.tasks)
    frozen = study.model_copy(update={"trials": 2})
    path = preregister_at("2026-11-01T00:00:00Z", frozen, tasks, DECISION, tmp_path)
    study = study.model_copy(update={"preregistration": str(path)})
    made = make(tmp_path, study, sandbox=Loses(tasks))
    archive = archived(made, tmp_path / "out")
    at("dirty")
    assert verify.verify(archive) == 0
    head, screen = capsys.readouterr().out.split("\nPROVEN\n")
    assert "Conceded" not in head
    for said in (
        "qwen-0.5b passed 100.0 % in Bash and 0.0 % in PowerShell (−100.0 points",
        "lost: 0 in Bash and 2 in PowerShell; they could move the gap to anywhere from −100.0 to 0.0",
        "2 tasks (no named set) × 2 shells × 1 trial",
        "It lacks 18 tasks of ",
        "1 deviation; order not proven: git here has no such file; code: not known here.",
        "- trials: registered 2, now 1",
        "No control",
        "This checkout is not clean",
    ):
        assert said in screen, screen
    assert "invented ones" in screen.splitlines()[-2] and "replay N=40" in screen.splitlines()[-1]
    at("own")
    verify.verify(archive)
    assert "not clean" not in capsys.readouterr().out
    monkeypatch.setattr(verify, "MOST", 0)
    verify.verify(archive)
    assert "- … and 1 more, which `make open ARCHIVE=…` shows" in capsys.readouterr().out
    for change, repair, code in ((put("passed", value=True), True, 3), (None, False, 1)):
        forged = record(SCORE, change) if change else flip("README.md")
        assert verify.verify(rewritten(archive, tmp_path, forged, repair=repair)) == code
        assert ("Recomputed:" in capsys.readouterr().out) == (code == 3)


def test_every_altered_file_is_named_by_its_hash(archive, tmp_path):
    names = contents(archive).keys() - {MANIFEST_NAME}
    changes = [flip(re.escape(name)) for name in names]
    with unpacked(rewritten(archive, tmp_path, *changes, repair=False)) as found:
        assert {problem.where for problem in found.problems} == names
    readme = flip("README.md")
    assert verify_archive(rewritten(archive, tmp_path, readme, repair=False)).exit_code == 1


def test_long_list_says_how_many_more():
    manifest = Manifest.model_validate(FACTS | {"files": {}, "sha256": "0" * 64})
    for found, more in ((3, []), (1020, ["ALTERED … and 1,000 more"])):
        report = VerifyReport(Path("x"), "", manifest, StatedCommit.of(manifest))
        for number in [*range(found), 0]:
            report.check(f"file {number}", False, "it was altered")
        lines = [line for line in report.lines() if line.startswith("ALTERED ")]
        assert lines == [
            *(f"ALTERED file {n}: it was altered" for n in range(min(found, 20))),
            *more,
        ]


def test_open_makes_the_reports_of_the_records(archive, made, offline, tmp_path, capsys):
    """The same table, figures and explorer as the study's own, and nothing that it concluded."""
    assert verify.open_archive(archive, tmp_path) == 0
    printed = capsys.readouterr().out
    assert "SHA-256" not in printed and "PROVEN" in printed and "explorer.html" in printed
    assert "this report decides nothing" in printed, "the finding"
    own = made.results / made.study.study
    for name in ("cells.csv", "figures/gaps.svg"):
        assert (tmp_path / name).read_bytes() == (own / name).read_bytes()
    report, ours = ((folder / "report.md").read_text() for folder in (tmp_path, own))
    of_the_reader = re.compile(r"- (commit|dirty|version|lock_sha256|config_files|versions)\b.*\n")
    report = re.sub(r"; code: not known here| Code: not known here\.", "", report)
    assert report == of_the_reader.sub("", ours) != ours
    verify.open_archive(archive, tmp_path, verbose=True)
    assert "SHA-256" in capsys.readouterr().out


def test_compare_takes_archives_and_what_was_opened(
    archive, small_archive, tmp_path, capsys, monkeypatch
):
    """With what is recorded of how each was run; the page is printed, and written as HTML."""
    page = tmp_path / "comparison.html"
    monkeypatch.setattr(verify, "COMPARISON", page)
    verify.open_archive(small_archive, tmp_path / "opened")
    capsys.readouterr()
    for other in (small_archive, tmp_path / "opened"):
        assert main(["compare", str(archive), str(other)]) == 0
        out, err = capsys.readouterr()
        assert out.startswith("# made-up-2026-11-22-0123456789ab (A) and ") and "PROVEN" in err
        rows = [
            line for line in out.split("What was run differently")[1].splitlines() if "|" in line
        ]
        assert any(re.match(r"\| trials +\| 2 +\| 1 ", row) for row in rows), rows
        assert "not recorded" not in "".join(row for row in rows if "sampling" in row)
        assert "no provenance" not in out
        assert err.splitlines()[-1] == f"As a page: {page}"
        assert "What was run differently</h2>" in page.read_text()


def test_archived_words_cannot_steer_the_terminal(archive, tmp_path, capsys):
    change = record(EXECUTION, put("extraction", "strict", value="\u202e\u200b\x9b2J fine"))
    forged = rewritten(archive, tmp_path, change, made_by="\x9b2J")
    assert verify.verify(forged) == verify.open_archive(forged, tmp_path / "opened") == 3
    for name in ("report.md", "report.html", "explorer.html"):
        assert "NOT CHECKED: these numbers are" in (tmp_path / "opened" / name).read_text()
    assert not set("".join(capsys.readouterr())) & {"\u202e", "\u200b", "\x9b"}


FORMS = {
    "commit": ("\x1b[2J", "HEAD", "c" * 41),
    "utc_date": ("2026-02-30", "2026-11-22\n"),
    "study": ("../up", "a\n"),
    "dirty": ("no", 0),
    "schema_version": (0, 1, 3, True),
}


@pytest.mark.parametrize("key", FORMS)
def test_manifest_field_without_its_form_is_refused(key, tmp_path):
    for value in FORMS[key]:
        with (
            pytest.raises(ArchiveError, match="it does not fit the schema") as error,
            unpacked(ours({}, tmp_path / "x", **{key: value})),
        ):
            pass
        assert key in str(error.value) and "\x1b" not in str(error.value)


# ---------------------------------------------------------------- making


def test_the_same_study_gives_the_same_bytes(made, archive, tmp_path):
    again = archived(made, tmp_path)
    assert again.name == archive.name == "made-up-2026-11-22-0123456789ab.tar.zst"
    assert again.read_bytes() == archive.read_bytes()


def test_archived_study_is_a_configuration_file(small_archive, tmp_path):
    """`make run CONFIG=study.json` asks the same questions."""
    (tmp_path / "study.json").write_bytes(contents(small_archive)["study.json"])
    study = read_study(tmp_path / "study.json")
    assert study == Study.model_validate_json(contents(small_archive)["study.json"])


def test_incomplete_study_needs_partial(tmp_path):
    study = make(tmp_path / "s", make_study(("stale-lockfiles",), trials=1))
    kept = image_path(study.results, "bash").rename(tmp_path / "kept")
    with pytest.raises(UserError, match=r"images/bash\.json has not been made"):
        archived(study, tmp_path / "out", partial=True)
    kept.rename(image_path(study.results, "bash"))
    cell = "qwen-0.5b/bash/stale-lockfiles/1"
    (study.results / f"scores/{cell}.json").unlink()
    with pytest.raises(UserError, match="1 of 2 cells are missing") as error:
        archived(study, tmp_path / "out")
    assert cell in str(error.value)
    assert "`make run`" in str(error.value) and "PARTIAL=1" in str(error.value)
    path = archived(study, tmp_path / "out", partial=True)
    assert path.name == "made-up-2026-11-22-0123456789ab-partial.tar.zst"
    report = verify_archive(path)
    assert report.exit_code == 0 and report.missing == [cell]
    assert "PARTIAL: 1 of 2 cells are missing" in report.lines()
    (study.results / f"scores/{cell.replace('/bash/', '/pwsh/')}.json").unlink()
    with pytest.raises(UserError, match="2 of 2 cells are missing") as error:
        archived(study, tmp_path / "out", partial=True)
    assert "PARTIAL=1" not in str(error.value)


def test_archive_without_commit_says_so(made, tmp_path, monkeypatch):
    monkeypatch.setattr(pack, "RESULTS", made.results)
    monkeypatch.setattr(pack, "git_state", lambda: (None, True))
    assert "-nocommit-dirty" in pack.pack_study(made, tmp_path).name


def test_results_that_do_not_fit_are_not_packed(made, tmp_path, monkeypatch, capsys):
    """As after a change of the sandbox or of a task, without another run."""
    own = Made(shutil.copytree(made.root, tmp_path / "s"), made.study, made.tasks)
    monkeypatch.setattr(pack, "RESULTS", own.results)
    monkeypatch.setattr(verify, "ARCHIVES", tmp_path / "out")
    make_verified_archive(own, partial=False, image=False)
    verdict, packed = map(Path, capsys.readouterr().out.split())
    assert verdict.name == "PROVEN"
    proven = packed.read_bytes()
    score = own.results.parent / SCORE
    score.write_text(score.read_text().replace('"passed": true', '"passed": false'))
    with pytest.raises(
        UserError, match=r"do not fit this checkout, .* would be [A-Z ]+: \S+1.json"
    ):
        make_verified_archive(own, partial=False, image=False)
    assert [*packed.parent.iterdir()] == [packed] and packed.read_bytes() == proven


def test_the_image_goes_in_when_asked(made, tmp_path, monkeypatch):
    def save(engine, image_id, path):
        path.write_bytes(image_id.encode() * 1000)

    monkeypatch.setattr(pack, "ensure_engine", lambda: None)
    monkeypatch.setattr(pack, "save_image", save)
    report = verify_archive(archived(made, tmp_path, image=True))
    assert report.exit_code == 0 and {"image/bash.tar", "image/pwsh.tar"} < {*report.manifest.files}


def test_compare_of_archives_of_one_name_reads_each(archive, tmp_path):
    """Two studies of a day and a commit have it in different folders; an error names both."""
    other = archived(make(tmp_path, make_study(["tree-size-bytes"], trials=1)), tmp_path / "out")
    assert other.name == archive.name
    with pytest.raises(UserError, match="share no task") as error:
        verify.compare_studies(str(archive), str(other))
    name = archive.name.removesuffix(".tar.zst")
    assert error.value.where == f"{name}, {name}"
