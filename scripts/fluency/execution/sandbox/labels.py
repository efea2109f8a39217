"""Whose a container is: so that what a killed run left can be removed, and nothing of a run that lives."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

LABEL = "agent-shell-sandbox.owner"
MARK = "agent-shell-sandbox.execution"


@cache
def boot_id() -> str:
    """Changes with every start of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def started(pid: int) -> int | None:
    """When a process started, in ticks since boot; None if there is none or it is a zombie."""
    try:
        rest = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if rest[0] in "ZX" else int(rest[19])


def labels() -> dict[str, str]:
    """The labels of this process's containers."""
    return {MARK: "1", LABEL: f"{boot_id()} {os.getpid()} {started(os.getpid())}"}


def is_gone(label: str) -> bool:
    """Whether the process a label names has ended; a process id that was given out again does not count."""
    boot, pid, began = [*label.split(), "", "", ""][:3]
    return boot != boot_id() or not pid.isdigit() or str(started(int(pid))) != began
