"""A wrong configuration is one sentence with file and key, and the page describes every key."""

import subprocess
import sys
from datetime import date

import pytest
import yaml

from fluency.common.errors import UserError
from fluency.common.paths import CONFIG, ROOT
from fluency.core.config_files import merge, read_yaml
from fluency.core.study import load_study, validate_study
from tools.pages.config import SECTIONS

DEFAULT = read_yaml(CONFIG)


def test_the_default_study_is_the_embedded_model_with_five_trials():
    study = load_study()
    assert [(m.served_by, study.trials) for m in study.models] == [("embedded", 5)]


def test_the_paid_study_is_the_design():
    study = load_study(ROOT / "config" / "study.yaml")
    assert (study.tasks, study.trials, study.shells) == ("pilot-20", 5, ["bash", "pwsh"])
    assert [model.id for model in study.models] == ["claude-opus-4-7", "claude-sonnet-4-6"]
    assert study.budget.confirm_usd == 0, "a paid study always asks"


@pytest.mark.parametrize(
    ("change", "key", "says"),
    [
        ({"trails": 4}, "trails", "unknown key"),
        ({"trials": 0}, "trials", "greater than or equal to 1"),
        ({"trials": "many"}, "trials", "Hint: write a whole number, as in `trials: 5`"),
        ({"trials": True}, "trials", "true stands here"),
        ({"trials": "5"}, "trials", '"5" stands here'),
        ({"tasks": []}, "tasks", "Hint: write at least one entry, as in `tasks: [one]`"),
        ({"tasks": 20}, "tasks", "Hint: write a list, as in `tasks: [one, two]`"),
        ({"tasks": "Pilot 20"}, "tasks", "pattern"),
        ({"seeds": [11, "24"]}, "seeds.1", "as in `seeds: 5`"),
        ({"budget": 5}, "budget", "indented below `budget:`"),
        ({"shells": ["fish"]}, "shells.0", "there is no shell 'fish'"),
        ({"shells": ["bash", "bash"]}, "", "must be different"),
        ({"seeds": [2, 4]}, "", "one odd and one even"),
        ({"models": []}, "models", "at least 1"),
        ({"models": [{"alias": "a", "id": "b", "colour": 1}]}, "models.0.colour", "unknown key"),
        ({"models": [{"alias": "a/../b", "id": "b"}]}, "models.0.alias", "pattern"),
        ({"models": [{"id": "b"}]}, "models.0.alias", "missing"),
        ({"models": [{"alias": "a", "id": "b"}, {"alias": "a", "id": "c"}]}, "", "must be different"),
        ({"models": [{"alias": "a", "id": "b", "temperature": 7.0}]}, "models.0.temperature", "between 0 and 2"),
        ({"seeds": [1, 2**60]}, "seeds.1", "less than or equal to 9007199254740991"),
        ({"models": [{"alias": "a", "id": "b", "extra_body": {"x": float("nan")}}]}, "models.0.extra_body", "alike"),
        ({"models": [{"alias": "a", "id": "b", "extra_body": {"x": 2**60}}]}, "models.0.extra_body", "alike"),
        (
            {"models": [{"alias": "a", "id": "b", "extra_body": {"x": 5.623329633899874e16}}]},
            "models.0.extra_body",
            "alike",
        ),
        (
            {"models": [{"alias": "a", "id": "b", "thinking": {"since": date(2026, 1, 1)}}]},
            "models.0.thinking",
            "alike",
        ),
        ({"conditions": ["no_unix_tools"]}, "", "as_designed"),
        ({"sandbox": {"limits": {"timeout_s": {"pwsh": 0.1}}}}, "sandbox.limits.timeout_s", "between 1 and 600"),
        ({"study": "../evil"}, "study", "pattern"),
    ],
)
def test_a_wrong_key_is_named_with_its_file(tmp_path, change, key, says):
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(change))
    with pytest.raises(UserError) as caught:
        load_study(file)
    text = str(caught.value)
    assert says in text and "Hint:" in text
    if key:
        assert f"mine.yaml: {key}" in text


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("a: [1", "not YAML"),
        ("", "no keys"),
        ("- 1", "no keys"),
        ("\xff\xfe", "not YAML"),
        ("trials: 1\nstudy: x\ntrials: 2", "'trials' stands twice"),
        ("budget:\n  stop_usd: 1\n  stop_usd: 2", "'stop_usd' stands twice"),
    ],
)
def test_a_file_that_is_no_configuration(tmp_path, content, says):
    file = tmp_path / "mine.yaml"
    file.write_bytes(content.encode("latin-1"))
    with pytest.raises(UserError, match=says):
        load_study(file)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("trials: 0", "mine.yaml: trials"),
        ("trails: 4", "mine.yaml: trails: unknown key"),
        ("tasks: [no-such-task]", "no-such-task: there is no such task"),
        ("models: [{alias: a, id: gpt-x}]", "mine.yaml: models: a: the model gpt-x is not in the policy table"),
        ("models: [{alias: a, id: llama-9000, served_by: embedded}]", "no embedded model has this id"),
        ("preregistration: preregistrations/none.json", "none.json"),
    ],
)
def test_snakemake_stops_with_exit_code_2_before_anything(tmp_path, wrong, says):
    file = tmp_path / "mine.yaml"
    file.write_text(f"{wrong}\n")
    command = [sys.executable, "-m", "snakemake", "--configfile", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr and "Hint:" in done.stderr
    assert "Traceback" not in done.stderr


def test_lists_are_replaced_and_mappings_merged():
    merged = merge(DEFAULT, {"models": [{"alias": "x", "id": "y"}], "budget": {"stop_usd": 3}})
    study = validate_study(merged)
    assert [model.alias for model in study.models] == ["x"]
    assert (study.budget.stop_usd, study.budget.confirm_usd) == (3, 1.0)


def test_every_key_is_described():
    for _, model, _ in SECTIONS:
        for name, field in model.model_fields.items():
            assert field.description, f"{model.__name__}.{name} has no description"
