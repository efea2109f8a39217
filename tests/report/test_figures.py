"""Figures: words for those who cannot see them, numbers where they belong, texts that fit."""

import re
from functools import cache
from typing import get_args
from xml.etree import ElementTree

import pytest

from fluency.analysis.study_analysis import analyse
from fluency.core.records import FailureClass
from fluency.core.shells import DESIGN_SHELLS
from fluency.report.figures import draw_figures
from fluency.report.marks import FAILURES
from fluency.report.numbers import signed, span
from tests.synthetic_tables import from_counts, make_frame, make_study, make_tasks, random_passes

SVG = "{http://www.w3.org/2000/svg}"


def drawings(passes=None, models=("model-x",), tasks=None):
    study, tasks = make_study(models), tasks or make_tasks()
    analysis = analyse(make_frame(study, tasks, passes or random_passes()), study, tasks)
    return analysis, {(d.kind, d.model): d for d in draw_figures(analysis)}


@cache
def usual():
    return drawings(models=("model-x", "b"))


def nodes(svg, name, kind):
    """The attributes of the elements of a name and class."""
    found = ElementTree.fromstring(svg).iter(f"{SVG}{name}")
    return [node.attrib for node in found if kind in node.get("class", "").split()]


def texts(svg):
    return ["".join(node.itertext()) for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def axis(svg):
    """The lowest tick's value and place, and the pixels of one unit."""
    ticks = {
        float(words.replace("−", "-")): float(node.attrib["x"])
        for node in ElementTree.fromstring(svg).iter(f"{SVG}text")
        if node.get("class") == "middle" and re.fullmatch(r"[+−]?\d+", words := node.text or "")
    }
    low, high = min(ticks), max(ticks)
    return low, ticks[low], (ticks[high] - ticks[low]) / (high - low)


@pytest.mark.parametrize("kind", [("gaps", ""), ("failures", "model-x")])
def test_figure_has_words_and_loads_nothing(kind):
    drawing = usual()[1][kind]
    root = ElementTree.fromstring(drawing.svg)
    assert root.attrib["role"] == "img" and root.attrib["aria-label"] == drawing.alt
    assert root.find(f"{SVG}title").text and root.find(f"{SVG}desc").text == drawing.alt
    assert len(drawing.alt) > 60 and "prefers-color-scheme: dark" in drawing.svg
    assert not re.search(r"<script|href|url\(|@import|20\d\d-", drawing.svg)


def test_gaps_figure_draws_what_it_says():
    analysis, found = usual()
    svg = found["gaps", ""].svg
    assert {
        "no rule",
        "less than 5",
        "← Bash better  ·  gap in points  ·  PowerShell better →",
        "diamond: the gap · line: 95 % interval for tasks like these",
    } <= {*texts(svg)}
    ticks = [words for words in texts(svg) if re.fullmatch(r"[+−]?\d+", words)]
    assert "0" in ticks and all(words[0] in "+−" for words in ticks if words != "0")
    low, at_low, scale = axis(svg)

    def points(x):
        return low + (float(x) - at_low) / scale

    lines, diamonds = nodes(svg, "line", "interval"), nodes(svg, "path", "mark-1")
    for pair, line, mark in zip(analysis.contrasts, lines, diamonds, strict=True):
        gap = pair.gap
        ends = [points(line["x1"]), points(line["x2"])]
        assert ends == pytest.approx([100 * float(end) for end in gap.interval], abs=0.01)
        assert points(mark["d"][1:].split()[0]) == pytest.approx(100 * float(gap.value), abs=0.01)
        assert {f"{signed(gap.value)} ({span(gap.interval)})", pair.model} <= {*texts(svg)}


def test_figure_texts_fit(new_page, tmp_path):
    model = "a-model-with-an-alias-of-forty-characters"
    tasks = make_tasks(20, "a-task-with-a-name-of-nearly-sixty-characters-to-be-sure")
    drawn = "".join(drawing.svg for drawing in drawings(models=(model,), tasks=tasks)[1].values())
    path = tmp_path / "figures.html"
    path.write_text(f"<!doctype html><html data-ready-ms=1>{drawn}</html>")
    page = new_page(width=1280)
    page.open(path)
    fits = page.run(
        "[...document.querySelectorAll('svg text')].map((text) => { "
        "const [a, b] = [text, text.ownerSVGElement].map((e) => e.getBoundingClientRect()); "
        "return a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom; })"
    )
    assert len(fits) > 30 and all(fits)


def test_failures_figure_draws_each_class():
    tasks = make_tasks(7)
    counts = {task.id: (5, 5) for task in tasks} | {"task-01": (0, 2), "task-02": (3, 5)}
    analysis, found = drawings(from_counts(counts), tasks=tasks)
    by_class = {line.failure_class: line.counts for line in analysis.models[0].failures}
    first, second = sorted(by_class, key=lambda name: -sum(by_class[name].values()))
    drawing = found["failures", "model-x"]
    shown = "{} {bash} / {pwsh}".format(FAILURES[first][1], **by_class[first])
    assert drawing.alt.startswith(f"How runs of model-x failed, Bash / PowerShell: {shown}; ")
    rects = [node for k in "01" for node in nodes(drawing.svg, "rect", f"mark-{k}")]
    scale = axis(drawing.svg)[2]  # below the legend a bar is a count of 35 runs
    bars = [float(node["width"]) / scale for node in rects if float(node["y"]) > 50]
    numbers = [by_class[name][shell] for shell in DESIGN_SHELLS for name in (first, second)]
    assert bars == pytest.approx([100 * number / 35 for number in numbers], abs=0.01)
    assert {FAILURES[first][1], FAILURES[second][1], "Bash", "PowerShell"} <= {*texts(drawing.svg)}
    assert ("failures", "model-x") not in drawings(lambda cell: True)[1]
    assert {*FAILURES} == {*get_args(FailureClass), "unclassified"}
