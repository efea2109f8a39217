from contextlib import closing

import pytest

from fluency.analysis.study_analysis import analyse
from fluency.report.explorer import page_header, write_explorer
from tests.report.browser import Browser, Page, find_chromium
from tests.report.explorer_factory import Made


@pytest.fixture(scope="session")
def browser():
    program = find_chromium()
    if program is None:
        pytest.skip("Chromium is missing and this user may not install it")
    with closing(Browser(program)) as started:
        yield started


@pytest.fixture
def new_page(browser: Browser):
    """Opens pages and closes them after the test; a page that ran into trouble fails it."""
    opened: list[Page] = []

    def make(**options) -> Page:
        opened.append(browser.page(**options))
        return opened[-1]

    yield make
    troubles = [trouble for page in opened for trouble in page.troubles()]
    for page in opened:
        page.close()
    assert not troubles


@pytest.fixture
def write(tmp_path):
    """Writes the explorer of a made-up study; its rates are worked out only where a test looks at them."""

    def to_file(made: Made, rates=False):
        path = tmp_path / "results" / made.study.study / "explorer.html"
        header = {"heading": "", "verdict": "", "rates": [[]], "failures": {}}
        if rates:
            header = page_header(analyse(made.frame, made.study, made.tasks))
        write_explorer(path, made.frame, made.view, header)
        return path

    return to_file


@pytest.fixture
def opened(write, new_page):
    """Opens the explorer of a made-up study in a page, at an address."""

    def make(made: Made, fragment="", *, rates=False, **how) -> Page:
        page = new_page(**how)
        page.open(write(made, rates), fragment)
        return page

    return make
