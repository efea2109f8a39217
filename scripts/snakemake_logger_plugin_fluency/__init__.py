"""Snakemake's output as progress bars and one sentence a failure.

Dry runs, `--verbose` and `--quiet` keep Snakemake's own.
"""

from __future__ import annotations

import builtins
import sys
from logging import LogRecord, getLogger

from snakemake_interface_logger_plugins.base import LogHandlerBase

from fluency.workflow.progress import ProgressReporter


def shorten(record: LogRecord) -> bool:
    """Leave of a traceback only its last line, where a file that cannot be used is the reason.

    Snakemake reads `--configfile` before it reads the Snakefile.
    """
    kind = getattr(builtins, getattr(record, "exception", ""), None)
    if isinstance(kind, type) and issubclass(kind, OSError):
        last = str(record.msg).strip().splitlines()[-1].partition("] ")[2]
        record.msg = f"Error: {last}\nHint: check that it is there, and may be read and written"
    return True


getLogger("snakemake.logging").addFilter(shorten)


class LogHandler(LogHandlerBase):
    """Passes every record to the reporter, unless Snakemake's own handler prints them."""

    writes_to_file = False
    has_filter = True
    has_formatter = True
    needs_rulegraph = False

    def __post_init__(self) -> None:
        self._reporter = ProgressReporter(sys.stderr)

    @property
    def writes_to_stream(self) -> bool:
        """Snakemake keeps its own handler if this is false."""
        settings = self.common_settings
        return not (settings.dryrun or settings.verbose or settings.quiet)

    def emit(self, record: LogRecord) -> None:
        """Report a record; an error here must never stop the run."""
        try:
            if self.writes_to_stream:
                self._reporter.handle(record)
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """End the bars and print the last counts."""
        self._reporter.close()
        super().close()
