"""The real Snakefile with a sandbox that runs nothing: what is left is the harness's own time."""

from fluency.core.records import ImageInfo, Result, Stream
from fluency.core.shells import SHELLS
from fluency.execution import sandbox


class NoSandbox:
    """Replaces the sandbox in this benchmark only."""

    image = ImageInfo(
        image_id="none",
        content_sha256="0" * 64,
        base="none",
        architecture="none",
        shells=dict.fromkeys(SHELLS, "none"),
        packages_sha256="0" * 64,
    )
    engine = {}

    def run(self, _):
        return Result(exit_code=0, stdout=Stream.of(b""), stderr=Stream.of(b""), wall_s=0.0)

    def why_missing(self, _):
        """It has every shell."""


sandbox.open_sandbox = lambda *_, **__: NoSandbox()


include: "../../Snakefile"


rule cells:
    """Every cell, without what is written about the study."""
    input:
        lambda wildcards: P.loaded.record_paths(),
