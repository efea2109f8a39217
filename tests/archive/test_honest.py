"""Every honest archive is proven: of each configuration of the project, and after what can happen to a run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from fluency.archive.manifest import private_archive_name
from fluency.archive.verify import verify_archive
from fluency.common.files import write_atomic
from fluency.common.paths import ROOT
from fluency.core.records import Control, ControlRun, Generation
from fluency.core.schema import read_record, write_record
from fluency.core.study import Cell, Study, read_study
from fluency.core.table import RECORD_TYPES, record_path
from fluency.generation.store import AnswerStore
from tests.archive.factory import ASKED, Executor, Made, archived, gather, measure, products
from tests.archive.fixture import TASKS as WITH_PRIVATE
from tests.archive.fixture import private_bank

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
    runs = [
        ControlRun(
            task=task.id,
            shell=shell,
            kind=kind,
            command=commands[shell][0],
            passed=right,
            why="So.",
        )
        for task in made.tasks
        for shell in made.study.shells
        if shell in shells
        for kind, commands, right in (
            ("reference", task.references, True),
            ("wrong", task.wrong, False),
        )
    ]
    lacking = {shell: "made up without one" for shell in made.study.shells if shell not in shells}
    control = Control(image=Executor(made.tasks, shells).image, runs=runs, not_measured=lacking)
    write_record(made.results / made.study.study / "control.json", control)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem if path else "default")
def test_what_each_configuration_makes_is_proven(config, tmp_path):
    made = made_from(tmp_path, *([config] if config else []))
    products(made)
    report = verify_archive(archived(made, tmp_path / "out"))
    assert (report.problems, report.unproven, report.exit_code) == ([], [], 0)


def test_a_study_and_its_control_without_powershell_are_complete_and_proven(tmp_path):
    made = made_from(tmp_path, shells=("bash",), models=[MODEL], control=True)
    products(made)
    report = verify_archive(archived(made, tmp_path / "out"))
    assert (
        report.proven
        and not report.manifest.partial
        and list(report.manifest.not_measured) == ["m/pwsh"]
    )
    assert any(line.startswith("not measured: m/pwsh: ") for line in report.lines())


def test_a_study_that_once_had_a_control_is_proven_without(tmp_path):
    made = made_from(tmp_path)
    write_control(made, ("bash", "pwsh"))
    products(made)
    report = verify_archive(archived(made, tmp_path / "out"))
    assert (report.problems, report.exit_code) == ([], 0)


def test_a_control_that_is_not_of_the_study_is_a_problem(tmp_path):
    made = made_from(tmp_path, control=True)
    path = made.results / made.study.study / "control.json"
    control = read_record(Control, path)
    write_record(path, control.model_copy(update={"runs": control.runs[1:]}))
    products(made)
    (problem,) = verify_archive(archived(made, tmp_path / "out")).problems
    assert problem.what == "its runs are not the tasks' first commands"


def test_after_a_task_was_edited_and_its_answers_rescored(tmp_path, monkeypatch):
    """The answers were asked for, and executed, before: with private tasks, and with their part alone."""
    bank = private_bank(tmp_path / "bank")
    monkeypatch.setenv("TASKS_PRIVATE", str(bank))
    made_from(tmp_path / "s", tasks=list(WITH_PRIVATE))
    with (bank / WITH_PRIVATE[1] / "answer.py").open("a") as file:
        file.write("# a newer check\n")
    made = made_from(tmp_path / "s", tasks=list(WITH_PRIVATE))
    products(made)
    path = archived(made, tmp_path / "out")
    both = verify_archive(path, private=path.with_name(private_archive_name(path.name)))
    assert (both.problems, both.unproven) == ([], []) and verify_archive(path).exit_code == 3


def test_a_partial_study_without_products_is_proven(tmp_path):
    made = made_from(tmp_path)
    for path in (made.results / "scores").rglob("1.json"):
        path.unlink()
    gather(made)
    report = verify_archive(archived(made, tmp_path / "out", partial=True))
    assert (report.problems, report.unproven) == ([], []) and report.manifest.partial


def planned(study: Study) -> list[Cell]:
    return sorted(study.cells(TASKS), key=study.priority, reverse=True)


def asked(root: Path, late: Callable[[Cell, int], bool]) -> Made:
    """Forty cells that were asked one a second in the planned order; late ones five hours later."""

    def time(cell: Cell) -> str:
        place = order.index(cell)
        return f"2026-11-22T{6 if late(cell, place) else 1:02d}:02:{place:02d}Z"

    shape: dict[str, Any] = {"trials": 10, "models": [MODEL]}
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
    assert (stopped.problems, stopped.unproven, len(stopped.manifest.missing)) == ([], [], 24)
    made = asked(tmp_path, lambda cell, place: place >= 16)
    products(made)
    report = verify_archive(archived(made, tmp_path / "out"))
    assert (report.problems, report.unproven, report.exit_code, len(report.notes)) == ([], [], 0, 1)
    text = (made.results / made.study.study / "report.md").read_text()
    assert (
        "m: in one mixed, seeded order, resumed, 2 runs (rank correlation with the planned order 1.00;"
        in text
    )


def test_another_order_is_proven_with_a_note_and_a_caution(tmp_path):
    """One shell after the other."""
    made = asked(tmp_path, lambda cell, place: cell.shell == "pwsh")
    products(made)
    report = verify_archive(archived(made, tmp_path / "out"))
    _, note = report.notes
    start, _, correlation = note.what.rpartition(" ")
    assert (
        report.exit_code == 0
        and start == "m was not asked in the planned order: rank correlation with it"
    )
    text = (made.results / made.study.study / "report.md").read_text()
    assert (
        f"The planned order of asking was not kept (rank correlation {correlation} for m, below 0.95)"
        in text
    )
    assert 0.4 < float(correlation) < 0.8
