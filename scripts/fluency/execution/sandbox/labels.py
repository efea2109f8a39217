"""Whose a container is: so that what a killed run left can be removed, and nothing of a run that may live."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

LABEL = "agent-shell-sandbox.owner"
MARK = "agent-shell-sandbox.execution"
LONGEST_S = 3600.0
"""No execution is under way as long: a deadline is 600 s at most."""


@cache
def boot_id() -> str:
    """Changes with every start of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def pid_namespace() -> str:
    """The inode of the name space whose process ids /proc shows; empty where that is not this process's own."""
    try:
        ours = Path("/proc/self").readlink() == Path(str(os.getpid()))
        return str(Path("/proc/self/ns/pid").stat().st_ino) if ours else ""
    except OSError:
        return ""


def started(pid: int) -> int | None:
    """When a process started, in ticks since boot; None if there is none or it is a zombie."""
    try:
        rest = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if rest[0] in "ZX" else int(rest[19])


def owner(pid: int) -> str:
    """What names a process of this name space for all who share the engine, wherever they run."""
    return f"{boot_id()} {pid} {started(pid)} {pid_namespace() or '-'}"


def labels() -> dict[str, str]:
    """The labels of this process's containers."""
    return {MARK: "1", LABEL: owner(os.getpid())}


def can_be_looked_up(label: str) -> bool:
    """Whether the process a label names is of this start of the machine and this name space, so that /proc shows it.

    Whether any other still lives cannot be seen: a devcontainer's, a CI job's or another machine's on the same engine.
    """
    return bool(pid_namespace()) and label.split()[::3] == [boot_id(), pid_namespace()]


def is_gone(label: str, age_s: float) -> bool:
    """Whether nobody waits for a container any more, which is `age_s` old.

    Its owner has ended (a process id that was given out again does not count), or, where that cannot be seen, it is
    older than any execution.
    """
    if not can_be_looked_up(label):
        return age_s > LONGEST_S
    _, pid, began, *_ = label.split()
    return not pid.isdigit() or str(started(int(pid))) != began
