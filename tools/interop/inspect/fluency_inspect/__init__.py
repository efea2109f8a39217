"""The task bank for Inspect AI: `inspect eval fluency_inspect/shell_fluency`."""

from fluency_inspect.tasks import recorded_commands, shell_fluency
from fluency_inspect.verdict import verdict

__all__ = ["recorded_commands", "shell_fluency", "verdict"]
