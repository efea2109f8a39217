"""The task bank for Inspect AI: `inspect eval fluency_inspect/shell_fluency`."""

from fluency_inspect.tasks import shell_fluency
from fluency_inspect.verdict import verdict

__all__ = ["shell_fluency", "verdict"]
