"""The sandbox image as a file in the shared folder of a cluster, by the name of its content.

The first machine that has the image keeps it there, every other loads it: all measure in the same image, and none but
the first must be able to build one. Without the folder nothing is kept.
"""

from __future__ import annotations

from pathlib import Path

import docker.errors

from fluency.common.errors import SandboxError
from fluency.common.files import atomic_file
from fluency.common.paths import CACHE
from fluency.common.terminal import log_line
from fluency.execution.sandbox.engine import Engine, short

FOLDER = CACHE / "images"


def archive_of(tag: str, folder: Path = FOLDER) -> Path:
    """Where the image of this name is kept."""
    return folder / f"{tag.replace(':', '-')}.tar"


def keep_image(engine: Engine, tag: str, folder: Path = FOLDER) -> None:
    """Write the image into the shared folder, if there is one that lacks it, and drop those of other content."""
    path = archive_of(tag, folder)
    if not folder.is_dir() or path.exists():
        return
    log_line(f"keeping the image for the other nodes: {path}")
    with atomic_file(path) as file:
        for piece in engine.patient_client().get_image(tag):
            file.write(piece)
    for other in folder.glob("*.tar"):
        if other != path:
            other.unlink(missing_ok=True)


def load_image(engine: Engine, tag: str, folder: Path = FOLDER) -> bool:
    """Take the image from the shared folder; False if it is not there, SandboxError if the engine does not take it."""
    path = archive_of(tag, folder)
    if not path.exists():
        return False
    log_line(f"loading the image {tag} from {path}")
    try:
        with path.open("rb") as file:
            for told in engine.patient_client().load_image(file):
                if "error" in told:
                    raise docker.errors.APIError(told["error"])
    except (docker.errors.APIError, OSError) as error:
        raise SandboxError(
            f"the engine does not load the image: {short(error)}",
            where=str(path),
            hint="delete the file, then the next run builds the image and keeps it anew",
        ) from None
    return True
