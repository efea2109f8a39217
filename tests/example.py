"""Write what `example/` and README show of the example study: `python -m tests.example`.

The report and its figures as the present code writes them from the archive, the decision record, README's table, and
two pictures of the explorer by a headless Chromium.
"""

from __future__ import annotations

import base64
import re
import tempfile
from pathlib import Path

from fluency.archive.archived_study import write_opened
from fluency.archive.decision import write_decision
from fluency.common.paths import ROOT
from tests.report.explorer.browser import Browser, Page, find_chromium

EXAMPLE = ROOT / "example"
CELL = "qwen-1.5b/pwsh/largest-rust-files/3"
"""A right answer under a table header."""
TITLE, DATE = "Two small open models in Bash and PowerShell", "2026-11-22"
WIDTH, HEIGHT, OPENED_HEIGHT = 1200, 1320, 1400


def main() -> None:
    """Write everything; the archive stays as it is."""
    (archive,) = EXAMPLE.glob("*.tar.zst")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_opened(archive, folder)
        (EXAMPLE / "figures").mkdir(exist_ok=True)
        for old in (EXAMPLE / "figures").iterdir():
            old.unlink()
        for path in (folder / "report.md", *(folder / "figures").iterdir()):
            (EXAMPLE / path.relative_to(folder)).write_bytes(path.read_bytes())
        decision = write_decision(archive, TITLE, folder, utc_date=DATE)
        (EXAMPLE / "decision.md").write_bytes(decision.read_bytes())
        pictures(folder / "explorer.html")
    readme = ROOT / "README.md"
    report = (EXAMPLE / "report.md").read_text(encoding="utf-8")
    found = re.search(r"^\| model +\|.*?\n\n", report, re.M | re.S)
    assert found, "the report has no table of results"
    before, rest = readme.read_text(encoding="utf-8").split("<!-- example:begin -->")
    after = rest.split("<!-- example:end -->")[1]
    marks = f"<!-- example:begin -->\n{found[0].strip()}\n<!-- example:end -->"
    readme.write_text(f"{before}{marks}{after}", encoding="utf-8")


def pictures(explorer: Path) -> None:
    """`table.png` is the model's table of marks, `cell.png` the opened cell."""
    program = find_chromium()
    assert program, "no Chromium here"
    model = CELL.split("/")[0]
    choose = f"e => {{ e.value = '{model}'; e.dispatchEvent(new Event('change', {{bubbles: true}})) }}"
    with Browser(program) as browser:
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


if __name__ == "__main__":
    main()
