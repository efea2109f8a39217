"""A sandbox that runs nothing, so that the rest of a job's time is the harness's own."""

from __future__ import annotations

from fluency.core.records import ImageInfo, Result, Stream
from fluency.core.shells import SHELLS
from fluency.execution.protocol import Invocation


class NoSandbox:
    """Takes the place of the sandbox in the overhead benchmark only."""

    image = ImageInfo(
        image_id="none",
        content_sha256="0" * 64,
        base="none",
        architecture="none",
        shells=dict.fromkeys(SHELLS, "none"),
        packages_sha256="0" * 64,
    )

    def __init__(self, *_: object, **__: object) -> None:
        self.engine: dict[str, object] = {}

    def run(self, _: Invocation) -> Result:
        """An empty success in no time."""
        return Result(exit_code=0, stdout=Stream.of(b""), stderr=Stream.of(b""), wall_s=0.0)

    def why_missing(self, _: str) -> None:
        """It has every shell."""
