"""`make doctor` prints what is there and what is missing, and never a key."""

import pytest

from fluency.workflow import doctor
from tests.synthetic_tables import make_study

KEY = "sk-ant-doctor-canary"


@pytest.mark.engine
def test_the_table_of_a_machine_that_has_everything(sandbox, capsys, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert doctor.main() == 0
    shown = capsys.readouterr().out
    things = ["disk", "project folder", "container engine", "storage", "control groups"]
    things += ["seccomp profile", "image for bash", "Bash", "a known command"]
    assert [thing for thing in things if thing not in shown] == []
    assert sandbox.engine["version"] in shown and sandbox.images["bash"].shells["bash"] in shown
    assert KEY not in shown and "is set" in shown
    if not sandbox.images["pwsh"].shells["pwsh"]:
        assert "not in the image" in shown and "POWERSHELL_ARCHIVE=" in shown


@pytest.mark.engine
def test_an_engine_that_answers_but_starts_nothing_is_not_ok(sandbox):
    gone = {"bash": sandbox.images["bash"].model_copy(update={"image_id": "sha256:" + "0" * 64})}
    rows = doctor._rows("a known command", doctor._known_command(gone))
    (line,) = rows
    assert line.lacks and "the sandbox image is gone" in line.found and "make image" in line.advice


def test_an_engine_that_does_not_answer_is_missing(capsys, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert doctor.main() == 1
    shown = capsys.readouterr().out
    assert "Missing: container engine." in shown and "is not set" in shown
    assert "no command can be run" in shown


def test_a_key_counts_as_set_where_a_run_takes_it(monkeypatch):
    for key, found in ((KEY, "is set"), (" ", "is not set")):
        monkeypatch.setenv("ANTHROPIC_API_KEY", key)
        assert {line.thing: line.found for line in doctor._models()}["ANTHROPIC_API_KEY"] == found


def test_keys_are_those_of_the_models_entries(monkeypatch):
    embedded = {"alias": "q", "id": "qwen2.5-coder-0.5b-instruct", "served_by": "embedded"}
    gateway = {"alias": "g", "id": "x", "extra_headers": {"x-auth-key": "$TEAM_KEY"}}
    monkeypatch.setattr(doctor, "read_study", lambda _: make_study([embedded, gateway]))
    assert [line.thing for line in doctor._models()] == ["ANTHROPIC_API_KEY", "TEAM_KEY"]


def test_an_archive_that_is_not_there_is_missing(capsys, monkeypatch):
    monkeypatch.setenv("POWERSHELL_ARCHIVE", "/nowhere/powershell.tar.gz")
    monkeypatch.delenv("NUSHELL_ARCHIVE", raising=False)
    assert doctor.main() == 1 and "Missing: PowerShell archive." in capsys.readouterr().out
    found = {line.thing: line for line in doctor.examine()}["PowerShell archive"]
    assert found.advice and "the PowerShell archive cannot be used: No such file" in found.found


def test_demo_is_not_promised_where_the_embedded_model_is_not_installed(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    monkeypatch.setattr(doctor, "_image", lambda *_: iter(()))
    assert doctor.main() == 1 and "embedded model" in capsys.readouterr().out.split("Missing: ")[1]
