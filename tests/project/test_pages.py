"""The pages made from code: the comparison notices a change, and the page on tasks counts right."""

import subprocess

from fluency.common.paths import ROOT
from fluency.core.tasks import load_tasks, task_sets
from tools.pages import __main__ as command
from tools.pages import config
from tools.pages.tasks import balance_table, sets_table


def test_the_check_names_a_page_that_was_altered_and_writing_mends_it(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(command, "MAKERS", (config.pages,))
    page, stray = tmp_path / "docs/config.md", tmp_path / "docs/schemas/old.schema.json"
    stray.parent.mkdir(parents=True)
    stray.write_text("{}")
    assert command.main(["--check"]) == 1 and not page.exists()
    assert command.main([]) == 0 and not stray.exists() and command.main(["--check"]) == 0
    page.write_text(page.read_text().replace("| default |", "| standard |", 1))
    capsys.readouterr()
    assert command.main(["--check"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "docs/config.md is not what the present code writes",
        "Hint: make pages",
    ]


def test_the_balance_counts_every_task_of_a_set_once():
    tasks = load_tasks()
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in balance_table(tasks).splitlines()[2:]
    ]
    for name, found in task_sets().items():
        there = len({task.id for task in tasks} & set(found.tasks))
        assert sum(int(row[-1]) for row in rows if row[0] == name) == there
        assert all(sum(map(int, row[2:-1])) == int(row[-1]) for row in rows)
    for _, size, *leans in (
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in sets_table(tasks).splitlines()[2:]
    ):
        assert int(size) == sum(map(int, leans))


def test_example_is_proven_by_the_present_code():
    done = subprocess.run(["make", "example"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PROVEN" in done.stdout.split("Report:")[0].split()
