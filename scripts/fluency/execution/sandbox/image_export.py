"""The sandbox image as a file, for an archive that is to be executed again years later."""

from __future__ import annotations

from pathlib import Path

import docker.errors

from fluency.common.errors import SandboxError
from fluency.execution.sandbox.start_engine import ensure_engine


def save_image(image_id: str, path: Path) -> None:
    """Write an image as `docker save` would; SandboxError if the engine no longer holds it."""
    client = ensure_engine().patient_client()
    try:
        with Path(path).open("wb") as stream:
            for piece in client.get_image(image_id):
                stream.write(piece)
    except docker.errors.ImageNotFound:
        raise SandboxError(
            "the engine no longer holds the image the study was measured in",
            where=image_id,
            hint="archive without IMAGE=1; the Dockerfile and the package list are in the archive either way",
        ) from None
