"""Figures: the same bytes each time, words for those who cannot see them, layouts that hold."""

import os
import re
import subprocess
import sys
from functools import cache
from xml.etree import ElementTree

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.text import Text

from fluency.analysis.study_analysis import analyse
from fluency.common.paths import ROOT
from fluency.report import figures
from fluency.report.figures import draw_figures
from fluency.report.marks import FAILURES
from fluency.report.numbers import signed, span
from tests.synthetic_tables import from_counts, make_frame, make_study, make_tasks, random_passes

SVG = "{http://www.w3.org/2000/svg}"


def drawings(passes=None, models=("model-x",), trials=5, tasks=None, shells=("bash", "pwsh")):
    study, tasks = make_study(models, trials, shells), tasks or make_tasks()
    frame = make_frame(study, tasks, passes or random_passes())
    analysis = analyse(frame, study, tasks)
    return analysis, {(d.kind, d.model): d for d in draw_figures(analysis)}


def texts(svg: str) -> list[str]:
    return ["".join(node.itertext()) for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def box(svg: str) -> tuple[float, float]:
    _, _, width, height = ElementTree.fromstring(svg).attrib["viewBox"].split()
    return float(width), float(height)


@cache
def usual() -> dict:
    return drawings()[1]


@pytest.mark.parametrize("kind", ["gaps", "tasks", "failures"])
def test_figure_has_words_and_loads_nothing(kind: str) -> None:
    drawing = usual()[kind, "" if kind == "gaps" else "model-x"]
    root = ElementTree.fromstring(drawing.svg)
    assert root.attrib["role"] == "img" and root.attrib["aria-label"] == drawing.alt
    assert root.find(f"{SVG}title").text and root.find(f"{SVG}desc").text == drawing.alt
    assert len(drawing.alt) > 60
    assert texts(drawing.svg) and "<script" not in drawing.svg
    assert all(link.startswith("#") for link in re.findall(r'href="([^"]*)"', drawing.svg))
    assert not re.search(r"dc:date|20\d\d-\d\d-\d\d", drawing.svg), (
        "the day of drawing is no part of it"
    )


def test_gap_row_draws_gap_and_two_intervals() -> None:
    gap = drawings()[0].models[0].gap
    axes = Figure().add_subplot()
    figures._gap_row(axes, 0, gap, 10)
    fixed = (float(gap.value) - gap.fixed, float(gap.value) + gap.fixed)
    for line, ends in zip(axes.lines, (gap.interval, fixed, [gap.value]), strict=True):
        assert list(line.get_xdata()) == pytest.approx([100 * float(end) for end in ends])


def test_figure_marks_differ_in_shape() -> None:
    assert figures.BASELINE_MARK.shape != figures.CHALLENGER_MARK.shape
    grey = re.findall(
        r"#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})\b", "".join(d.svg for d in usual().values())
    )
    assert grey and all(red == green == blue for red, green, blue in grey)


def figures_of(monkeypatch, **how) -> tuple:
    """The analysis, and the figures before they are written: of all models, then of each its tasks and failures."""
    kept: list = []
    monkeypatch.setattr(figures, "to_svg", lambda figure, *words: kept.append(figure) or "")
    return drawings(**how)[0], kept


def test_figure_fits_long_names(monkeypatch) -> None:
    name = "a-task-with-a-name-of-nearly-sixty-characters-to-be-sure"
    model = "a-model-with-an-alias-of-forty-characters"
    _, kept = figures_of(monkeypatch, models=(model,), tasks=make_tasks(20, name))
    for figure in kept:
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        for text in figure.findobj(
            lambda part: isinstance(part, Text) and part.get_visible() and part.get_text()
        ):
            extent = text.get_window_extent(canvas.get_renderer())
            assert extent.x0 >= 0 and extent.x1 <= figure.bbox.x1, text.get_text()


@pytest.mark.parametrize("count", [3, 20, 60])
def test_tasks_figure_grows_with_tasks(count: int) -> None:
    _, found = drawings(
        from_counts({f"task-{n + 1:02d}": (2, 3) for n in range(count)}), tasks=make_tasks(count)
    )
    assert box(found["tasks", "model-x"].svg)[1] >= count * 0.25 * 72


LEVEL = {f"task-{n:02d}": (5, 5) if n < 4 else (0, 0) for n in range(1, 8)}


def test_figures_leave_out_unmeasured_shells() -> None:
    assert drawings(lambda cell: None)[1] == {}
    assert ("tasks", "model-x") not in drawings(from_counts(LEVEL), tasks=make_tasks(7))[1], (
        "no task tells anything"
    )
    _, half = drawings(lambda cell: "not_measured" if cell.shell == "pwsh" else cell.trial > 2)
    assert set(half) == {("tasks", "model-x"), ("failures", "model-x")}
    assert "PowerShell" not in half["failures", "model-x"].alt
    assert "PowerShell" not in texts(half["tasks", "model-x"].svg)
    assert "by task, in Bash." in half["tasks", "model-x"].alt
    assert set(drawings(shells=("bash",))[1]) == {("tasks", "model-x"), ("failures", "model-x")}


@pytest.mark.parametrize(
    ("counts", "shown", "left_out"),
    [
        (
            {"task-01": (5, 2)},
            ["task-01"],
            "Not shown: 2 tasks always passed in every shell and 4 tasks never passed",
        ),
        (
            {"task-06": (1, 1), "task-07": (0, 4), "task-05": (3, 0)},
            ["task-07", "task-06", "task-05"],
            "3 tasks always",
        ),
    ],
)
def test_tasks_figure_order_and_flat_tasks(counts, shown, left_out) -> None:
    _, found = drawings(from_counts(LEVEL | counts), tasks=make_tasks(7))
    written = texts(found["tasks", "model-x"].svg)
    assert [words for words in written if words.startswith("task-")] == shown
    assert any(left_out in words for words in written) and left_out in found["tasks", "model-x"].alt


def test_failures_figure_joins_rare_classes(monkeypatch) -> None:
    monkeypatch.setattr(figures, "MOST_CLASSES", 1)
    counts = dict.fromkeys(LEVEL, (5, 5)) | {"task-01": (0, 2), "task-02": (3, 5)}
    analysis, found = drawings(from_counts(counts), tasks=make_tasks(7))
    by_class = {line.failure_class: line.counts for line in analysis.models[0].failures}
    first, second = sorted(by_class, key=lambda name: -sum(by_class[name].values()))
    words = [FAILURES[first][1], "1 further class"]
    numbers = [f"{by_class[name]['bash']} / {by_class[name]['pwsh']}" for name in (first, second)]
    alt = found["failures", "model-x"].alt
    assert (
        alt
        == "How runs of model-x failed, Bash / PowerShell: "
        + "; ".join(f"{word} {number}" for word, number in zip(words, numbers, strict=True))
        + "."
    )
    shown = texts(found["failures", "model-x"].svg)
    assert set(words) <= set(shown) and {"Bash", "PowerShell"} <= set(shown)
    assert ("failures", "model-x") not in drawings(lambda cell: True)[1]


def test_gaps_figure_states_numbers_and_bands() -> None:
    analysis, found = drawings(models=tuple(f"model-{letter}" for letter in "abcde"))
    words = texts(found["gaps", ""].svg)
    assert "← Bash better  ·  gap in points  ·  PowerShell better →" in words
    assert words.count("no rule") == 2
    for model in analysis.models:
        assert (
            f"{signed(model.gap.value)}  ({span(model.gap.interval)})" in words
            and model.model in words
        )


def test_tasks_figure_joins_shells(monkeypatch) -> None:
    _, kept = figures_of(monkeypatch)
    plot = kept[1].axes[0]
    drawn = [mark for mark in plot.collections if isinstance(mark, PathCollection)]
    assert {y - round(y) for mark in drawn for _, y in mark.get_offsets()} == {0}
    lines = [line.get_ydata() for line in plot.lines if len(line.get_ydata()) == 2]
    assert lines and all(one == other for one, other in lines)
    legend = plot.get_legend().get_window_extent(FigureCanvasAgg(kept[1]).get_renderer())
    assert legend.x0 >= plot.get_window_extent().x0, "the legend begins where the plot does"


def test_figure_title_place() -> None:
    svg = usual()["tasks", "model-x"].svg
    (title,) = [
        node
        for node in ElementTree.fromstring(svg).iter(f"{SVG}text")
        if "".join(node.itertext()) == "model-x"
    ]
    assert float(title.attrib["y"]) == pytest.approx(14.4, abs=4)


def test_gaps_figure_holds_intervals_and_names(monkeypatch) -> None:
    analysis, kept = figures_of(
        monkeypatch, models=("a-model-with-an-alias-of-forty-characters", "b")
    )
    (axes,) = kept[0].axes
    reach = max(100 * abs(edge) for model in analysis.models for edge in model.gap.interval)
    _, limit = axes.get_xlim()
    assert limit % 5 == 0 and limit - 5 < reach + 3 <= limit, "the next five beyond"
    renderer = FigureCanvasAgg(kept[0]).get_renderer()
    names = [
        text for text in axes.texts if text.get_text() in {model.model for model in analysis.models}
    ]
    assert (
        len(names) == 2
        and min(text.get_window_extent(renderer).x0 for text in names) >= 0.1 * kept[0].dpi
    )
    assert max(text.get_window_extent(renderer).x1 for text in axes.texts) <= kept[0].bbox.x1
    assert axes.get_window_extent().width > 4 * kept[0].dpi, "the plot itself is not squeezed"


HOSTILE_RC = """
lines.linewidth: 9
axes.grid: True
axes.formatter.use_locale: True
xtick.labelsize: 20
figure.dpi: 33
savefig.bbox: tight
savefig.transparent: True
font.family: monospace
text.hinting: none
timezone: Pacific/Kiritimati
"""
WRITE = """
import sys
from pathlib import Path
from fluency.report.report import write_report
from tests.synthetic_tables import make_frame, make_study, make_tasks, random_passes, view_of
study, tasks = make_study(("model-x",), 5), make_tasks()
write_report(Path(sys.argv[1]) / "report.md", make_frame(study, tasks, random_passes()), view_of(study, tasks))
"""


def test_report_ignores_the_environment(tmp_path) -> None:
    """Nor can the user's matplotlibrc: who draws otherwise would call a sound archive altered."""
    (tmp_path / "matplotlibrc").write_text(HOSTILE_RC)
    hostile = {
        "MATPLOTLIBRC": str(tmp_path / "matplotlibrc"), "MPLBACKEND": "agg", "MPLCONFIGDIR": str(tmp_path / "cache"),
        "HOME": str(tmp_path), "LC_ALL": "C", "LANG": "tr_TR.UTF-8", "TZ": "Pacific/Kiritimati",
        "PYTHONHASHSEED": "7", "PYTHONUTF8": "0", "COLUMNS": "20",
    }  # fmt: skip
    for name, environ in (("plain", {}), ("hostile", hostile)):
        command = [sys.executable, "-c", WRITE, str(tmp_path / name)]
        subprocess.run(
            command,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT}/scripts"} | environ,
            check=True,
        )
    plain = {
        path.relative_to(tmp_path / "plain"): path
        for path in (tmp_path / "plain").rglob("*")
        if path.is_file()
    }
    assert len(plain) == 4
    for name, path in plain.items():
        assert (tmp_path / "hostile" / name).read_bytes() == path.read_bytes(), name
