"""Archives of earlier versions stay readable: each committed one is verified and judged anew by the present code."""

from pathlib import Path

import pytest

from fluency.archive import manifest
from fluency.archive.archived_study import read_archived_study
from fluency.archive.registration import design, deviations, read_registration
from fluency.archive.replay import replay_archive
from fluency.archive.unpack import unpacked
from fluency.archive.verify import verify_archive
from fluency.common.files import sha256
from fluency.core.table import RECORD_TYPES
from tests.archive.fixture import FOLDER, part_of

RECORDED = {
    "schema-3-registered-2026-11-22-0123456789ab.tar.zst": "0655cbf383d41beaaebfff1c23c1931f606714fcbccbba351687ad48eb420c00",
    "schema-1-made-up-2026-11-22-0123456789ab.tar.zst": "b253ab9240f7bf8d48a392060eda359d8442c80f83ef469624a7e0208b7dec0f",
}

EVIDENCE = tuple(f"results/{stage}/" for stage in RECORD_TYPES)


def test_there_are_the_first_and_the_present_schema_version():
    """Schema 2 is 3 without a private part."""
    assert {path.name for path in FOLDER.glob("schema-*.tar.zst")} == set(RECORDED)
    assert {int(name.split("-")[1]) for name in RECORDED} == {1, manifest.SCHEMA_VERSION}


@pytest.fixture(params=sorted(RECORDED))
def old(request) -> Path:
    return FOLDER / request.param


def test_it_is_the_file_whose_hash_was_recorded(old):
    assert sha256(old.read_bytes()) == RECORDED[old.name] and old.stat().st_size < 200_000


def test_it_is_still_read_and_nothing_in_it_contradicts(old):
    report = verify_archive(old)  # its task has another fixture now, and its commit is made up
    assert report.problems == []
    assert report.manifest.cells == 4 and report.checked["links"] > 50 // (
        1 + bool(report.manifest.held_out)
    )
    unproven = {finding.where for finding in report.unproven}
    assert "tasks/crates-without-readme" in unproven
    assert not [where for where in unproven if where.startswith(EVIDENCE)], report.unproven


def test_the_private_part_is_still_read_with_it():
    (archive,) = FOLDER.glob("schema-3-*.tar.zst")
    report = verify_archive(archive, private=part_of(archive))
    assert report.problems == [] and report.checked["links"] > 50
    # A private task, and one whose fixture is another now.
    assert report.not_rescored == {"hidden-lockfiles": 2, "crates-without-readme": 2}


def test_its_answers_can_be_judged_anew(old):
    replay = replay_archive(old)
    assert replay.cells == 4 and len(replay.rows) == 4
    assert "what it does to the verdict" in replay.markdown().lower()


def test_a_registered_plan_is_still_the_plan():
    (old,) = FOLDER.glob("schema-3-*.tar.zst")
    with unpacked(old) as archive:
        archived = read_archived_study(archive)
        path = archive.root / "preregistrations" / "registered-2026-11-01.json"
        frozen = read_registration(path)
        present = design(archived.study, archived.tasks, archived.world_or_hash)
        found = deviations(archived.study, archived.tasks, path, world_for=archived.world_or_hash)
    changed = any(deviation.startswith("analysis.plan") for deviation in found)
    assert changed == (frozen["analysis"]["plan"] != present["analysis"]["plan"]), found
