"""Seeded worlds: the tree, the loopback service and the processes a command meets.

`build_world(seed)` is pure and the same to the byte on every machine. Any odd and any even seed make a pair:
quantities that answers depend on are drawn odd in odd worlds and even in even ones.
"""

from __future__ import annotations

from fluency.world.build import build_with_tally, build_world
from fluency.world.builder import Builder
from fluency.world.model import DAY, PORT, HelperSpec, World, WorldError
from fluency.world.rng import Rng
from fluency.world.route import FINDINGS, JOB, Finding, Job, Route, When

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
    "WorldError",
    "build_with_tally",
    "build_world",
]
