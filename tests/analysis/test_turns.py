"""Later turns: passes by turn, what became of first answers, and a headline that they leave alone."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from fluency.analysis.gap import Interval
from fluency.analysis.study_analysis import analyse
from fluency.core.table import read_table
from fluency.report.explorer import page_index
from fluency.report.sentences import headline_of, second_look
from tests.archive.factory import make, make_study
from tests.report.explorer_factory import details_of


def reply(task, cell):
    """Of four trials: stays right; is repaired; keeps its fault; is broken at the last turn."""
    right, wrong = task.references[cell.shell][0], task.wrong[cell.shell][0]
    by_trial = {1: [right] * 3, 2: [wrong, right, right], 3: [wrong] * 3, 4: [right, right, wrong]}
    return by_trial[cell.trial][cell.turn - 1]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make(tmp_path_factory.mktemp("t"), make_study(trials=4, turns=3), reply=reply)


def test_first_answers_are_followed_to_the_last_turn(made):
    frame = read_table(made.results / "made-up/cells.csv")
    (found,) = analyse(frame, made.study, made.tasks).turns
    for shell in made.study.shells:
        own = found.became[shell]
        assert (own.failed, own.repaired, own.kept, own.changed) == (8, 4, 4, 0)
        # Trial 4 repeats its right command at the second turn, so that it is not asked again.
        assert (own.passed, own.broken) == (8, 0)
        assert own.fresh == Fraction(2, 3) and own.beyond.value == Fraction(1, 2) - own.fresh
        assert own.beyond.tasks == 4
        assert found.fresh[shell] == pytest.approx([0.5, 0.5 + 0.5 * 2 / 3, 1 - 0.5 / 9])
        rates = [each.of(shell).by_shell[shell].rate for each in found.outcomes]
        assert rates == [Fraction(1, 2), Fraction(3, 4), Fraction(3, 4)]
        assert found.changes[shell].change == Fraction(1, 4)
        assert own.quiet[1] + own.loud[1] == own.failed
    said = second_look(found)
    assert said.startswith("After 3 turns qwen-0.5b passed 75.0 % in Bash and 75.0 % in PowerShell")
    assert said.endswith("who is then ahead is open.")
    # What a shell's own interval shows is said, and nothing else.
    for ends, claim in (
        ((1, 2), "; the second look helped in Bash and PowerShell."),
        ((-2, -1), "; the second look harmed in Bash and PowerShell."),
        ((0, 2), "is open."),
        ((-2, 1), "is open."),
    ):
        interval = Interval(*(Fraction(end, 10) for end in ends))
        changes = {name: one._replace(interval=interval) for name, one in found.changes.items()}
        assert second_look(replace(found, changes=changes)).endswith(claim)


def test_headline_is_of_the_first_turn_alone(made):
    """Without the rows of later turns every number of the first is byte for byte the same."""
    frame = read_table(made.results / "made-up/cells.csv")
    whole = analyse(frame, made.study, made.tasks)
    alone = analyse(frame[frame["turn"] == 1], made.study, made.tasks)
    one_turn = made.study.model_copy(update={"turns": 1})
    plain = analyse(frame[frame["turn"] == 1], one_turn, made.tasks)
    for other in (alone, plain):
        assert list(map(headline_of, other.contrasts)) == list(map(headline_of, whole.contrasts))
        for ours, theirs in zip(whole.models, other.models, strict=True):
            left_out = {"contrasts"}  # they hold the rows, which compare by element
            assert {k: v for k, v in vars(ours).items() if k not in left_out} == {
                k: v for k, v in vars(theirs).items() if k not in left_out
            }
    assert plain.turns == []


def test_report_has_second_look_only_with_turns(made):
    page = (made.results / "made-up/report.md").read_text()
    assert "## Second look" in page and "After 3 turns qwen-0.5b passed" in page
    assert "figures/turns-qwen-0.5b.svg" in page and "one-shot" not in page.split("# Appendix")[0]


def test_explorer_holds_each_conversation_once(made):
    index = page_index(read_table(made.results / "made-up/cells.csv"), made.view())
    assert [cell[-1] for cell in index["cells"]][:4] == ["same", "repaired", "same", "same"]
    details = details_of(made.results / "made-up/explorer.html")
    views = json.loads(details)
    assert len(views) == len(index["cells"]) == 32
    second, third = views[1]["turns"]
    assert second["title"] == "Turn 2: passed" and "Exit status: 127." in second["shown"]["head"]
    assert third["title"] == "Turn 3: passed"
    assert views[0]["turns"][1] == {"title": "Turn 3: passed, not asked again: same command"}
