"""`fluency ask-one`: one call, everything of it printed, nothing stored."""

import re

import pytest
import yaml

from fluency.cli import main
from fluency.common.paths import ANSWERS
from tests.generation.endpoint import Endpoint
from tests.workflow.project import model


@pytest.fixture
def ask_one(tmp_path):
    with Endpoint(lambda prompt: "I run:\n```bash\nls -la\n```") as endpoint:

        def ask(alias, turns=1, **over):
            file = tmp_path / "study.yaml"
            file.write_text(
                yaml.safe_dump({"models": [model(endpoint.url, **over)], "turns": turns})
            )
            return main(["ask-one", alias, "--configfile", str(file)])

        ask.endpoint = endpoint
        yield ask


def test_ask_one_prints_the_call_and_stores_nothing(ask_one, capsys):
    before = sorted(ANSWERS.rglob("*"))
    price = {"input_usd_per_mtok": 3, "output_usd_per_mtok": 15, "dated": "2026-11-28"}
    assert ask_one("good", price=price) == 0 == ask_one("good", price=price)
    assert len(ask_one.endpoint.requests) == 2, "each call asks"
    assert sorted(ANSWERS.rglob("*")) == before
    said = dict(
        re.findall(r"(?ms)^(\w[\w ]+)\n-+\n(.*?)\n\n(?=\w[\w ]+\n-|\Z)", capsys.readouterr().out)
    )
    assert '"model_id": "fake-good"' in said["Request"] and "at most $0." in said["Price"]
    assert '"stop_reason": "end_turn"' in said["Reply"] and said["Outcome"].startswith("ok, by")
    assert said["Strict reading"].startswith("I run:") and said["Lenient reading"] == "ls -la"
    assert '"output_tokens": 8' in said["Usage"] and said["Cost"] == "$0.000480"


@pytest.mark.parametrize("interface", ["reply", "tool"])
def test_ask_one_of_turns_sends_the_conversation(ask_one, capsys, interface):
    assert ask_one("good", turns=3, interface=interface) == 0
    assert [seen.turn for seen in ask_one.endpoint.requests] == [1, 2, 3]
    said = capsys.readouterr().out
    assert said.count("Turn 3, as if the command had printed nothing\n---") == 1
    assert said.count("Standard output (0 bytes)") == 2 and said.count("\nUsage\n") == 3


def test_ask_one_of_another_alias_names_those_of_the_study(ask_one, capsys):
    assert ask_one("god") == 2 and 'did you mean "good"?' in capsys.readouterr().err
    assert ask_one("") == 2 and "MODEL=alias" in capsys.readouterr().err


def test_ask_one_of_a_server_that_fails_is_a_sentence(ask_one, capsys):
    ask_one.endpoint.always("not-found")
    assert ask_one("good") == 2 and "check the model's `id`" in capsys.readouterr().err
