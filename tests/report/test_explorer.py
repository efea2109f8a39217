"""The explorer's pure parts: the difference, the excerpts, the sizes they are cut to."""

import json
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluency.analysis.study_analysis import analyse
from fluency.core.study import Cell
from fluency.core.tasks import Task
from fluency.report import explorer
from fluency.report.cell_view import NARROW, cell_view, excerpt
from fluency.report.difference import MOST, difference
from fluency.report.explorer import page, page_details, page_header, script_json, write_explorer
from fluency.scoring import checks
from fluency.scoring.checks import content_problem as check
from fluency.workflow import pipeline
from tests.report.explorer_factory import details_of, make_explorer, make_task


@pytest.mark.parametrize(
    "content, expected, printed, rows",
    [
        ("set", ["a", "b"], "  b \r\n\x1b[31ma\x1b[0m", "=a =b"),
        ("set", ["a", "b"], "b\nb\n", "-a +b =b"),
        ("set", ["crates/a"], "/work/crates/a\n", "+/work/crates/a -crates/a"),
        ("ordered", ["3 c", "2 b", "1 a"], "3 c\n1 a\n", "=3 c -2 b =1 a"),
        ("ordered", ["9 crates/a"], "9 /work/crates/a\n", "=9 /work/crates/a"),
        ("hex", "ab12", "AB12\n", "=AB12"),
        ("jsonset", [{"n": 3}, {"n": 1}], '[{"n": 1}, {"n": 3.0}]', '={"n": 1} ={"n": 3}'),
        ("json", {"a": 1}, "not json", '-"a": 1 +not json'),
        ("json", {"b": [1], "a": 2}, '{"a": 2.0, "b": []}', '="a": 2 -"b": [1] +"b": []'),
    ],
)
def test_difference_rows(content, expected, printed, rows):
    found = difference(expected, printed.encode(), content)["rows"]
    assert " ".join(op + text for op, text in found) == rows


@settings(deadline=None)
@given(
    st.sampled_from(["set", "ordered", "paths"]),
    st.lists(st.sampled_from(["a", "b", "crates/c", "1 d/e"]), min_size=1, max_size=5),
    st.lists(
        st.sampled_from(["a", "b ", "./b", "/work/crates/c", "crates/c", "1 d/e", "1 ./d/e"]),
        max_size=5,
    ),
)
def test_difference_agrees_with_the_check(content, expected, printed):
    text = "\n".join(printed)
    found = difference(expected, text.encode(), content)
    assert (not found["missing"] and not found["extra"]) is (
        check(content, expected, text, checks.output_lines(text)) is None
    )
    assert found["same"] + found["missing"] == len(expected)
    assert found["same"] + found["extra"] == len(printed)


@pytest.mark.parametrize(
    "printed",
    [
        "[" * 100_000,
        "[" * 900 + "1" + "]" * 900,
        "9" * 5_000,
        "1e999999999",
        '{"a":1e999999,"b":-1e-999999}',
        '"\\ud800"',
        "\x00\n" * 99,
        "NaN",
    ],
)
@pytest.mark.parametrize("content", ["json", "jsonset", "set", "hex"])
def test_difference_of_hostile_outputs(content, printed):
    rows = difference([1], printed.encode(), content)["rows"]
    assert json.loads(script_json(rows)) == rows
    assert sum(len(text) for _, text in rows) <= len(printed) + 9, "no blanks, no digits"


def test_difference_of_long_outputs_is_counted_in_full():
    printed = "".join(f"line {n}\n" for n in range(50_000)).encode()
    found = difference(["line 3", "nowhere"], printed, "set")
    assert (found["same"], found["missing"], found["extra"]) == (1, 1, 49_999)
    assert len(found["rows"]) <= MOST + 2
    short = difference(["line 3", "nowhere"], printed, "set", 340)["rows"]
    assert [op for op, _ in short] == ["+"] * 10
    long = difference(["a"], b"\n".join([b"x" * 5_000] * 400), "ordered", 20_000)["rows"]
    assert long == [["-", "a"], *[["+", "x" * 1_000 + "…"]] * 19]


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=8)))
def test_script_json_holds_no_markup_and_the_same_value(value):
    text = script_json(value)
    assert json.loads(text) == value
    assert text.isascii() and not set(text) & set("<>&")


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 5_000])
def test_excerpt_counts_every_character(size):
    text = "".join(chr(97 + n % 26) for n in range(size))
    part = excerpt(text, 100)
    assert len(part["head"]) + part["left_out"] + len(part["tail"]) == part["bytes"] == size
    assert text.startswith(part["head"]) and text.endswith(part["tail"])
    assert excerpt(None, 100) is None


def test_cell_view_of_a_record_without_its_task():
    made = make_explorer(1, 1, 1, states={"qwen-0.5b/pwsh/stale-lockfiles-0/1": "passed"})
    cell = Cell("qwen-0.5b", "pwsh", "stale-lockfiles-0", 1)
    for task in (None, make_task(0)):
        view = cell_view(cell, made.load(cell), task, 500)
        assert view["runs"][0]["diff"]["missing"] == 0


def test_page_details_are_narrow_beyond_the_limit(monkeypatch):
    made = make_explorer(1, 2, 2, text="word " * 1_000)
    start = "word " * (NARROW * 3 // 4 // 5)

    def shown():
        return [json.loads(view)["reply"]["head"] for view in page_details(made.view)]

    assert start not in shown()
    monkeypatch.setattr(explorer, "WIDE_LIMIT", 10_000)
    assert start in shown()


def test_page_holds_its_details_packed(tmp_path, write):
    made = make_explorer(1, 2, 2, text="word " * 1_000)
    path = write(made)
    assert details_of(path) == f"[{','.join(page_details(made.view))}]"
    assert path.stat().st_size < len(details_of(path)), "most of it is said again and again"


def test_partial_report_has_the_same_explorer(tmp_path, monkeypatch):
    """It makes the cells' views while it gathers the table, with each record read once."""
    made = make_explorer(1, 2, 2)
    header = page_header(analyse(made.frame, made.study, made.tasks))
    write_explorer(tmp_path / "explorer.html", made.frame, made.view, header)
    read = Counter[str]()

    def records(cell):
        read[cell.path] += 1
        return made.load(cell)

    view = replace(made.view, records=records)
    loaded = SimpleNamespace(
        study=made.study, tasks=made.tasks, cells=view.cells, files=[], records=records,
        task_of={task.id: task for task in made.tasks},
        view=lambda provenance=view.provenance: replace(view, provenance=provenance),
    )  # fmt: skip
    monkeypatch.setattr(Task, "sha256", "0" * 64)
    monkeypatch.setattr(pipeline, "RESULTS", tmp_path)
    pipeline.write_report_so_far(loaded)
    partial = tmp_path / made.study.study / "partial/explorer.html"
    assert partial.read_bytes() == (tmp_path / "explorer.html").read_bytes()
    few = 1  # up to 200 cells, to choose the views' size
    assert {*read.values()} == {few + 1}


def test_page_escapes_its_header():
    """A study's name cannot hold such signs today; the page does not rely on that."""
    bad = "<b onclick='x'>"
    header = {
        "heading": bad,
        "verdict": bad,
        "rates": [[bad, bad], [bad, bad]],
        "failures": {bad: [[bad, bad], [bad, 1]]},
    }
    html = page({"study": bad, "models": [[bad, "x"]], "shells": []}, ["{}"], header)
    assert "<b onclick" not in html and "&lt;b onclick=" in html
