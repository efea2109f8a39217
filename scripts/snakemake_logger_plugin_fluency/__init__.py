"""Snakemake's output as progress bars and one sentence a failure.

Dry runs, `--verbose` and `--quiet` keep Snakemake's own. With `--logger-fluency-plan` each job is
a line of JSON on standard output instead.
"""

import builtins
import json
import sys
from dataclasses import dataclass, field
from logging import ERROR, LogRecord, getLogger

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase

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


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    """Settings on Snakemake's command line."""

    plan: bool = field(default=False, metadata={"help": "Print each job as a line of JSON."})


class LogHandler(LogHandlerBase):
    """Passes every record to the reporter, unless Snakemake's own handler prints them."""

    writes_to_file = False
    has_filter = True
    has_formatter = True
    needs_rulegraph = False

    def __post_init__(self) -> None:
        self._reporter = ProgressReporter(sys.stderr)
        self._plan = isinstance(self.settings, LogHandlerSettings) and self.settings.plan

    @property
    def writes_to_stream(self) -> bool:
        """Snakemake keeps its own handler if this is false."""
        settings = self.common_settings
        return self._plan or not (settings.dryrun or settings.verbose or settings.quiet)

    def emit(self, record: LogRecord) -> None:
        """Report a record; an error here must never stop the run."""
        try:
            if self._plan and record.levelno < ERROR:
                if getattr(record, "event", "") == "job_info":
                    keys = ("rule_name", "reason", "wildcards")
                    print(json.dumps([getattr(record, key) for key in keys]))
            elif self.writes_to_stream:
                self._reporter.handle(record)
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """End the bars and print the last counts."""
        self._reporter.close()
        super().close()
