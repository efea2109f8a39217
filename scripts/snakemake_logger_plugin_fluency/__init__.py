"""Snakemake's output for people: bars with counts and an estimate, and each failure as its sentence.

A dry run, `--verbose` and `--quiet` keep Snakemake's own format.
"""

from __future__ import annotations

import sys
from logging import LogRecord

from snakemake.logging import DefaultFilter, DefaultFormatter
from snakemake_interface_logger_plugins.base import LogHandlerBase

from fluency.workflow.progress import Narrator


class LogHandler(LogHandlerBase):
    """Hands every record to the narrator, or prints it as Snakemake would."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = True
    has_formatter = True
    needs_rulegraph = False

    def __post_init__(self) -> None:
        """Choose between the two ways of speaking once, from the command line's settings."""
        settings = self.common_settings
        self._native = settings.dryrun or settings.verbose or bool(settings.quiet)
        self._narrator = Narrator(sys.stderr)
        self.setFormatter(DefaultFormatter(settings.quiet, settings.show_failed_logs))
        if self._native:
            self.addFilter(
                DefaultFilter(
                    settings.quiet, settings.debug_dag, settings.verbose, settings.dryrun, settings.printshellcmds
                )
            )

    def emit(self, record: LogRecord) -> None:
        """Say what the record means; an error here must never stop the run."""
        try:
            if self._native:
                text = self.format(record)
                if text:
                    print(text, file=sys.stderr)
            else:
                self._narrator.hear(record)
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """Take the bars away and give the last counts."""
        self._narrator.close()
        super().close()
