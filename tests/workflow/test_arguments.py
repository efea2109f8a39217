"""What a person mistypes on the command line is a sentence with a hint and exit code 2."""

import pytest

from fluency.cli import main


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["validate", "--seeds", "abc"], ["SEEDS=abc", "not seeds", "SEEDS=11,24"]),
        (["validate", "--seeds=-1,2"], ["negative"]),
        (["verify", ""], ["no archive is named", "ARCHIVE="]),
        (["verify"], ["no archive is named"]),
        (["verify", "/"], ["folder"]),
        (["verify", "nothing.tar.zst"], ["no such archive"]),
        (["replay", "", "--stage", "score"], ["no archive is named"]),
        (["replay", "x", "--stage", "foo"], ["STAGE=foo", "STAGE=execute"]),
        (["replay", "x", "--markdown", "/"], ["no file to write", "MARKDOWN=/"]),
        (["decision", ""], ["no archive is named"]),
        (["show", ""], ["not a cell"]),
        (["nonsense"], ["nonsense", "`make` lists"]),
        ([], ["command"]),
    ],
)
def test_a_mistyped_argument_is_a_sentence(arguments, words, capsys):
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert all(word in said.err for word in [*words, "Hint:"]), said.err


def test_seeds_are_numbers_separated_by_commas(monkeypatch):
    asked = []
    monkeypatch.setattr("fluency.validation.validate.main", lambda tasks, seeds: asked.append((tasks, seeds)) or 0)
    assert main(["validate", "--task", "tree-size-bytes", "--seeds", "11, 24"]) == 0
    assert asked == [(["tree-size-bytes"], [11, 24])]
