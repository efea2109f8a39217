"""example/ and the table of README, made from the archive of the example study."""

from __future__ import annotations

import base64
import re
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from fluency.archive.archived_study import write_opened
from fluency.archive.decision import write_decision
from fluency.archive.unpack import unpacked
from fluency.archive.verify import verified_view
from fluency.common.paths import ROOT
from tests.report.browser import Browser, find_chromium
from tools.pages import filled

EXAMPLE = ROOT / "example"
TITLE = "Two small open models in Bash and PowerShell"
DATE = "2026-11-28"
CELL = "qwen-1.5b/pwsh/gateway-pid/1"
"""The right process id under the header of a table."""
WIDTH, HEIGHT = 1200, 1320


def pages() -> dict[str, str]:
    """Every text file of example/ but its own README, and README with the table of results."""
    with _opened() as folder:
        record = write_decision(archive(), TITLE, folder, utc_date=DATE)
        decision = record.read_text(encoding="utf-8").replace(str(record), "example/decision.md")
        paths = [*folder.glob("report.*"), folder / "explorer.html", *folder.glob("figures/*")]
        names = {f"example/{path.relative_to(folder).as_posix()}": path for path in paths}
        made = {name: path.read_text(encoding="utf-8") for name, path in names.items()}
    found = re.search(r"^\| model +\|.*?\n\n", made["example/report.md"], re.M | re.S)
    assert found, "the report has no table of results"
    readme = filled((ROOT / "README.md").read_text(encoding="utf-8"), "example", found[0].strip())
    return made | {"example/decision.md": decision, "README.md": readme}


def archive() -> Path:
    """The only archive of example/."""
    (path,) = EXAMPLE.glob("*.tar.zst")
    return path


def take_pictures() -> None:
    """Take `table.png`, a model's table of marks, and `cell.png`, an open cell, by Chromium."""
    program = find_chromium()
    assert program, "Chromium is not installed"
    with _opened() as folder, closing(Browser(program)) as browser:
        explorer = folder / "explorer.html"
        for name, cell in (("table.png", ""), ("cell.png", CELL)):
            page = browser.page(WIDTH, HEIGHT)
            page.open(explorer, cell)
            clip = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": 1}
            made = page.call(
                "Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True
            )
            (EXAMPLE / name).write_bytes(base64.b64decode(made["data"]))
            page.close()


@contextmanager
def _opened() -> Iterator[Path]:
    """A folder with the report and the explorer as the present code makes them from the archive."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with unpacked(archive()) as files:
            write_opened(verified_view(files)[0], folder)
        yield folder
