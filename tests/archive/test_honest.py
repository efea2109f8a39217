"""Every honest archive is proven, of each configuration and after what can happen to a run."""

import re
import shutil

import pytest
import yaml

from fluency.archive.verify import verify_archive
from fluency.common.files import write_atomic
from fluency.common.paths import ROOT
from fluency.core.records import Generation
from fluency.core.schema import read_record
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.study import read_study
from fluency.core.table import RECORD_TYPES, record_path
from fluency.generation.store import AnswerStore
from tests.archive.factory import ASKED, Made, archived, gather, measure, products
from tests.archive.hostile import contents

TASKS = ["stale-lockfiles", "crates-without-readme"]
PROCESSES = ["strayed-jobs", "busy-threads", "descendants-with-depth", "worker-queues"]
MODEL = {"alias": "m", "id": "qwen2.5-coder-0.5b-instruct", "served_by": "embedded"}
CONFIGS = [None, *sorted((ROOT / "config").glob("*.yaml"))]


def made_from(root, *files, shells=DESIGN_SHELLS, asked=ASKED, **more) -> Made:
    """The records, and the control if any, of the study of these files made small."""
    override = root / "small.yaml"
    write_atomic(override, yaml.safe_dump({"tasks": TASKS, "trials": 1} | more))
    files = (*files, override)
    return measure(root, read_study(*files), shells=shells, asked=asked)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem if path else "default")
def test_study_of_each_configuration_is_proven(config, tmp_path):
    made = made_from(tmp_path, *([config] if config else []))
    products(made)
    report = verify_archive(archived(made, tmp_path / "out"))
    assert report.exit_code == 0, report.lines()


def test_study_without_powershell_is_complete_and_proven(tmp_path):
    """With each kind of process that a world has."""
    made = made_from(tmp_path, shells=("bash",), models=[MODEL], control=True, tasks=PROCESSES)
    products(made)
    report = verify_archive(archived(made, tmp_path / "out"))
    assert report.exit_code == 0 and not report.missing, report.lines()
    assert any(line.startswith("not measured: m/pwsh: ") for line in report.lines())


def test_private_task_is_held_in_full(tmp_path, monkeypatch):
    """Answers that were asked for, and executed, before its check was edited stay proven."""
    bank = tmp_path / "bank"
    shutil.copytree(ROOT / "tasks" / TASKS[1], bank / "my-own")
    path = bank / "my-own/task.yaml"
    path.write_text(path.read_text().replace(f"id: {TASKS[1]}", "id: my-own"))
    monkeypatch.setenv("TASKS_PRIVATE", str(bank))
    made_from(tmp_path / "s", tasks=[TASKS[0], "my-own"])
    with (bank / "my-own/answer.py").open("a") as file:
        file.write("# a newer check\n")
    made = made_from(tmp_path / "s", tasks=[TASKS[0], "my-own"])
    products(made)
    archive = archived(made, tmp_path / "out")
    report = verify_archive(archive)
    assert report.exit_code == 0 and "It holds private tasks in full: my-own" in report.lines()
    monkeypatch.delenv("TASKS_PRIVATE")
    report = verify_archive(archive)
    assert report.exit_code == 3 and "TASKS_PRIVATE names" in "\n".join(report.lines())


def test_only_products_and_evidence_are_packed(tmp_path):
    """No partial report, no notes, no control of an earlier run."""
    made = made_from(tmp_path)
    products(made)
    folder = made.results / made.study.study
    shutil.copytree(folder, folder / "partial")
    for name in ("notes.md", "control.json"):
        (folder / name).write_text("mine")
    report = verify_archive(archived(made, tmp_path / "out"))
    assert report.exit_code == 0, report.lines()
    others = re.compile(r"partial|notes|control\.json")
    assert not [name for name in report.manifest.files if others.search(name)]


def test_archive_holds_what_the_page_lists(archive):
    page = (ROOT / "docs/archive.md").read_text().split("## What is in it")[1]
    rows = re.findall(r"^\| (`[^|]*) \|", page.split("##")[0], re.MULTILINE)
    listed = re.findall("`(.+?)`", " ".join(rows))
    forms = [re.sub("<.+?>", "[^/]+", name) for name in listed if name != "image/"]
    forms = [form if "/" in form or "." in form else f"results/{form}/" for form in forms]
    names = contents(archive)
    assert len(forms) > 10
    assert [form for form in forms if not any(re.match(form, name) for name in names)] == []


def test_stopped_and_resumed_study_is_proven(tmp_path):
    """Twelve of sixteen cells had no answer yet, and got it five hours later."""
    shape = {"trials": 4, "models": [MODEL]}
    made = made_from(tmp_path, **shape)
    late = made.cells[4:]
    for cell in late:
        paths = [record_path(made.results, stage, cell) for stage in RECORD_TYPES]
        answer = read_record(Generation, paths[0]).answer
        for path in (AnswerStore(made.answers).path(answer.request_key), *paths):
            path.unlink()
    gather(made)
    report = verify_archive(archived(made, tmp_path / "out", partial=True))
    assert (report.exit_code, len(report.missing)) == (0, 12), report.lines()
    times = dict.fromkeys(late, "2026-11-22T06:02:03Z")
    made = made_from(tmp_path, asked=lambda cell: times.get(cell, ASKED(cell)), **shape)
    products(made)
    report = verify_archive(archived(made, tmp_path / "out"))
    assert report.exit_code == 0, report.lines()
