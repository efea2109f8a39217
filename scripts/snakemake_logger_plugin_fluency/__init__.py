"""Snakemake's output as progress bars and one sentence a failure; dry runs, `--verbose` and `--quiet` keep its own."""

from __future__ import annotations

import sys
from logging import LogRecord

from snakemake_interface_logger_plugins.base import LogHandlerBase

from fluency.workflow.progress import ProgressReporter


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
