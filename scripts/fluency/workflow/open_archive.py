"""`fluency open`: an archive verified, its report and explorer written and shown."""

from __future__ import annotations

import os
import webbrowser
from pathlib import Path

from fluency.archive.archived_study import write_opened
from fluency.common.paths import ROOT
from fluency.workflow.record_keeping import verify

OPENED = ROOT / "archive" / "opened"


def open_archive(archive: Path, into: Path | None = None, *, show: bool = True) -> int:
    """Verify an archive, write its report and explorer, and open them where there is a screen.

    The exit code is the verification's; of an altered archive nothing is written.
    """
    code = verify(archive)
    if code == 1:
        return code
    report, explorer = write_opened(archive, into or OPENED / archive.name.removesuffix(".tar.zst"))
    print(f"Report:   {report}\nExplorer: {explorer}")
    if show and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        for path in (report, explorer):
            webbrowser.open(path.resolve().as_uri())
    return code
