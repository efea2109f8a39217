"""Figures: the same bytes each time, words for those who cannot see them, layouts that hold."""

import os
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection

from fluency.analysis.study_analysis import analyse
from fluency.common.paths import ROOT
from fluency.report import figures
from fluency.report.figures import draw_figures
from fluency.report.numbers import signed, span
from tests.synthetic_tables import from_counts, make_frame, make_study, make_tasks, random_passes

SVG = "{http://www.w3.org/2000/svg}"


def drawings(passes=None, models=("model-x",), trials=5, tasks=None, shells=("bash", "pwsh"), altered=None):
    study, tasks = make_study(models, trials, shells), tasks or make_tasks()
    frame = make_frame(study, tasks, passes or random_passes())
    for (task, column), value in (altered or {}).items():
        frame.loc[frame["task"] == task, column] = value
    analysis = analyse(frame, study, tasks)
    return analysis, {(d.kind, d.model): d for d in draw_figures(analysis, frame)}


def texts(svg: str) -> list[str]:
    return ["".join(node.itertext()) for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def box(svg: str) -> tuple[float, float]:
    _, _, width, height = ElementTree.fromstring(svg).attrib["viewBox"].split()
    return float(width), float(height)


def test_there_are_three_for_each_model_and_one_of_all() -> None:
    _, found = drawings(models=("model-x", "model-y"))
    assert set(found) == {("gaps", "")} | {(k, m) for k in ("tasks", "cells", "times") for m in ("model-x", "model-y")}


def test_the_same_study_gives_the_same_bytes_and_no_date() -> None:
    first, second = drawings()[1], drawings()[1]
    assert {key: d.svg for key, d in first.items()} == {key: d.svg for key, d in second.items()}
    assert not any(re.search(r"dc:date|20\d\d-\d\d-\d\d", d.svg) for d in first.values())


def test_every_figure_says_in_words_what_it_shows() -> None:
    for drawing in drawings()[1].values():
        root = ElementTree.fromstring(drawing.svg)
        assert root.attrib["role"] == "img" and root.attrib["aria-label"] == drawing.alt
        assert root.find(f"{SVG}title").text and root.find(f"{SVG}desc").text == drawing.alt
        assert len(drawing.alt) > 60


def test_text_is_text_and_nothing_is_loaded_or_run() -> None:
    for drawing in drawings()[1].values():
        assert texts(drawing.svg) and "<script" not in drawing.svg
        assert all(link.startswith("#") for link in re.findall(r'href="([^"]*)"', drawing.svg))


def test_marks_differ_in_shape_and_not_in_colour_alone() -> None:
    def mark(cell):
        return None if cell.trial == 5 else cell.trial % 2 == 0

    _, found = drawings(mark)
    assert "·" in texts(found["cells", "model-x"].svg)
    assert {"pass", "fail", "missing"} <= set(texts(found["cells", "model-x"].svg))
    grey = re.findall(r"#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})\b", "".join(d.svg for d in found.values()))
    assert all(red == green == blue for red, green, blue in grey)


def test_every_trial_is_drawn() -> None:
    analysis, found = drawings()
    svg = found["cells", "model-x"].svg
    uses = len(re.findall(r"<use ", svg)) - 4
    assert uses == 2 * 20 * 2 * 5, "a box and a mark for each trial, and two of each in the legend"
    passes = sum(counts.total_passes for counts in analysis.models[0].outcomes.by_shell.values())
    assert f"{passes} pass" in found["cells", "model-x"].alt


def level_words(svg: str) -> list[tuple[str, float, float]]:
    """Words that stand upright, with about where they begin and end, in points."""
    found = []
    for node in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        words = "".join(node.itertext())
        style, transform = node.attrib.get("style", ""), node.attrib.get("transform", "")
        if "rotate(-90" in transform:
            continue
        place = re.search(r"translate\(([-\d.]+)", transform) or re.match(r"([-\d.]+)", node.attrib.get("x", "0"))
        size = float(re.search(r"([\d.]+)px", style).group(1))
        long = len(words) * size * 0.55
        left = float(place.group(1)) - (long if "anchor: end" in style else long / 2 if "middle" in style else 0)
        found.append((words, left, left + long))
    return found


def test_long_names_keep_clear_of_the_plot_and_of_the_edge() -> None:
    name = "a-task-with-a-name-of-nearly-sixty-characters-to-be-sure"
    _, found = drawings(models=("a-model-with-an-alias-of-forty-characters",), tasks=make_tasks(20, name))
    for (kind, _), drawing in found.items():
        width, _ = box(drawing.svg)
        for words, left, right in level_words(drawing.svg):
            assert left > -2, (kind, words)
            assert right < width + 2 or kind == "gaps", (kind, words, left, right, width)


def test_the_legend_of_a_narrow_figure_is_whole_and_begins_below_the_title() -> None:
    kinds = {"t-01": True, "t-04": None, "t-05": "not_measured"}
    altered = {("t-02", "outcome"): "refusal", ("t-03", "command"): None}
    _, found = drawings(lambda cell: kinds.get(cell.task, False), trials=1, tasks=make_tasks(6, "t"), altered=altered)
    svg = found["cells", "model-x"].svg
    places = {words: (left, right) for words, left, right in level_words(svg)}
    assert places["model-x"][0] == pytest.approx(7.2, abs=0.5), "a tenth of an inch"
    legend = ["pass", "fail", "refusal", "no command", "missing", "not measured"]
    assert not set(legend) - places.keys()
    assert places[legend[0]][0] == pytest.approx(7.2 + 1.2 * 0.25 * 72, abs=2)
    assert max(places[words][1] for words in legend) < box(svg)[0] + 2


@pytest.mark.parametrize(("trials", "count"), [(1, 20), (20, 20), (5, 100), (3, 1)])
def test_other_designs_grow_the_paper(trials: int, count: int) -> None:
    _, found = drawings(trials=trials, tasks=make_tasks(count))
    width, height = box(found["cells", "model-x"].svg)
    assert width >= 2 * trials * 0.25 * 72 and height >= count * 0.25 * 72


def test_what_was_not_measured_is_not_drawn() -> None:
    assert drawings(lambda cell: None)[1] == {}
    _, half = drawings(lambda cell: "not_measured" if cell.shell == "pwsh" else True)
    assert set(half) == {("tasks", "model-x"), ("cells", "model-x"), ("times", "model-x")}
    assert "PowerShell" not in texts(half["tasks", "model-x"].svg)
    assert "Only Bash was measured" in half["tasks", "model-x"].alt
    assert "–" in texts(half["cells", "model-x"].svg)
    assert set(drawings(shells=("bash",))[1]) == {("tasks", "model-x"), ("cells", "model-x"), ("times", "model-x")}


def test_the_gaps_figure_holds_the_numbers_and_the_hole() -> None:
    analysis, found = drawings(models=tuple(f"model-{letter}" for letter in "abcde"))
    words = texts(found["gaps", ""].svg)
    assert words.count("no rule") == 2
    for model in analysis.models:
        assert f"{signed(model.gap.value)}  ({span(model.gap.s95)})" in words and model.model in words


def test_the_tasks_that_each_shell_leads_are_counted_in_words() -> None:
    counts = {"task-01": (1, 4), "task-02": (0, 5), "task-03": (3, 1)}
    tasks = make_tasks(7)
    _, found = drawings(from_counts({task.id: counts.get(task.id, (2, 2)) for task in tasks}), tasks=tasks)
    said = "Of 7 tasks measured in both, PowerShell is ahead on 2, Bash on 1, 4 are level."
    assert said in found["tasks", "model-x"].alt


def test_the_shells_stand_evenly_above_and_below_their_row(monkeypatch) -> None:
    kept: list = []
    monkeypatch.setattr(figures, "to_svg", lambda figure, *words: kept.append(figure) or "")
    drawings()
    drawn = [mark for axes in kept[1].axes[:1] for mark in axes.collections if isinstance(mark, PathCollection)]
    beside = {round(y - round(y), 6) for mark in drawn for _, y in mark.get_offsets()}
    assert beside == {-figures.SHIFT, figures.SHIFT}
    plot = kept[1].axes[0]
    legend = plot.get_legend().get_window_extent(FigureCanvasAgg(kept[1]).get_renderer())
    assert legend.x0 >= plot.get_window_extent().x0, "the legend begins where the plot does"


@pytest.mark.parametrize("kind", ["cells", "tasks"])
def test_the_title_stands_a_quarter_of_an_inch_below_the_edge(kind: str) -> None:
    svg = drawings()[1][kind, "model-x"].svg
    (title,) = [
        node for node in ElementTree.fromstring(svg).iter(f"{SVG}text") if "".join(node.itertext()) == "model-x"
    ]
    assert float(title.attrib["y"]) == pytest.approx(18, abs=4)


def test_the_gaps_axis_holds_every_interval_and_the_paper_every_name(monkeypatch) -> None:
    kept: list = []
    monkeypatch.setattr(figures, "to_svg", lambda figure, *words: kept.append(figure) or "")
    analysis, _ = drawings(models=("a-model-with-an-alias-of-forty-characters", "b"))
    (axes,) = kept[0].axes
    reach = max(100 * abs(edge) for model in analysis.models for edge in model.gap.s95)
    _, limit = axes.get_xlim()
    assert limit % 5 == 0 and limit - 5 < reach + 3 <= limit, "the next five beyond"
    renderer = FigureCanvasAgg(kept[0]).get_renderer()
    names = [text for text in axes.texts if text.get_text() in {model.model for model in analysis.models}]
    assert len(names) == 2 and min(text.get_window_extent(renderer).x0 for text in names) >= 0.1 * kept[0].dpi
    assert max(text.get_window_extent(renderer).x1 for text in axes.texts) <= kept[0].bbox.x1
    assert axes.get_window_extent().width > 4 * kept[0].dpi, "the plot itself is not squeezed"


HOSTILE_RC = """
lines.linewidth: 9
patch.linewidth: 7
axes.grid: True
axes.facecolor: red
axes.formatter.use_locale: True
xtick.direction: in
xtick.labelsize: 20
figure.dpi: 33
savefig.bbox: tight
savefig.transparent: True
svg.image_inline: False
font.family: monospace
font.monospace: Comic Sans MS
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


def test_the_environment_cannot_change_a_byte_of_the_report(tmp_path) -> None:
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
            command, cwd=ROOT, env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT}/scripts"} | environ, check=True
        )
    plain = {path.relative_to(tmp_path / "plain"): path for path in (tmp_path / "plain").rglob("*") if path.is_file()}
    assert len(plain) == 5
    for name, path in plain.items():
        assert (tmp_path / "hostile" / name).read_bytes() == path.read_bytes(), name
