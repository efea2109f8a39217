"""Every honest archive is proven: of each configuration of the project, and after what can happen to a run."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from fluency.archive.verify import verify_archive
from fluency.common.files import write_atomic
from fluency.common.paths import ROOT
from fluency.core.records import Generation
from fluency.core.schema import read_record, write_record
from fluency.core.study import Cell, Study, read_study
from fluency.core.table import RECORD_TYPES, record_path
from fluency.generation.store import AnswerStore
from fluency.validation.control import run_control
from tests.archive.factory import ASKED, Executor, Made, archived, gather, measure, products

TASKS = ["stale-lockfiles", "crates-without-readme"]
MODEL = {"alias": "m", "id": "qwen2.5-coder-0.5b-instruct", "served_by": "embedded"}
CONFIGS = [None, *sorted((ROOT / "config").glob("*.yaml"))]


def made_from(
    root: Path, *files: Path, shells: tuple[str, ...] = ("bash", "pwsh"), asked=ASKED, **more
) -> Made:
    """The records of the study of these files, made small by one more, and its control where it has one."""
    override = root / "small.yaml"
    write_atomic(override, yaml.safe_dump({"tasks": TASKS, "trials": 1} | more))
    files = (*files, override)
    made = measure(root, read_study(*files), files=files, shells=shells, asked=asked)
    if made.study.control:
        write_control(made, shells)
    return made


def write_control(made: Made, shells: tuple[str, ...]) -> None:
    """The control as its rule makes it, by the made-up sandbox."""
    executor = Executor(made.tasks, shells)
    executor.parallel = 1
    control = run_control(made.study, made.tasks, executor)
    write_record(made.results / made.study.study / "control.json", control)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem if path else "default")
def test_what_each_configuration_makes_is_proven(config, tmp_path):
    made = made_from(tmp_path, *([config] if config else []))
    products(made)
    report = verify_archive(archived(made, tmp_path / "out"))
    assert report.exit_code == 0, report.lines()


def test_a_study_and_its_control_without_powershell_are_complete_and_proven(tmp_path):
    made = made_from(tmp_path, shells=("bash",), models=[MODEL], control=True)
    products(made)
    report = verify_archive(archived(made, tmp_path / "out"))
    assert (
        report.exit_code == 0
        and not report.manifest.partial
        and list(report.manifest.not_measured) == ["m/pwsh"]
    )
    assert any(line.startswith("not measured: m/pwsh: ") for line in report.lines())


def test_a_study_that_once_had_a_control_is_proven_without(tmp_path):
    made = made_from(tmp_path)
    write_control(made, ("bash", "pwsh"))
    products(made)
    report = verify_archive(archived(made, tmp_path / "out"))
    assert report.exit_code == 0, report.lines()


def test_private_task_is_held_in_full_and_checked_where_it_is(tmp_path, monkeypatch):
    """Answers that were asked for, and executed, before its check was edited stay proven."""
    bank = tmp_path / "bank"
    shutil.copytree(ROOT / "tasks" / TASKS[1], bank / "my-own")
    path = bank / "my-own" / "task.yaml"
    path.write_text(path.read_text().replace(f"id: {TASKS[1]}", "id: my-own"))
    monkeypatch.setenv("TASKS_PRIVATE", str(bank))
    made_from(tmp_path / "s", tasks=[TASKS[0], "my-own"])
    with (bank / "my-own" / "answer.py").open("a") as file:
        file.write("# a newer check\n")
    made = made_from(tmp_path / "s", tasks=[TASKS[0], "my-own"])
    products(made)
    archive = archived(made, tmp_path / "out")
    report = verify_archive(archive)
    assert report.exit_code == 0 and "It holds private tasks in full: my-own" in report.lines()
    monkeypatch.delenv("TASKS_PRIVATE")
    report = verify_archive(archive)
    assert (report.exit_code, report.verdict("scores")) == (3, "NOT CHECKED")


def test_only_products_and_evidence_are_packed(tmp_path):
    """Nothing else in the study's folder: not the partial report, and no notes."""
    made = made_from(tmp_path)
    products(made)
    folder = made.results / made.study.study
    shutil.copytree(folder, folder / "partial")
    (folder / "notes.md").write_text("mine")
    report = verify_archive(archived(made, tmp_path / "out"))
    assert report.exit_code == 0
    assert not [name for name in report.manifest.files if "partial" in name or "notes" in name]


def test_a_partial_study_without_products_is_proven(tmp_path):
    made = made_from(tmp_path)
    for path in (made.results / "scores").rglob("1.json"):
        path.unlink()
    gather(made)
    report = verify_archive(archived(made, tmp_path / "out", partial=True))
    assert report.exit_code == 0 and report.manifest.partial, report.lines()


def planned(study: Study) -> list[Cell]:
    return sorted(study.cells(TASKS), key=study.priority, reverse=True)


def asked(root: Path, late: Callable[[Cell, int], bool], trials: int = 10) -> Made:
    """Four cells a trial that were asked one a second in the planned order; late ones five hours later."""

    def time(cell: Cell) -> str:
        place = order.index(cell)
        minute, second = divmod(place, 60)
        return f"2026-11-22T{6 if late(cell, place) else 1:02d}:{2 + minute:02d}:{second:02d}Z"

    shape: dict[str, Any] = {"trials": trials, "models": [MODEL]}
    order = planned(read_study(merged={"study": "order", "tasks": TASKS} | shape))
    return made_from(root, asked=time, **shape)


def test_a_resumed_study_is_proven_before_and_after_and_says_so(tmp_path):
    made = asked(tmp_path, lambda cell, place: False)
    for cell in planned(made.study)[16:]:
        key = read_record(
            Generation, record_path(made.results, "generations", cell)
        ).answer.request_key
        for path in (
            AnswerStore(made.answers).path(key),
            *(record_path(made.results, s, cell) for s in RECORD_TYPES),
        ):
            path.unlink()
    gather(made)
    stopped = verify_archive(archived(made, tmp_path / "out", partial=True))
    assert (stopped.exit_code, len(stopped.manifest.missing)) == (0, 24), stopped.lines()
    made = asked(tmp_path, lambda cell, place: place >= 16)
    products(made)
    report = verify_archive(archived(made, tmp_path / "out"))
    assert (report.exit_code, len(report.found["note"])) == (0, 1), report.lines()
    text = (made.results / made.study.study / "report.md").read_text()
    assert "m: in one mixed, seeded order, 2 runs" in text


def test_another_order_is_proven_with_a_caution(tmp_path):
    """One shell after the other, in a study with more than twenty cells a shell."""
    made = asked(tmp_path, lambda cell, place: cell.shell == "pwsh", trials=30)
    products(made)
    report = verify_archive(archived(made, tmp_path / "out"))
    text = (made.results / made.study.study / "report.md").read_text()
    assert report.exit_code == 0 and "m: late: " in text
    assert "in PowerShell, 2 runs" in text.partition("m: late: ")[2][:40]
