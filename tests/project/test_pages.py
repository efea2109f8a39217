"""The pages made from code: the comparison notices a change, and the page on tasks counts right."""

import re

import pytest

from fluency.core.shells import SHELLS
from fluency.core.study import PILOT
from fluency.core.tasks import load_tasks, task_sets
from tools.pages import __main__ as command
from tools.pages import config
from tools.pages.observed import observed_studies
from tools.pages.tasks import balance_table, edges, sets_table, task_page, with_balance


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


@pytest.fixture(scope="module")
def studies():
    return observed_studies()


def test_the_rates_are_those_of_the_archived_table(studies):
    seen = next(found for found in studies if found.study.study == "example")
    tasks = [task.id for task in load_tasks(PILOT)]
    for model, passed in (("qwen-0.5b", (0, 0)), ("qwen-1.5b", (11, 2))):
        rates = seen.rates(model, [*tasks, "no-such-task"])
        assert list(rates) == tasks
        assert all(found["bash"][1] == found["pwsh"][1] == 5 for found in rates.values())
        assert (
            tuple(sum(found[shell][0] for found in rates.values()) for shell in ("bash", "pwsh"))
            == passed
        )


def test_the_floor_and_the_ceiling_are_counted_from_the_tables(studies):
    tasks = load_tasks()
    text = "\n".join(edges(tasks, studies))
    for seen in studies:
        for model in seen.study.models:
            for shell in seen.study.shells:
                rows = seen.frame[
                    (seen.frame["model"] == model.alias) & (seen.frame["shell"] == shell)
                ]
                marks = rows[rows["status"] == "measured"].groupby("task")["passed"]
                never, always = int((~marks.any()).sum()), int(marks.all().sum())
                counts = [
                    len(marks),
                    int(marks.count().sum()),
                    never,
                    always,
                    len(marks) - never - always,
                ]
                line = next(
                    x
                    for x in text.splitlines()
                    if f"{seen.study.study}, {model.alias} " in x and SHELLS[shell].short_title in x
                )
                assert [cell.strip() for cell in line.split("|")][3:8] == list(map(str, counts)), (
                    line
                )
                classes = sum(map(int, re.findall(r" (\d+)[,| ]", line.split("|")[8] + ",")))
                assert classes == int((rows["passed"] == False).sum())  # noqa: E712
    floor = text.split("Never passed by any of them")[1].split("\n")[0]
    assert "`tree-size-bytes`" not in floor and "`worker-queues`" in floor
    assert "`tree-size-bytes` (3 of 5)" in text


def test_a_prompt_that_has_changed_since_is_marked(studies):
    (task,) = load_tasks(["tree-size-bytes"])
    changed = task.model_copy(update={"prompt": task.prompt + " Mind the rest."})
    assert "3 of 5 / 0 of 5 *" in task_page([changed], studies)
    assert re.search(r"\| +0 of 5 / 0 of 5 \| +3 of 5 / 0 of 5 \|\n", task_page([task], studies))


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
    page = "before <!-- bank: balance -->\nold\n<!-- end --> after"
    assert with_balance(page, tasks) == page.replace("old", balance_table(tasks))
