"""`make image`: build the sandbox image, or build it anew when PowerShell has become available since."""

from __future__ import annotations

from pathlib import Path

from fluency.common.files import read_json
from fluency.common.paths import RESULTS
from fluency.common.terminal import log_line
from fluency.core.records import ImageInfo
from fluency.core.shells import SHELLS
from fluency.execution.sandbox.image import ensure_image
from fluency.execution.sandbox.powershell import NAME, can_download


def main() -> int:
    """Make the image ready and print the version of each shell it holds."""
    info = ensure_image()
    if not info.shells.get(NAME) and can_download() is None:
        log_line("the PowerShell release can be fetched now: building the image anew with it")
        info = ensure_image(rebuild=True)
    forget_other_image(info, RESULTS / "image.json")
    for name, shell in SHELLS.items():
        print(f"{shell.title}: {info.shells.get(name) or 'not in the image'}")
    return 0


def forget_other_image(info: ImageInfo, record: Path) -> None:
    """Remove the record of an image with other shells, so that the next run executes every command in this one."""
    if record.exists() and read_json(record)["image"]["shells"] != info.shells:
        record.unlink()
        log_line(
            "the image holds other shells than before: the next run executes every command again, and asks nothing"
        )
