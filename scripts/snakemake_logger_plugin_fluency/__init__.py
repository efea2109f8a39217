"""Snakemake's output for people: bars with counts and an estimate, and each failure as its sentence.

A dry run, `--verbose` and `--quiet` keep Snakemake's own output.
"""

from __future__ import annotations

import sys
from logging import LogRecord

from snakemake_interface_logger_plugins.base import LogHandlerBase

from fluency.workflow.progress import ProgressReporter


class LogHandler(LogHandlerBase):
    """Hands every record to the reporter, unless Snakemake's own handler prints them."""

    writes_to_file = False
    has_filter = True
    has_formatter = True
    needs_rulegraph = False

    def __post_init__(self) -> None:
        self._reporter = ProgressReporter(sys.stderr)

    @property
    def writes_to_stream(self) -> bool:
        """False where Snakemake is to keep its own handler."""
        settings = self.common_settings
        return not (settings.dryrun or settings.verbose or settings.quiet)

    def emit(self, record: LogRecord) -> None:
        """Report what the record means; an error here must never stop the run."""
        try:
            if self.writes_to_stream:
                self._reporter.handle(record)
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """End the bars and print the last counts."""
        self._reporter.close()
        super().close()
