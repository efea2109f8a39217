"""What the sandbox is asked for: one command, run once, and all that decides what it meets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fluency.core.conditions import AS_DESIGNED, ConditionName
from fluency.core.study import Limits
from fluency.world import World


@dataclass(frozen=True)
class Invocation:
    """One command in one world."""

    shell: str
    command: str
    world: World
    limits: Limits
    timeout_s: float
    """The deadline in seconds of the command's own time, its shell's start included and the container's excluded."""
    needs: Sequence[str] = ()
    """What is started of the world beside its tree: processes, http."""
    condition: ConditionName = AS_DESIGNED.name
    identify: bool = False
    """Whether the image is to prove itself by the hashes of what runs in it."""
