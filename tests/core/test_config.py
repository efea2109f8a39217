"""A wrong configuration is one sentence with file and key, and the page describes every key."""

import re
import shlex
import sys
from datetime import date

import pytest
import yaml

from fluency.common.errors import UserError
from fluency.common.paths import CONFIG, ROOT
from fluency.core.config_files import merge, read_yaml
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.study import Study, read_study
from tests.programs import completed

DEFAULT = read_yaml(CONFIG)


def test_committed_configs_are_the_design():
    study = read_study()
    assert [(m.served_by, study.trials) for m in study.models] == [("embedded", 5)]
    study = read_study(ROOT / "config/study.yaml")
    assert (study.tasks, study.trials, study.shells) == ("pilot-20", 5, [*DESIGN_SHELLS])
    assert [model.id for model in study.models] == ["claude-opus-4-7", "claude-sonnet-4-6"]
    assert study.budget.confirm_usd == 0, "a paid study always asks"


def one(**keys):
    return {"models": [{"alias": "a", "id": "b"} | keys]}


@pytest.mark.parametrize(
    "change, key, says",
    [
        ({"trails": 4}, "trails", 'unknown key\nHint: did you mean "trials"?'),
        ({"colour": 4}, "colour", "unknown key\nHint: docs/config.md lists every key"),
        ({"sandbox": {"limits": {"pid": 9}}}, "sandbox.limits.pid", 'did you mean "pids"?'),
        ({"trials": 0}, "trials", "greater than or equal to 1"),
        ({"trials": "many"}, "trials", 'found "many": Input should be a valid integer'),
        ({"trials": True}, "trials", "found true"),
        ({"shells": []}, "shells", "at least 1 item"),
        ({"tasks": 20}, "tasks", "found 20: Input should be a valid"),
        ({"seeds": [11, "24"]}, "seeds.1", "valid integer"),
        ({"budget": 5}, "budget", "found 5: Input should be `key: value` lines\n"),
        ({"shells": ["fish"]}, "shells.0", "unknown shell 'fish'; there are: bash, pwsh"),
        ({"shells": ["bsh"]}, "shells.0", "unknown shell 'bsh'; did you mean \"bash\"?"),
        ({"shells": ["bash", "bash"]}, "", "must be different"),
        ({"seeds": [2, 4]}, "", "one odd and one even"),
        ({"models": []}, "models", "at least 1 item"),
        ({"confirm": False}, "confirm", "'ask' or 'yes'"),
        ({"models": [{"alias": "a/../b", "id": "b"}]}, "models.0.alias", "pattern"),
        ({"models": [{"id": "b"}]}, "models.0.alias", "missing"),
        ({"models": [{"alias": "a", "id": name} for name in "bc"]}, "", "must be different"),
        (one(temperature=7.0), "models.0.temperature", "less than or equal to 2"),
        (one(temperature="x"), "models.0.temperature:", 'found "x"'),
        ({"seeds": [1, 2**60]}, "seeds.1", "less than or equal to 9007199254740991"),
        *[
            (one(extra_body={"x": x}), "models.0.extra_body", "not portable JSON")
            for x in (2**60, 5.623329633899874e16)
        ],
        ({"conditions": ["no_unix_tools"]}, "", "as_designed"),
        ({"sandbox": {"limits": {"timeout_s": {"pwsh": 0.1}}}}, "limits.timeout_s", "equal to 1"),
        ({"study": "../evil"}, "study", "pattern"),
    ],
)
def test_read_study_names_wrong_key_and_file(tmp_path, change, key, says):
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(change))
    with pytest.raises(UserError) as caught:
        read_study(file)
    text = str(caught.value)
    assert says in text and "Hint:" in text
    if key:
        assert re.search(rf"mine.yaml: [a-z.]*{re.escape(key)}", text)


@pytest.mark.parametrize(
    "key",
    ["sk-ant-0123456789abcdef", "0123456789abcdef" * 2, 1234567890, "AKIAIOSFODNN7EXAMPLE"],
)
def test_read_study_refuses_api_key_and_hides_it(tmp_path, key):
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(one(api_key_env=key)))
    with pytest.raises(UserError, match=r"NAME of .* as in MY_KEY, and never a key") as caught:
        read_study(file)
    assert str(key) not in str(caught.value)


def test_study_takes_dates_and_booleans_as_text():
    price = {"input_usd_per_mtok": 1, "output_usd_per_mtok": 2, "dated": date(2026, 11, 21)}
    values = {"study": "x", "confirm": True} | one(price=price)
    study = Study.model_validate(values)
    assert (study.confirm, study.models[0].price.dated) == ("yes", "2026-11-21")


@pytest.mark.parametrize(
    "content, where, says, hint",
    [
        ("a: [1", "mine.yaml", "not YAML", "indentation"),
        ("", "mine.yaml", "no keys", "key: value"),
        ("- 1", "mine.yaml", "no keys", "key: value"),
        ("trials: 1\ndecision: caf\xe9", "mine.yaml", "UTF-8 .* position 23", "UTF-8"),
        ("a:\n  b: 1\n  b: 2", "mine.yaml: line 3", "'b' is given twice", "remove one"),
        ("models: &a\n  - *a", "mine.yaml", "an alias contains itself", "write it out"),
    ],
)
def test_read_study_refuses_file_of_other_content(tmp_path, content, where, says, hint):
    file = tmp_path / "mine.yaml"
    file.write_bytes(content.encode("latin-1"))
    with pytest.raises(UserError, match=says) as caught:
        read_study(file)
    assert caught.value.where.endswith(where) and hint in caught.value.hint
    with pytest.raises(UserError, match="cannot be read"):
        read_study(tmp_path)


def test_make_takes_config_with_space_in_name(tmp_path):
    files = [tmp_path / name for name in ("with space.yaml", "a.yaml", "b.yaml")]
    for file in files:
        file.touch()

    def plan(config):
        options = ["--no-print-directory", "--dry-run", "--always-make"]
        done = completed("make", *options, "plan", f"CONFIG={config}")
        return shlex.split(done.stdout.splitlines()[-1])

    spaced, first, second = map(str, files)
    asked, option = ["fluency", "plan"], "--configfile"
    assert plan(spaced) == [*asked, option, spaced]
    assert plan(f"{first} {second}") == [*asked, option, first, option, second]
    assert plan("") == asked


@pytest.mark.parametrize("program", ["snakemake", "fluency.cli plan", "fluency.cli run"])
def test_wrong_config_ends_plan_and_run_before_they_start(tmp_path, program):
    file = tmp_path / "mine.yaml"
    file.write_text("models: [{alias: a, id: claude-sonnet-4-6, base_url: localhost}]\n")
    command = [sys.executable, "-m", *program.split(), "--configfile", str(file)]
    done = completed(*command, code=2)
    says = "mine.yaml: models: a: base_url: this is not an address: localhost"
    assert says in done.stderr and "Hint:" in done.stderr
    assert "Traceback" not in done.stderr


def test_merge_replaces_lists_and_merges_mappings():
    merged = merge(DEFAULT, {"models": [{"alias": "x", "id": "y"}], "budget": {"stop_usd": 3}})
    study = Study.model_validate(merged)
    assert [model.alias for model in study.models] == ["x"]
    assert (study.budget.stop_usd, study.budget.confirm_usd) == (3, 1.0)
