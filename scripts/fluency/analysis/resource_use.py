"""What the commands of each arm used of their limits: a limit that bites one arm is part of what is compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from fluency.analysis.outcomes import one_model


class Most(NamedTuple):
    """Median and largest over an arm's executed cells."""

    median: float
    largest: float


@dataclass(frozen=True)
class ResourceUse:
    """Cells with a command that ran. Of each cell the worst of its worlds; None where no kernel told."""

    shell: str
    executed: int
    timed_out: int
    limited: int
    truncated: int
    memory_bytes: Most | None
    cpu_s: Most | None
    processes: Most | None
    written_bytes: Most | None


def resource_use(rows: pd.DataFrame, shell: str) -> ResourceUse:
    """Count one arm of one model; `limited` are failures of the class `resource-limit`."""
    if len(rows):
        one_model(rows)
    arm = rows[(rows["shell"] == shell) & rows["t_exec_s"].notna()]
    return ResourceUse(
        shell=shell,
        executed=len(arm),
        timed_out=int(arm["timed_out"].fillna(False).sum()),
        limited=int((arm["failure_class"] == "resource-limit").fillna(False).sum()),
        truncated=int(arm["output_truncated"].fillna(False).sum()),
        memory_bytes=_most(arm["peak_memory_bytes"]),
        cpu_s=_most(arm["cpu_s"]),
        processes=_most(arm["peak_processes"]),
        written_bytes=_most(arm["written_bytes"]),
    )


def _most(column: pd.Series) -> Most | None:
    known = column.dropna()
    return Most(float(known.median()), float(known.max())) if len(known) else None
