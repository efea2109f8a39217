"""Ceilings, floors and flat tasks: warned of from the plan's edges on, and not before."""

import pytest

from fluency.analysis.outcomes import ShellPasses, pair_by_task
from fluency.analysis.robustness import CeilingAndFloor, ceiling_and_floor
from fluency.core.shells import DESIGN_SHELLS
from tests.synthetic_tables import contrasted


def found(bash: list[int], pwsh: list[int], trials: int = 10) -> CeilingAndFloor:
    """What 20 tasks show whose passes of 10 trials are these, over and over."""
    counts = [ShellPasses(tuple((passes * 20)[:20]), (trials,) * 20) for passes in (bash, pwsh)]
    return ceiling_and_floor(pair_by_task(contrasted(*counts, trials)), DESIGN_SHELLS)


def warned(words: str, *passes: list[int]) -> bool:
    return any(words in warning for warning in found(*passes).warnings)


@pytest.mark.parametrize(
    ("passes", "edge", "other"), [(1, "floor", "ceiling"), (9, "ceiling", "floor")]
)
def test_the_edge_itself_is_warned_of_and_of_both_shells_once(
    passes: int, edge: str, other: str
) -> None:
    for title, pair in (("PowerShell", ([5], [passes])), ("Bash", ([passes], [5]))):
        assert warned(f"pass@1 in {title} is at the {edge}", *pair)
        assert not warned(f"pass@1 in {title} is at the {other}", *pair)
    both = f"pass@1 is at the {edge} in both shells: these tasks cannot tell"
    assert warned(both, [passes], [passes]) and not warned("biases", [passes], [passes])
    assert not warned("cannot tell", [1], [9]) and warned("biases", [1], [9])


@pytest.mark.parametrize("passes", [[1] * 19 + [2], [9] * 19 + [8], [5]])
def test_beside_the_edge_nothing_is(passes: list[int]) -> None:
    assert not warned("biases the gap", [5], passes) and not warned("cannot tell", [5], passes)


def test_flat_tasks_are_counted_and_ten_informative_ones_are_enough() -> None:
    ten = found([10] * 6 + [0] * 4 + [5] * 10, [10] * 6 + [0] * 4 + [6] * 10)
    assert (ten.ceiling, ten.floor, ten.informative, ten.warnings) == (6, 4, 10, ())
    assert (len(ten.at_ceiling), len(ten.at_floor)) == (6, 4)
    assert len({*ten.at_ceiling, *ten.at_floor}) == 10, "and each is named once"
    nine = found([10] * 6 + [0] * 5 + [5] * 9, [10] * 6 + [0] * 5 + [6] * 9)
    assert nine.warnings == (
        "only 9 of 20 tasks are informative (6 passed always, 5 never, in both shells)",
    )


def test_a_task_flat_in_one_shell_only_is_informative() -> None:
    assert found([10, 0], [9, 1]).informative == 20


def test_five_differing_tasks_are_enough_and_four_are_not() -> None:
    assert not warned("tasks differ", [5], [6] * 5 + [5] * 15)
    (warning,) = found([5], [6] * 4 + [5] * 16).warnings
    assert warning.startswith("only 4 of 20 tasks differ between the shells: no test can reject")
    assert "p = 0.0625" in warning
