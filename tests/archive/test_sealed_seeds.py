"""Seeds that a registration committed to: revealed they open it, and others do not, in the report and in an archive."""

import json

import pytest

from fluency.archive.registration import deviations, preregister, read_registration
from fluency.archive.verify import verify_archive
from fluency.cli import main
from fluency.common.canonical import canonical_json
from fluency.common.errors import UserError
from fluency.common.files import sha256
from fluency.common.paths import CONFIG
from fluency.core.config_files import read_yaml
from fluency.core.study import Study, seed_commitment
from fluency.core.tasks import load_tasks
from fluency.validation.seeds import commit, reveal
from fluency.workflow.pipeline import Pipeline
from tests.archive.factory import archived, make, make_study
from tests.archive.hostile import contents, record, verify_forged

TASKS = ("stale-lockfiles",)
SEEDS, SALT, DECISION = [7, 38], "00" * 32, "which"
SEALED = seed_commitment(SEEDS, SALT)
NOT_OPENED = "seeds: these seeds and this salt do not open the registered commitment"


def study(**seeds) -> Study:
    return make_study(TASKS, trials=1, decision=DECISION, **seeds)


@pytest.fixture
def path(tmp_path):
    draft = study(seeds=SEALED)
    return preregister(
        draft, load_tasks(TASKS), DECISION, tmp_path / "pre", utc="2026-11-01T00:00:00Z"
    )


def test_the_commitment_is_the_hash_that_anybody_can_make() -> None:
    text = json.dumps({"salt": SALT, "seeds": SEEDS}, separators=(",", ":")).encode()
    assert f"commit:{sha256(text)}" == SEALED


def test_the_registration_holds_the_commitment_and_no_world(path) -> None:
    frozen = read_registration(path)
    assert frozen["seeds"] == SEALED and frozen["tasks"]["stale-lockfiles"]["worlds"] == {}
    assert deviations(study(seeds=SEALED), load_tasks(TASKS), path) == []


@pytest.mark.parametrize(
    ("seeds", "salt", "opens"),
    [(SEEDS, SALT, True), (SEEDS[::-1], SALT, False), ([7, 40], SALT, False), (SEEDS, "", False)],
)
def test_only_the_seeds_and_the_salt_that_were_committed_to_open_it(
    path, seeds, salt, opens
) -> None:
    found = deviations(study(seeds=seeds, seeds_salt=salt), load_tasks(TASKS), path)
    assert found == ([] if opens else [NOT_OPENED])


@pytest.mark.parametrize(
    "seeds",
    [
        {"seeds": "commit:12"},
        {"seeds": SEALED, "seeds_salt": SALT},
        {"seeds": SEEDS, "seeds_sealed": SEALED},
    ],
)
def test_a_commitment_beside_what_opens_it_or_of_another_form_is_refused(seeds) -> None:
    with pytest.raises(ValueError, match=r"either the commitment|pattern"):
        study(**seeds)


def test_a_study_whose_seeds_are_sealed_does_not_run() -> None:
    with pytest.raises(UserError, match="committed to and not revealed"):
        Pipeline(read_yaml(CONFIG) | {"seeds": SEALED})


def test_an_archive_shows_that_the_seeds_are_those_committed_to(path, tmp_path) -> None:
    revealed = study(seeds=SEEDS, seeds_salt=SALT, preregistration=str(path))
    made = make(tmp_path / "study", revealed)
    report = (made.results / "made-up/report.md").read_text()
    assert (
        f"seeds of the worlds: 7, 38 (revealed, with the salt `{SALT}`)" in report
        and "none recorded" in report
    )
    archive = archived(made, tmp_path)
    assert verify_archive(archive).problems == []

    value = json.loads(contents(archive)["study.json"]) | {"seeds_salt": "11" * 32}
    change = record("study.json", lambda study: study.update(value))
    altered = verify_forged(
        archive, tmp_path / "study", change, study_sha256=sha256(canonical_json(value))
    )
    assert any(NOT_OPENED in str(problem) for problem in altered.problems)


def test_the_commands_commit_once_and_reveal_what_opens_it(tmp_path, capsys, monkeypatch) -> None:
    drawn = iter([2**31, 39])
    monkeypatch.setattr("fluency.validation.seeds.secrets.randbits", lambda bits: next(drawn))
    path = commit("mine", tmp_path)
    told = capsys.readouterr().out
    assert path.stat().st_mode & 0o077 == 0
    kept = read_yaml(path)
    assert kept["seeds"] == [2**31 + 1, 38] and len(kept["seeds_salt"]) == 64
    assert f"seeds: {reveal(path)}" in told
    assert seed_commitment(kept["seeds"], kept["seeds_salt"]) in capsys.readouterr().out
    with pytest.raises(UserError, match="has its seeds already"):
        commit("mine", tmp_path)
    with pytest.raises(UserError, match="no study's name"):
        commit("../mine", tmp_path)
    path.write_text("seeds: [true, 2]\nseeds_salt: x\n")
    assert (
        main(["seeds", "--reveal", str(path)]) == 2
        and "holds no sealed seeds" in capsys.readouterr().err
    )
    assert main(["seeds"]) == 2 and "STUDY=name" in capsys.readouterr().err
