"""The real Snakefile with a sandbox that runs nothing."""

import fluency.execution.sandbox

from tests.workflow.noop import NoSandbox

fluency.execution.sandbox.open_sandbox = NoSandbox


include: "../../Snakefile"


rule cells:
    """Every cell, without what is written about the study."""
    input:
        lambda wildcards: P.loaded.record_paths(),
