"""A rule's action leaves its failure in the rule's one log file."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

from fluency.common.clock import utc_now
from fluency.common.errors import UserError
from fluency.common.files import write_atomic


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
