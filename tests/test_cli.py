"""A mistyped word, and a file that cannot be used, is one sentence with a hint, exit code 2."""

import inspect
import os
import shlex
import sys
from importlib import import_module
from pathlib import Path

import pytest

from fluency import cli
from fluency.cli import fluency, main, seed_list
from fluency.common.data_file import data_file
from fluency.common.paths import ROOT
from tests.programs import completed
from tests.workflow.project import FLUENCY, Project

DOCTOR = [*FLUENCY, "doctor"]
OPTIONS = {
    name: {option for parameter in command.params for option in parameter.opts}
    for name, command in fluency.commands.items()
}
TARGETS = {form["example"].split()[0]: form["calls"] for form in data_file(cli.__file__)}


@pytest.mark.parametrize("command", fluency.commands)
def test_command_has_help_with_example(command, capsys):
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"Usage: fluency {command}") and len(shown.splitlines()) > 4
    example = shown.splitlines()[-1].split()
    assert example[:3] == ["Example:", "fluency", command]
    assert {word for word in example if word.startswith("--")} <= OPTIONS[command]


@pytest.mark.parametrize("command", TARGETS)
def test_command_has_parameters_of_its_function(command):
    module, _, function = TARGETS[command].partition(":")
    parameters = inspect.signature(getattr(import_module(f"fluency.{module}"), function))
    parameters.bind(**dict.fromkeys(p.name for p in fluency.commands[command].params))


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["validate", "--seeds", "abc"], ["SEEDS=abc", "not seeds", "SEEDS=11,24"]),
        (["validate", "--seeds=-1,2"], ["SEEDS=-1,2"]),
        (["verify", ""], ["no such archive", "ARCHIVE="]),
        (["verify", "nothing.tar.zst"], ["no such archive"]),
        (["replay", "", "--stage", "score"], ["no such archive"]),
        (["replay", "README.md", "--stage", "foo"], ["'foo' is not one of 'score', 'execute'"]),
        (["replay", "README.md", "--stage", "score", "--sample", "3"], ["a sample is executed"]),
        (["export", "--archive", "README.md", "--configfile", "x"], ["two studies are named"]),
        (["decision", ""], ["no such archive"]),
        (["compare", "", ""], ["A=, B=: no such study"]),
        (["show", ""], ["not a cell", "example CELL="]),
        (["nonsense"], ["nonsense", "`make` lists"]),
        (["pln"], ["Did you mean 'plan'?"]),
        (["plan", "--configfil", "x"], ["Did you mean '--configfile'?", "fluency plan --help"]),
        ([], ["Missing command"]),
    ],
)
def test_mistyped_argument_is_sentence(arguments, words, capsys):
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert all(word in shown.err for word in [*words, "Hint:"]), shown.err


def test_output_of_ascii_replaces_what_it_cannot_show(tmp_path):
    project = Project.make(tmp_path / "größer")
    done = project.run([*FLUENCY, "answers"], 0, {"PYTHONIOENCODING": "ascii"})
    assert "gr??er/answers: 0" in done.stdout


@pytest.mark.parametrize(
    "command, code, sentence",
    [
        ("python -m tools.interop.harbor.export --into README.md", 2, "README.md: there is some"),
        ("python -m tools.command_mutants bash nope", 2, "nope: no such task"),
        (
            "make answers MERGE=docs",
            2,
            "`make answers` does not take MERGE=; it takes no setting. Hint: a variable",
        ),
        ("make demo CONFIG=config/study.yaml", 2, "CONFIG=; it takes no setting. Hint: these"),
        ("make show CELL=a ARCHIVE=b", 2, "does not take ARCHIVE=; it takes CELL= FULL=."),
        ("make study config/study-60.yaml", 2, "by its setting: CONFIG=config/study-60.yaml"),
        ("make archive PARTIAL=0", 2, "PARTIAL= is 1 or left out"),
        ("make verify a.tar.zst", 2, "by its setting: ARCHIVE=a.tar.zst"),
        ("make run config=config/demo.yaml", 2, "take it in capitals: run study plan"),
        ("snakemake --configfile no.yaml", 1, "no.yaml'"),
    ],
)
def test_other_program_ends_with_sentence(command, code, sentence):
    environ = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = completed(*command.split(), code=code, env=environ)
    assert sentence in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def test_project_that_cannot_be_written_is_sentence(tmp_path):
    """Root may write anywhere except into a read-only file system."""
    project = Project.make(tmp_path / "project")
    script = f"mount --bind {project.root} /mnt && mount -o remount,ro,bind /mnt && cd /mnt && "
    plan = [*FLUENCY, "plan", "--configfile", "config/test.yaml"]
    bootstrap = ["scripts/bootstrap.sh"]
    for command in (project.run_command(), project.command("-n"), plan, DOCTOR, bootstrap):
        inside = ["unshare", "--mount", "bash", "-c", script + shlex.join(command)]
        environ = project.environ() | {"PYTHONPATH": "/mnt/scripts"}
        done = completed(*inside, code=None, env=environ)
        if "unshare" in done.stderr:
            pytest.skip("only root may mount")
        assert done.returncode == (1 if command is DOCTOR else 2), done.stderr
        assert (done.stdout + done.stderr).count("cannot be written to") == 1
        assert "Traceback" not in done.stderr


def test_project_in_path_with_braces_is_sentence(tmp_path):
    script = tmp_path / "a{b}" / "scripts/bootstrap.sh"
    script.parent.mkdir(parents=True)
    script.write_bytes((ROOT / "scripts/bootstrap.sh").read_bytes())
    done = completed("bash", script, code=2)
    assert done.stderr.startswith("Error: the project's path"), done.stderr
    assert "Hint: move it" in done.stderr and not (tmp_path / "a{b}" / ".venv").exists()


def test_seed_list_splits_at_commas():
    assert seed_list("11, 24") == [11, 24]


def test_nothing_to_archive_and_unwritable_place_are_sentences(tmp_path):
    """Root may write anywhere except below a file."""
    project = Project.make(tmp_path / "project")
    assert "4 of 4 cells are missing" in project.fluency("archive", code=2).stderr
    assert not (project.root / "archive").exists()
    places = {"report": "results", "preregister --decision d": "preregistrations"}
    for arguments, folder in places.items():
        (project.root / folder).write_text("")
        done = project.run([*FLUENCY, *arguments.split()], 2, {})
        assert done.stderr.startswith("Error: ") and folder in done.stderr, done.stderr
        assert "Hint:" in done.stderr and "Traceback" not in done.stderr
