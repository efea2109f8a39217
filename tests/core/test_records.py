"""Records read back as written; another file is refused in one sentence."""

import json

import pytest

from fluency.common.errors import UserError
from fluency.core.records import Score, Stream
from fluency.core.schema import RECORD_SCHEMA, read_record, write_record
from fluency.core.table import (
    RECORD_TYPES,
    CellRecords,
    cell_row,
    headline_runs,
    load_records,
    read_table,
    record_path,
    write_table,
)
from tests import synthetic_tables
from tests.archive.factory import make_study, measure


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return measure(tmp_path_factory.mktemp("study"), make_study(("stale-lockfiles",), trials=1))


@pytest.fixture
def cell(made):
    return next(cell for cell in made.cells if cell.shell == "pwsh")


def test_records_read_back(made, cell, tmp_path):
    for record in load_records(made.results, cell):
        write_record(tmp_path / "record.json", record)
        assert read_record(type(record), tmp_path / "record.json") == record
        assert record.schema_version == RECORD_SCHEMA and record.cell == cell


@pytest.mark.parametrize(
    "change, says",
    [
        ({"schema_version": RECORD_SCHEMA + 1}, "schema_version: Input should be less than or"),
        ({"schema_version": 0}, "schema_version: Input should be greater"),
        ({"invented": 1}, "invented: Extra inputs"),
        ({"cell": {"model": "m", "shell": "fish"}}, "cell.shell: Value error, unknown shell"),
    ],
)
def test_read_record_names_wrong_key_and_file(made, cell, tmp_path, change, says):
    for stage, kind in RECORD_TYPES.items():
        value = json.loads(record_path(made.results, stage, cell).read_bytes()) | change
        path = tmp_path / f"{stage}.json"
        path.write_text(json.dumps(value))
        with pytest.raises(UserError) as caught:
            read_record(kind, path)
        assert says in caught.value.what and caught.value.where == str(path)


def test_read_record_names_missing_file(tmp_path):
    with pytest.raises(UserError, match="no such record"):
        read_record(Score, tmp_path / "none.json")


@pytest.mark.parametrize("kept", [b"", b"text", "Größe\n".encode(), b"\xff\x00", b"\xed\xa0\x80"])
def test_stream_gives_back_its_bytes(kept):
    assert Stream.of(kept).raw() == kept
    assert (Stream.of(kept).bytes, Stream.of(kept).truncated) == (len(kept), False)
    assert (Stream.of(kept, 99).bytes, Stream.of(kept, 99).truncated) == (99, True)


def test_row_names_missing_stage(made, cell):
    records = load_records(made.results, cell)
    waits = [
        (records._replace(generation=None, execution=None, score=None), "no generation yet", None),
        (records._replace(execution=None, score=None), "no execution yet", None),
        (records._replace(score=None), "no score yet", records.execution.extraction.strict),
    ]
    for given, reason, command in waits:
        row = cell_row(cell, made.tasks[0], given)
        assert (row.status, row.reason) == ("missing", reason)
        assert (row.command, row.passed) == (command, None)


def test_row_holds_headline_alone(made, cell):
    records = load_records(made.results, cell)
    answer = records.generation.answer.model_copy(update={"stop_reason": "end_turn"})
    generation = records.generation.model_copy(update={"answer": answer})
    lenient = {"reading": "lenient"}
    runs = [*records.execution.runs, records.execution.runs[0].model_copy(update=lenient)]
    worlds = [*records.score.worlds, records.score.worlds[0].model_copy(update=lenient)]
    execution = records.execution.model_copy(update={"runs": runs})
    score = records.score.model_copy(update={"worlds": worlds})
    row = cell_row(cell, made.tasks[0], CellRecords(generation, execution, score))
    assert (row.status, row.reason, row.passed) == ("measured", None, True)
    assert row.category == "file-inspection"
    assert (row.worlds_passed, row.worlds_run) == (2, 2), "not of another condition or reading"
    assert (row.outcome, row.input_tokens, row.output_tokens, row.cost_usd) == ("ok", 120, 30, 0.0)
    assert (row.stop_reason, row.temperature_sent, row.t_gen_s) == ("end_turn", "0.7", 1.5)
    assert row.model_echoed == "qwen2.5-coder-0.5b-instruct"
    assert (row.t_exec_s, row.cpu_s) == (0.25, 0.125)
    assert (row.timed_out, row.output_truncated) == (False, False)
    assert (row.peak_memory_bytes, row.peak_processes, row.written_bytes) == (1 << 22, None, None)
    assert row.made_of and row.commands and row.asked_utc == "2026-11-22T01:02:01.956Z"
    assert [run.seed for run in headline_runs(runs)] == [11, 24]


def test_row_escapes_control_characters(made, cell):
    records = load_records(made.results, cell)
    update = {"strict": "echo '\x1b]0;title\x07'\nls"}
    extraction = records.execution.extraction.model_copy(update=update)
    execution = records.execution.model_copy(update={"extraction": extraction})
    row = cell_row(cell, made.tasks[0], records._replace(execution=execution))
    assert row.command == r"echo '\x1b]0;title\x07'" + "\nls"


def test_row_holds_worst_and_mean_of_worlds(made, cell):
    records = load_records(made.results, cell)
    first, *others = records.execution.runs
    peaks = {"peak_memory_bytes": 1 << 30, "peak_processes": 7, "written_bytes": 5, "cpu_s": 0.375}
    used = first.result.used.model_copy(update=peaks)
    stderr = Stream.of(b"x", 2)
    update = {"used": used, "wall_s": 0.75, "timed_out": True, "stderr": stderr}
    worst = first.model_copy(update={"result": first.result.model_copy(update=update)})
    lenient = worst.model_copy(update={"reading": "lenient"})
    execution = records.execution.model_copy(update={"runs": [worst, *others, lenient]})
    row = cell_row(cell, made.tasks[0], records._replace(execution=execution))
    assert (row.peak_memory_bytes, row.peak_processes, row.written_bytes) == (1 << 30, 7, 5)
    assert (row.t_exec_s, row.cpu_s, row.timed_out, row.output_truncated) == (0.5, 0.25, True, True)


@pytest.mark.parametrize("status", ["not_measured", "missing"])
def test_row_has_reason_of_unmeasured_shell_and_of_abandoned_cell(made, cell, status):
    records, abandoned = load_records(made.results, cell), status == "missing"
    update = {"not_measured": None if abandoned else "why", "passed": None, "worlds": []}
    score = records.score.model_copy(update=update)
    execution = records.execution.model_copy(update={"unmeasured": "why" if abandoned else None})
    row = cell_row(cell, made.tasks[0], CellRecords(records.generation, execution, score))
    assert (row.status, row.reason) == (status, "why")
    assert (row.worlds_run, row.worlds_passed) == (None, None)


def test_read_table_of_other_file_is_sentence(tmp_path):
    (tmp_path / "study.tar.zst").write_bytes(b"a,b\n1,2\n1,2,3\n")
    with pytest.raises(UserError, match="this is not a table of cells") as caught:
        read_table(tmp_path / "study.tar.zst")
    assert "make export" in caught.value.hint


def test_table_keeps_aliases_that_read_as_missing(tmp_path):
    aliases = ["nan", "null", "none", "na"]
    study = synthetic_tables.make_study(models=aliases, trials=1)
    rows = synthetic_tables.make_rows(study, synthetic_tables.make_tasks(1), lambda cell: True)
    write_table(tmp_path / "cells.csv", rows)
    assert list(read_table(tmp_path / "cells.csv")["model"].unique()) == aliases
