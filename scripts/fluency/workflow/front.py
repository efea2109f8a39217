"""The pipeline as the Snakefile opens it: a user's mistake ends the run with its sentence and exit code 2."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fluency.common.errors import UserError
from fluency.common.paths import CACHE
from fluency.workflow.pipeline import Pipeline

LOCK = CACHE / "run.lock"


class FrontedPipeline(Pipeline):
    """A pipeline that refuses to start what cannot end well."""

    def start(self) -> None:
        """Before the first job: one run at a time, keys at hand, the price agreed."""
        try:
            self._lock = hold_run_lock()
            self._lock.__enter__()
            from fluency.workflow.preflight import check_gate

            check_gate(self)
        except UserError as error:
            leave(error)


def open_pipeline(config: dict[str, Any], workflow: Any) -> Pipeline:
    """The pipeline of a Snakefile's merged config; exits with code 2 and the sentence on a user's error."""
    try:
        return FrontedPipeline(config, [Path(file) for file in workflow.overwrite_configfiles])
    except UserError as error:
        leave(error)


def leave(error: UserError) -> Any:
    """End the process as a user's error ends: one sentence, a hint, exit code 2."""
    print(f"Error: {error}", file=sys.stderr, flush=True)
    sys.exit(2)


@contextmanager
def hold_run_lock(path: Path = LOCK) -> Iterator[None]:
    """Keep a second run out of this folder; the kernel lets go when the process ends, however it ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            raise UserError(
                f"another run is at work in this folder ({handle.read().strip() or 'unknown process'})",
                where=str(path),
                hint="wait for it, or end it; what it measured is kept",
            ) from None
        handle.truncate(0)
        handle.write(f"process {os.getpid()}")
        handle.flush()
        yield
