"""Seeded worlds: the files, the loopback service and the processes of an execution.

`build_world(seed)` is pure and the same to the byte on every machine. Any odd and any even seed make a pair:
quantities that answers depend on are drawn odd in odd worlds and even in even ones.
"""

from __future__ import annotations

from fluency.world.build import build_world, build_world_and_answers
from fluency.world.builder import Builder
from fluency.world.model import (
    DAY,
    FINDINGS,
    JOB,
    PORT,
    Finding,
    HelperSpec,
    Job,
    Route,
    When,
    World,
    WorldError,
    gzipped,
)
from fluency.world.rng import Rng

__all__ = [
    "DAY",
    "FINDINGS",
    "JOB",
    "PORT",
    "Builder",
    "Finding",
    "HelperSpec",
    "Job",
    "Rng",
    "Route",
    "When",
    "World",
]
__all__ += ["WorldError", "build_world", "build_world_and_answers", "gzipped"]
