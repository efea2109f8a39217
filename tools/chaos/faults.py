"""What can befall a run: each fault strikes once, and is over when the run that it struck has ended."""

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
from tools.chaos.subject import Subject

DISK_MB = 256


@dataclass(frozen=True)
class Struck:
    """What a fault is done to, and the one source of its chances."""

    subject: Subject
    process: subprocess.Popen[bytes]
    engine: OwnEngine | None
    chance: Random
    gone_s: float


After = Callable[[], None]
"""What ends a fault, called when the run has ended."""


@dataclass(frozen=True)
class Fault:
    """One kind. `may_repeat`: the process that waits for requests is killed, so those under way may come again."""

    title: str
    strike: Callable[[Struck], After]
    may_repeat: bool = False
    needs_engine: bool = False
    needs_disk: bool = False
    why_not: Callable[[], str | None] = lambda: None


def _nothing() -> None:
    """A signal is over at once."""


def _signal_group(number: signal.Signals) -> Callable[[Struck], After]:
    def strike(struck: Struck) -> After:
        with contextlib.suppress(ProcessLookupError):  # it had ended by itself
            os.killpg(struck.process.pid, number)
        return _nothing

    return strike


def _terminate(struck: Struck) -> After:
    """As `kill` does: the one process that the user started."""
    struck.process.terminate()
    return _nothing


def _kill_engine(struck: Struck) -> After:
    """Kill it and start it again after some seconds, as a service manager does."""
    engine = struck.engine
    assert engine is not None
    engine.kill()

    def restart() -> None:
        time.sleep(seconds)
        engine.start()

    seconds = struck.chance.uniform(0, 10)
    return ThreadPoolExecutor(1).submit(restart).result


def _fill_disk(struck: Struck) -> After:
    """Take every byte that is left, until the run has ended."""
    filler = struck.subject.project.root / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        for size in (1 << 20, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(b"\0" * size)
    return filler.unlink


def _endpoint_gone(struck: Struck) -> After:
    """Refuse connections for a while, whether the run waits as long or not."""
    service = struck.subject.service
    service.go_away()
    back = threading.Timer(struck.gone_s, service.come_back)
    back.start()
    return back.join


FAULTS: Mapping[str, Fault] = {
    "interrupt": Fault("SIGINT to the whole group, as Ctrl-C", _signal_group(signal.SIGINT)),
    "terminate": Fault("SIGTERM to the process that was started", _terminate),
    "kill": Fault("SIGKILL to the whole group", _signal_group(signal.SIGKILL), may_repeat=True),
    "engine": Fault("the engine killed, up again within 10 s", _kill_engine, needs_engine=True, why_not=why_no_engine),
    "disk": Fault(
        "the disk full until the run has ended",
        _fill_disk,
        needs_disk=True,
        why_not=lambda: None if os.geteuid() == 0 else "a disk of its own needs root",
    ),
    "endpoint": Fault("the endpoint gone for a while", _endpoint_gone),
}


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A disk of its own in memory."""
    folder.mkdir()
    options = f"size={DISK_MB}m,mode=755"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "chaos", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)
