"""Small parts the pipeline is put together with: a service made once, a log on failure, the time, a voice."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache, wraps
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

from fluency.common.errors import UserError
from fluency.common.files import canonical_json, sha256, sha256_file, write_atomic
from fluency.common.paths import ROOT

Service = TypeVar("Service")


class Once(Generic[Service]):
    """A thing made at its first use, once for all threads."""

    def __init__(self, make: Callable[[], Service]) -> None:
        self._make = make
        self._lock = Lock()
        self._made: Service | None = None

    def __call__(self) -> Service:
        """The thing."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made


def say(text: str) -> None:
    """A line for the person at the terminal; standard output is left to results."""
    print(text, file=sys.stderr, flush=True)


def utc_now() -> str:
    """The time as records hold it: ISO 8601, UTC, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def logged(action: Callable[..., None]) -> Callable[..., None]:
    """An action that leaves its failure in the rule's one log file, and no file when all went well."""

    @wraps(action)
    def run(*arguments: Any, log: Sequence[str]) -> None:
        file = Path(log[0])
        file.unlink(missing_ok=True)
        try:
            action(*arguments)
        except UserError as error:
            write_atomic(file, f"{utc_now()} {error}\n")
            raise
        except Exception:
            write_atomic(file, f"{utc_now()} {traceback.format_exc()}")
            raise

    return run


def read_json(path: str | Path) -> Any:
    """A JSON document of the pipeline's own making."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


CODE = {
    "execute": (
        "scripts/fluency/execution/execute.py",
        "scripts/fluency/execution/command.py",
        "scripts/fluency/execution/sandbox/flags.py",
    ),
    "score": ("scripts/fluency/scoring/**/*.*",),
    "gather": (
        "scripts/fluency/core/gather.py",
        "scripts/fluency/core/table.py",
        "scripts/fluency/core/provenance.py",
    ),
    "report": (
        "report/**/*",
        "scripts/fluency/analysis/*",
        "scripts/fluency/report/*",
        "scripts/fluency/report/explorer/*",
    ),
}
"""The code that decides a stage's answer; what the sandbox image is built from is in the image's param instead."""


def code(stage: str) -> list[str]:
    """The files of a stage's code, relative and sorted; compiled files are none."""
    files = {path for pattern in CODE[stage] for path in ROOT.glob(pattern) if path.is_file()}
    return sorted(str(path.relative_to(ROOT)) for path in files if "__pycache__" not in path.parts)


@cache
def code_sha256(stage: str) -> str:
    """One hash over a stage's code: for the rules of every cell, whose jobs would else hash each file again."""
    return sha256(canonical_json({name: sha256_file(ROOT / name) for name in code(stage)}))
