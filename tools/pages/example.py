"""What example/ and README show of the example study: report, figures, explorer, decision record, table, pictures."""

from __future__ import annotations

import base64
import re
import tempfile
from pathlib import Path

from fluency.archive.archived_study import read_archived_study, write_opened
from fluency.archive.decision import write_decision
from fluency.archive.unpack import unpacked
from fluency.common.paths import ROOT
from tests.report.browser import Browser, Page, find_chromium

EXAMPLE = ROOT / "example"
CELL = "qwen-1.5b/pwsh/largest-rust-files/3"
"""A right answer under a table header."""
TITLE, DATE = "Two small open models in Bash and PowerShell", "2026-11-22"
WIDTH, HEIGHT, OPENED_HEIGHT = 1200, 1320, 1400


def pages() -> dict[str, str]:
    """Report, figures, explorer and decision record, made from the archive by this code, and README with its table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_opened(folder)
        decision = write_decision(_archive(), TITLE, folder, utc_date=DATE).read_text(
            encoding="utf-8"
        )
        paths = [folder / "report.md", folder / "explorer.html", *(folder / "figures").iterdir()]
        made = {
            f"example/{path.relative_to(folder).as_posix()}": path.read_text(encoding="utf-8")
            for path in paths
        }
    found = re.search(r"^\| model +\|.*?\n\n", made["example/report.md"], re.M | re.S)
    assert found, "the report has no table of results"
    before, rest = (ROOT / "README.md").read_text(encoding="utf-8").split("<!-- example:begin -->")
    after = rest.split("<!-- example:end -->")[1]
    marks = f"<!-- example:begin -->\n{found[0].strip()}\n<!-- example:end -->"
    return made | {"example/decision.md": decision, "README.md": f"{before}{marks}{after}"}


def _archive() -> Path:
    (archive,) = EXAMPLE.glob("*.tar.zst")
    return archive


def _write_opened(folder: Path) -> None:
    with unpacked(_archive()) as files:
        write_opened(read_archived_study(files), folder)


def take_pictures() -> None:
    """`table.png` is the model's table of marks, `cell.png` the opened cell; by a headless Chromium."""
    program = find_chromium()
    assert program, "no Chromium here"
    model = CELL.split("/")[0]
    choose = (
        f"e => {{ e.value = '{model}'; e.dispatchEvent(new Event('change', {{bubbles: true}})) }}"
    )
    with tempfile.TemporaryDirectory() as folder, Browser(program) as browser:
        _write_opened(Path(folder))
        explorer = Path(folder) / "explorer.html"
        page = browser.page(WIDTH, HEIGHT)
        page.open(explorer)
        page.run(f"({choose})(document.querySelector('#model'))")
        take(page, EXAMPLE / "table.png", HEIGHT)
        page.close()
        page = browser.page(WIDTH, OPENED_HEIGHT)
        page.open(explorer, CELL)
        take(page, EXAMPLE / "cell.png", OPENED_HEIGHT)
        page.close()


def take(page: Page, path: Path, height: int) -> None:
    """The top of a page as a PNG."""
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": 1}
    made = page.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
    path.write_bytes(base64.b64decode(made["data"]))
