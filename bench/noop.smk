"""The real Snakefile with a sandbox that runs nothing, so that only the harness's own time is left."""

import fluency.sandbox

from bench.noop import NoSandbox

fluency.sandbox.open_sandbox = NoSandbox


include: "../Snakefile"
