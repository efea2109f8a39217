"""`make show`: the cell in a terminal, and nothing in the terminal that the cell wrote."""

import io
import unicodedata
from contextlib import redirect_stdout
from dataclasses import replace
from unittest.mock import patch

import pytest

from fluency.common.errors import UserError
from fluency.core.schema import write_record
from fluency.core.study import Cell
from fluency.core.table import RECORD_TYPES, record_path
from fluency.report.show import main
from tests.report.explorer_factory import make_explorer
from tests.report.hostile import MARKUP, WITH_NUL

CELL = Cell("qwen-0.5b", "bash", "stale-lockfiles-0", 1)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def a_capable_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def results(tmp_path):
    """Writes a made-up study's records into a results folder."""

    def to_folder(made):
        for cell in made.study.cells([task.id for task in made.tasks]):
            for stage, record in zip(RECORD_TYPES, made.load(cell), strict=True):
                if record is not None:
                    write_record(record_path(tmp_path, stage, cell), record)
        return tmp_path

    return to_folder


def printed(cell, folder, stream=None, *, full=False):
    with (
        patch("fluency.report.show.RESULTS", folder),
        redirect_stdout(stream or io.StringIO()) as shown,
    ):
        main(cell.path, full)
    return shown.getvalue()


def test_show_prints_the_whole_cell(results):
    made = make_explorer(1, 1, 1, states={CELL.path: "silent-wrong"})
    folder = results(made)
    text = printed(CELL, folder)
    records = made.load(CELL)
    assert "qwen-0.5b, Bash, stale-lockfiles-0, trial 1\n" in text
    answer = records.generation.answer
    assert text.splitlines()[-1] == f"× failed (silent-wrong): {records.score.why}"
    facts = [answer.received_utc, f"{answer.usage.output_tokens} out", f"{answer.latency_s:.3f} s"]
    facts += [*answer.request.prompt.splitlines(), records.execution.extraction.strict]
    facts += [line for world in records.score.worlds for line in (world.why, *world.expected)]
    assert [fact for fact in facts if fact not in text] == []
    full = printed(CELL, folder, full=True)
    assert answer.request_key in full and f"{folder}/scores/{CELL.path}.json" in full
    assert answer.request_key not in text and full.splitlines()[-1] == text.splitlines()[-1]
    assert "\n- " in text or "\n+ " in text, "a wrong answer has lines that differ"
    record_path(folder, "scores", CELL).unlink()
    record_path(folder, "executions", CELL).unlink()
    text = printed(CELL, folder)
    assert "not run yet" in text and "Reply as it came" in text


@pytest.mark.parametrize("state", ["passed", "silent-wrong", "format"])
def test_show_escapes_hostile_text(results, state):
    folder = results(make_explorer(1, 1, 1, text=WITH_NUL, states={CELL.path: state}))
    text = printed(CELL, folder)
    assert {c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}} <= {"\n"}
    assert all(line in text for line in MARKUP)
    assert "\\x1b[31mred" in text and "\\u202e" in text and "\\x00" in text
    coloured = printed(CELL, folder, Terminal())
    assert "\x1b" not in text and "\x1b[" in coloured
    assert "\x1b[2J" not in coloured and "\x1b]" not in coloured and "\x07" not in coloured


@pytest.mark.parametrize("wrong", [{"model": "opus"}, {"task": "stale-lockfile"}, {"trial": 9}])
def test_show_of_a_missing_cell_names_others(results, wrong):
    cell, folder = replace(CELL, **wrong), results(make_explorer(1, 3, 2))
    with pytest.raises(UserError) as error:
        printed(cell, folder)
    assert cell.path in str(error.value) and CELL.path in error.value.hint


def test_show_without_records(tmp_path):
    with pytest.raises(UserError, match="no record of this cell") as error:
        printed(CELL, tmp_path)
    assert "make demo" in error.value.hint
