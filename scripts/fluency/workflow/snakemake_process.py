"""One run of Snakemake: its command line, its process, and the lock against a second run."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial

from fluency.common.errors import UserError
from fluency.common.locks import file_lock
from fluency.common.paths import CACHE, ROOT
from fluency.core.loaded_study import LoadedStudy

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)
_held = ExitStack()


def node_name() -> str | None:
    """The node of a cluster that this process is a job on; None on a machine of one's own."""
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return socket.gethostname()
    return os.environ.get("SLURMD_NODENAME")


def snakemake_command(loaded: LoadedStudy, *arguments: str) -> list[str]:
    """The command line of Snakemake for a study."""
    files = ["--configfile", *map(str, loaded.files[1:])] if loaded.files[1:] else []
    return [sys.executable, "-m", "snakemake", *files, *arguments]


def stop_signals() -> list[signal.Signals]:
    """SIGTERM, and the SIGHUP of a closed terminal unless `nohup` has it ignored."""
    both = (signal.SIGTERM, signal.SIGHUP)
    return [number for number in both if signal.getsignal(number) is not signal.SIG_IGN]


def run_snakemake(command: Sequence[str], environ: Mapping[str, str] | None = None) -> int:
    """Run a command to its end, also when this process must stop.

    Ctrl-C reaches the command as SIGTERM, since Snakemake ignores it until its first job; a second
    Ctrl-C kills it. If this process is killed, the command gets SIGTERM, so that it does not go on
    paying unseen.

    Returns:
        The exit code, 1 if the command was killed.

    Raises:
        KeyboardInterrupt: after the end, if Ctrl-C was pressed.
    """
    received: list[int] = []
    running: list[subprocess.Popen[bytes]] = []

    def stop(number: int, _frame: object) -> None:
        received.append(number)
        for process in running:
            if received.count(signal.SIGINT) > 1:
                process.kill()
            process.terminate()

    prepare = partial(_prepare_child, os.getpid())
    # Set before it starts: Ctrl-C must at no time end this process alone.
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, *stop_signals())}
    try:
        with subprocess.Popen(command, cwd=ROOT, env=environ, preexec_fn=prepare) as process:
            running.append(process)
            if received:
                process.terminate()
            code = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if signal.SIGINT in received:
        raise KeyboardInterrupt
    return code if code >= 0 else 1


def _prepare_child(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # killed before the line above
        os._exit(1)


def hold_run_lock() -> None:
    """Keep other runs out of this folder; the kernel releases the lock when the process ends."""
    path = CACHE / "run.lock"

    def refuse(holder: str) -> None:
        what = f"another run is active in this folder ({holder or 'unknown process'})"
        how = "`kill <process>`, or `kill -9` if it hangs; what it measured is kept"
        raise UserError(what, where=path, hint=f"wait for it, or end it: {how}") from None

    handle = _held.enter_context(file_lock(path, refuse))
    handle.write(f"process {os.getpid()}")
    handle.flush()
