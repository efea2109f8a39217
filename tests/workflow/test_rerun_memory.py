"""What a rerun rests on beside the params: Snakemake's notes, its reasons, and times of files from the future."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace

import pytest
from snakemake.persistence.file import FilePersistence

from fluency.workflow import snakemake_memory
from fluency.workflow.file_times import bring_to_present
from fluency.workflow.param_change import changed_parts


@pytest.mark.parametrize("name", ["results/image.json", f"results/scores/{'long-' * 60}/bash/task/1.json"])
def test_its_notes_are_looked_for_where_snakemake_puts_them(tmp_path, monkeypatch, name):
    monkeypatch.setattr(snakemake_memory, "FOLDER", tmp_path)
    (tmp_path / "metadata").mkdir()
    its_own = FilePersistence._record_path(
        SimpleNamespace(_fetch_max_len=lambda subject: os.pathconf(subject, "PC_NAME_MAX")),
        str(tmp_path / "metadata"),
        name,
    )
    assert str(snakemake_memory._place("metadata", name)) == its_own


def reason(before: str, now: str) -> str:
    head = "Params have changed since last execution: Union of exclusive params before and now across all output"
    return f"{head}: before: {before!r} now: {now!r} ; Code has changed since last execution"


@pytest.mark.parametrize(
    ("before", "now", "parts"),
    [
        ('{"check":"a","code":"b"}', '{"check":"a2","code":"b"}', ["the task's check"]),
        (
            '{"study":{"trials":1,"decision":"it\'s \\"now: \'x\'\\""}}',
            '{"study":{"trials":2,"decision":"it\'s \\"now: \'x\'\\""}}',
            ["trials"],
        ),
        ('{"files":{"a.yaml":"1"}}', '{"files":{"a.yaml":"2"}}', ["the text of a.yaml"]),
        (
            '{"files":{"a.yaml":"1"},"study":{"requests_per_minute":1}}',
            '{"files":{"a.yaml":"2"},"study":{"requests_per_minute":2}}',
            ["requests per minute"],
        ),
        ('{"tasks":{"a":"1"}}', '{"tasks":{"b":"1"}}', ["the tasks (a, b)"]),
        ('{"study":{}}', '{"study":{},"code":"c"}', ["the code that decides it"]),
        ("no JSON", '{"code":"c"}', []),
    ],
)
def test_what_changed_is_read_from_snakemakes_reason(before, now, parts):
    assert changed_parts(reason(before, now)) == parts


def test_files_from_the_future_get_the_present_in_the_same_order(tmp_path):
    now = time.time_ns()
    ages = {"first": 3600, "second": 3601, "also second": 3601, "past": -3600}
    for name, seconds in ages.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, ns=(now, now + seconds * 10**9))
    assert bring_to_present([tmp_path / name for name in [*ages, "absent"]]) == 3
    written = {name: (tmp_path / name).stat().st_mtime for name in ages}
    assert written["past"] < written["first"] < written["second"] == written["also second"] <= time.time()
    assert bring_to_present(tmp_path / name for name in ages) == 0
