"""The faults: each is injected once into a run, and is over when that run has ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tools.chaos.engine import OwnEngine, why_no_engine
from tools.chaos.study_run import StudyRun

DISK_MB = 256


@dataclass(frozen=True)
class FaultContext:
    """What a fault is injected into, and its random numbers."""

    study: StudyRun
    process: subprocess.Popen[bytes]
    engine: OwnEngine | None
    chance: Random
    gone_s: float


After = Callable[[], None]
"""Ends a fault; called when the run has ended."""


@dataclass(frozen=True)
class Fault:
    """One kind. `may_repeat`: the process that waits for requests is killed, so those under way may come again."""

    title: str
    inject: Callable[[FaultContext], After]
    may_repeat: bool = False
    needs_engine: bool = False
    needs_disk: bool = False
    why_not: Callable[[], str | None] = lambda: None


def _nothing() -> None:
    """A signal is over at once."""


def _signal_group(number: signal.Signals) -> Callable[[FaultContext], After]:
    def inject(context: FaultContext) -> After:
        with contextlib.suppress(ProcessLookupError):  # it had ended by itself
            os.killpg(context.process.pid, number)
        return _nothing

    return inject


def _terminate(context: FaultContext) -> After:
    """As `kill` does: the one process that the user started."""
    context.process.terminate()
    return _nothing


def _kill_engine(context: FaultContext) -> After:
    """Kill it and start it again after some seconds, as a service manager does."""
    engine = context.engine
    assert engine is not None
    engine.kill()

    def restart() -> None:
        time.sleep(seconds)
        engine.start()

    seconds = context.chance.uniform(0, 10)
    return ThreadPoolExecutor(1).submit(restart).result


def _fill_disk(context: FaultContext) -> After:
    """Take every byte that is left, until the run has ended."""
    filler = context.study.project.root / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        for size in (1 << 20, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(b"\0" * size)
    return filler.unlink


def _endpoint_gone(context: FaultContext) -> After:
    """Refuse connections for a while, whether the run waits as long or not."""
    service = context.study.service
    service.go_away()
    back = threading.Timer(context.gone_s, service.come_back)
    back.start()
    return back.join


FAULTS: Mapping[str, Fault] = {
    "interrupt": Fault("SIGINT to the whole group, as Ctrl-C", _signal_group(signal.SIGINT)),
    "terminate": Fault("SIGTERM to the process that was started", _terminate),
    "kill": Fault("SIGKILL to the whole group", _signal_group(signal.SIGKILL), may_repeat=True),
    "engine": Fault(
        "the engine killed, up again within 10 s",
        _kill_engine,
        needs_engine=True,
        why_not=why_no_engine,
    ),
    "disk": Fault(
        "the disk full until the run has ended",
        _fill_disk,
        needs_disk=True,
        why_not=lambda: None if os.geteuid() == 0 else "a separate disk needs root",
    ),
    "endpoint": Fault("the endpoint gone for a while", _endpoint_gone),
}


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A separate disk in memory."""
    folder.mkdir()
    options = f"size={DISK_MB}m,mode=755"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "chaos", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)
