"""A task whose answer cannot be worked out stops a run before anybody is asked."""

import shutil

import pytest

from fluency.common.errors import UserError
from fluency.common.paths import TASKS
from fluency.core.tasks import load_task, load_tasks
from fluency.workflow.preflight import check_answers


def task_with(folder, answer: str):
    shutil.copytree(TASKS / "tree-size-bytes", folder / "tree-size-bytes")
    (folder / "tree-size-bytes" / "answer.py").write_text(answer)
    return load_task(folder / "tree-size-bytes")


def test_every_answer_of_the_bank_can_be_worked_out():
    check_answers(load_tasks(), [11, 24])


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("def expected(world, processes):\n    return 1 / 0\n", "ZeroDivisionError"),
        ("raise OSError('no')\n", "cannot be loaded: OSError"),
        ("def expected(world, processes):\n    return 1 / (world.seed - 24)\n", "world 24"),
    ],
)
def test_an_answer_that_raises_is_named(tmp_path, answer, says):
    with pytest.raises(UserError, match="Hint:") as caught:
        check_answers([task_with(tmp_path, answer)], [11, 24])
    assert says in str(caught.value) and "answer.py" in str(caught.value)
