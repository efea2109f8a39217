"""Archives of earlier versions stay readable: each committed one is verified and judged anew by the present code."""

from __future__ import annotations

from pathlib import Path

import pytest

from fluency.archive import manifest
from fluency.archive.replay import replay_archive
from fluency.archive.verify import verify_archive
from fluency.common.files import sha256
from tests.archive.fixture import FOLDER
from tests.archive.test_verify import quiet

RECORDED = {
    "schema-1-made-up-2026-11-22-0123456789ab.tar.zst": "b253ab9240f7bf8d48a392060eda359d8442c80f83ef469624a7e0208b7dec0f",
}


def test_there_is_one_for_each_schema_version():
    assert {path.name for path in FOLDER.glob("schema-*.tar.zst")} == set(RECORDED)
    versions = {int(name.split("-")[1]) for name in RECORDED}
    assert versions == set(range(1, manifest.SCHEMA_VERSION + 1))


@pytest.fixture(params=sorted(RECORDED))
def old(request) -> Path:
    return FOLDER / request.param


def test_it_is_the_file_whose_hash_was_recorded(old):
    assert sha256(old.read_bytes()) == RECORDED[old.name]
    assert old.stat().st_size < 200_000


def test_it_is_still_read_and_nothing_in_it_contradicts(old):
    report = verify_archive(old, quiet)
    assert report.problems == []
    assert report.manifest.cells == 4 and report.checked["links"] > 50
    assert {problem.where for problem in report.unproven} >= {"worlds"}, "its worlds are no generator's"


def test_its_answers_can_be_judged_anew(old):
    replay = replay_archive(old, "score", say=quiet)
    assert replay.cells == 4 and len(replay.rows) == 4
    assert "what it does to the verdict" in replay.markdown().lower()
