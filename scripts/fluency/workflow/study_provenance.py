"""The provenance of a study that is made ready, with its deviations from the registration it names."""

from __future__ import annotations

from fluency.archive.registration import followed
from fluency.common.paths import RESULTS
from fluency.core.provenance import Provenance, collect_provenance, read_startup_times
from fluency.workflow.ready_study import ReadyStudy


def provenance_of(ready: ReadyStudy) -> Provenance:
    """Where the study's numbers come from, as far as results/ goes."""
    collected = collect_provenance(
        ready.study,
        ready.tasks,
        ready.cells,
        ready.files,
        ready.load,
        start_up_s=read_startup_times(RESULTS),
    )
    return followed(collected, ready.study, ready.tasks)
