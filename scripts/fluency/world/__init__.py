"""Seeded worlds: the files, the loopback service and the processes of an execution.

`build_world(seed)` is pure and the same to the byte on every machine. Any odd and any even seed
make a pair: quantities that answers depend on are drawn odd in odd worlds and even in even ones.
"""

from fluency.common.git import blob_name
from fluency.world.build import build_world
from fluency.world.builder import Builder
from fluency.world.model import (
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
from fluency.world.repository import Commit, history, read_repository

__all__ = ["FINDINGS", "JOB", "PORT", "Builder", "Commit", "Finding", "HelperSpec", "Job", "Route"]
__all__ += ["When", "World", "WorldError", "blob_name", "build_world", "gzipped", "history"]
__all__ += ["read_repository"]
