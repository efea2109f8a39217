"""What a person mistypes, and a file that cannot be used, is one sentence with a hint and exit code 2."""

import inspect
import sys
from importlib import import_module

import pytest

from fluency.cli import TARGETS, fluency, main
from tests.workflow.project import Project

CONFIGURED = [
    name
    for name, command in fluency.commands.items()
    if any("--configfile" in p.opts for p in command.params)
]


@pytest.mark.parametrize("command", fluency.commands)
def test_every_command_has_help(command, capsys):
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"Usage: fluency {command}") and len(shown.splitlines()) > 4


@pytest.mark.parametrize("command", TARGETS)
def test_a_command_has_the_parameters_of_the_function_that_it_calls(command):
    module, _, function = TARGETS[command].partition(":")
    parameters = inspect.signature(getattr(import_module(f"fluency.{module}"), function))
    parameters.bind(**dict.fromkeys(p.name for p in fluency.commands[command].params))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["validate", "--seeds", "abc"], ["SEEDS=abc", "not seeds", "SEEDS=11,24"]),
        (["validate", "--seeds=-1,2"], ["SEEDS=-1,2"]),
        (["verify", ""], ["no archive is named", "ARCHIVE="]),
        (["verify"], ["no archive is named"]),
        (["verify", "/"], ["folder"]),
        (["verify", "nothing.tar.zst"], ["no such archive"]),
        (["replay", "", "--stage", "score"], ["no archive is named"]),
        (["replay", "README.md", "--stage", "foo"], ["'foo' is not one of 'score', 'execute'"]),
        (["replay", "README.md", "--markdown", "/"], ["--markdown", "'/' is a directory"]),
        (["decision", ""], ["no archive is named"]),
        (["compare", "a", ""], ["B: no study is named"]),
        (["compare", "", "b"], ["A: no study is named"]),
        (["show", ""], ["not a cell"]),
        (["nonsense"], ["nonsense", "`make` lists"]),
        (["pln"], ["Did you mean 'plan'?"]),
        (["plan", "--configfil", "x"], ["Did you mean '--configfile'?", "fluency plan --help"]),
        ([], ["Missing command"]),
    ],
)
def test_a_mistyped_argument_is_a_sentence(arguments, words, capsys):
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert all(word in shown.err for word in [*words, "Hint:"]), shown.err


def test_seeds_are_numbers_separated_by_commas(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "fluency.validation.validate.main",
        lambda task_ids, seeds: asked.append((task_ids, seeds)) or 0,
    )
    assert main(["validate", "--task", "tree-size-bytes", "--seeds", "11, 24"]) == 0
    assert asked == [(("tree-size-bytes",), [11, 24])]


@pytest.mark.parametrize("command", CONFIGURED)
@pytest.mark.parametrize(
    "config", ["config", "/proc/self/mem"], ids=["a folder", "an unreadable file"]
)
def test_a_configuration_that_cannot_be_read_is_a_sentence(command, config, capsys):
    format_ = ["--format", "csv"] if command == "export" else []
    assert main([command, *format_, "--configfile", config]) == 2
    assert "Error: " in (shown := capsys.readouterr().err) and "Hint:" in shown


def test_nothing_to_archive_and_a_place_that_cannot_be_written_are_sentences(tmp_path):
    """Root may write anywhere but below a file."""
    project = Project.make(tmp_path / "project")
    assert "test: there is nothing to archive" in project.fluency("archive", code=2).stderr
    assert not (project.root / "archive").exists()
    for arguments, folder in [
        (["report"], "results"),
        (["preregister", "--decision", "d"], "preregistrations"),
    ]:
        (project.root / folder).write_text("")
        done = project.run([sys.executable, "-m", "fluency.cli", *arguments], 2, {})
        assert done.stderr.startswith("Error: ") and folder in done.stderr, done.stderr
        assert "Hint:" in done.stderr and "Traceback" not in done.stderr
