"""What this machine can spare for a model: threads and memory."""

from __future__ import annotations

import os
from pathlib import Path

from fluency.common.errors import UserError

CONTEXT_BYTES = 400_000_000
_CGROUP = Path("/sys/fs/cgroup")


def processors(cgroup: Path = _CGROUP) -> int:
    """Processors this process may use: those it may run on, or fewer if a quota is set."""
    allowed = len(os.sched_getaffinity(0))
    try:
        quota, period = (cgroup / "cpu.max").read_text().split()
        return max(1, min(allowed, int(int(quota) / int(period))))
    except (OSError, ValueError):
        return allowed


def choose_threads(available: int | None = None) -> int:
    """Half the processors, at least one and at most four, so that the containers keep the others.

    llama.cpp's threads wait for one another at every layer: as soon as one has to share its processor,
    all of them wait for it. One thread on two processors kept 12 tokens/s beside two busy processes where
    two threads fell from 18 to 1.
    """
    return max(1, min(4, (processors() if available is None else available) // 2))


def available_memory(meminfo: Path = Path("/proc/meminfo"), cgroup: Path = _CGROUP) -> int | None:
    """Bytes that can be taken without swapping, or None where the kernel does not tell."""
    known = []
    try:
        fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
        known.append(int(fields["MemAvailable"].split()[0]) * 1024)
    except (OSError, KeyError, ValueError):
        pass
    try:
        limit, used = (int((cgroup / name).read_text()) for name in ("memory.max", "memory.current"))
        known.append(max(0, limit - used))
    except (OSError, ValueError):
        pass
    return min(known, default=None)


def check_memory(weights_bytes: int, model_id: str, available: int | None = None) -> None:
    """UserError if a model with weights of this size would not fit.

    It takes 1.3 times the file, and the context with its work space; both as measured.
    """
    available = available_memory() if available is None else available
    needed = int(weights_bytes * 1.3) + CONTEXT_BYTES
    if available is not None and available < needed:
        raise UserError(
            f"there is not enough memory for the embedded model: it needs {needed / 1e6:.0f} MB, "
            f"{available / 1e6:.0f} MB are available",
            where=f"models: {model_id}",
            hint="close other programs, take a smaller model, or set served_by: endpoint and a base_url",
        )
