"""Which benchmarks `make bench` runs."""

from __future__ import annotations

import importlib

import pytest

from bench.__main__ import ALL, chosen


def test_all_without_a_name_else_those_named(capsys: pytest.CaptureFixture) -> None:
    assert chosen([]) == list(ALL)
    assert chosen(["archive", "workflow"]) == ["archive", "workflow"]
    with pytest.raises(SystemExit):
        chosen(["archive", "speed"])
    assert "there is no benchmark speed; there are workflow, sandbox" in capsys.readouterr().err


@pytest.mark.parametrize("name", ALL)
def test_each_can_be_run(name: str) -> None:
    assert callable(importlib.import_module(f"bench.{name}").main)
