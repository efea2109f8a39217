"""The report as one HTML file: complete without its folder, and inert with any text of a model."""

import os
import re
import sys

import pytest

from fluency.common.paths import ROOT
from fluency.report.markdown import text
from fluency.report.page import html_page
from tests.programs import completed
from tests.report.test_explorer_use import CONTRAST

FIGURES = {
    f"figures/{path.name}": path.read_text() for path in (ROOT / "example/figures").iterdir()
}
MARKDOWN = (ROOT / "example/report.md").read_text()
GROUND = "getComputedStyle(document.documentElement).backgroundColor"
PAPER = 718
"""The width of A4 within a browser's margins."""
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![](http://127.0.0.1:9/a.png)",
    "[a](javascript:alert(1))",
]


@pytest.mark.parametrize("width, dark", [(1280, False), (1280, True), (390, False), (390, True)])
def test_page_of_the_example_loads_alone_and_fits(new_page, tmp_path, width, dark):
    path = tmp_path / "report.html"
    path.write_text(html_page(MARKDOWN, FIGURES))
    page = new_page(width=width, dark=dark)
    page.call("Page.navigate", url=path.as_uri())
    page.wait("document.readyState === 'complete' && document.images.length > 0")
    assert page.run("[...document.images].every(image => image.naturalWidth > 0)")
    assert page.run("document.images.length") == MARKDOWN.count("](figures/")
    assert page.run("document.documentElement.scrollWidth") == width
    assert page.run(GROUND) == ("rgb(13, 17, 23)" if dark else "rgb(255, 255, 255)")
    assert page.run("getComputedStyle(document.querySelector('.right')).textAlign") == "right"
    assert page.run(CONTRAST)["ratio"] >= 4.5
    gap = "document.querySelectorAll('tbody td')[3]"
    assert "(" in page.run(f"{gap}.textContent")
    assert page.run(f"{gap}.getBoundingClientRect().right") < width


def test_page_of_the_example_fits_on_paper(new_page, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(html_page(MARKDOWN, FIGURES))
    page = new_page(width=PAPER, dark=True)
    page.call("Page.navigate", url=path.as_uri())
    page.call("Emulation.setEmulatedMedia", media="print")
    page.wait("document.readyState === 'complete'")
    assert page.run("document.documentElement.scrollWidth") == PAPER
    assert page.run(GROUND) == "rgb(255, 255, 255)"


def test_contrast_of_the_documentation(new_page, tmp_path):
    """Its theme draws the tabs with opacity."""
    build = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(tmp_path)]
    completed(*build, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"})
    page = new_page(width=1280)
    page.call("Page.navigate", url=(tmp_path / "index.html").as_uri())
    page.wait("document.querySelector('.md-tabs__link') !== null")
    lowest = page.run(CONTRAST)
    assert lowest["ratio"] >= 4.5, lowest


def test_links_into_the_page_lead_somewhere():
    page = html_page(MARKDOWN, FIGURES)
    places = re.findall(r'href="#([^"]*)"', page)
    assert len(places) > 5 and set(places) <= set(re.findall(r'id="([^"]*)"', page))


@pytest.mark.parametrize("foreign", HOSTILE)
def test_foreign_text_is_inert(new_page, tmp_path, foreign):
    path = tmp_path / "report.html"
    path.write_text(
        html_page(f"# One\n\n{foreign}\n\n| a |\n|--:|\n| {foreign} |\n\n{text(foreign)}\n", {})
    )
    page = new_page()  # its troubles are requests, scripts and what the policy had to stop
    page.call("Page.navigate", url=path.as_uri())
    page.wait("document.readyState === 'complete'")
    assert page.run("document.querySelectorAll('script, img, a, [style]').length") == 0


def test_same_text_gives_the_same_bytes():
    assert html_page(MARKDOWN, FIGURES) == html_page(MARKDOWN, FIGURES)
