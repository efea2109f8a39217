"""The pipeline as the Snakefile opens it: a user's mistake ends the run with its sentence and exit code 2."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn

from fluency.common.errors import UserError
from fluency.common.terminal import log_line
from fluency.common.words import plural
from fluency.workflow.file_times import bring_to_present
from fluency.workflow.pipeline import Pipeline
from fluency.workflow.preflight import check_before_run
from fluency.workflow.progress import Narrator
from fluency.workflow.run_lock import hold_run_lock
from fluency.workflow.scheduling import asked, look_seldom, share_threads
from fluency.workflow.slices import node_name
from fluency.workflow.snakemake_memory import doubt_products_of_unknown_making


class FrontedPipeline(Pipeline):
    """A pipeline that refuses to start what cannot end well."""

    def __init__(self, config: dict[str, Any], workflow: Any) -> None:
        super().__init__(config, [Path(file) for file in workflow.overwrite_configfiles])
        self._workflow = workflow
        self.asked = asked(self.study)
        share_threads(workflow, self.study)

    def start(self) -> None:
        """Before the first job: one run at a time, keys at hand, the price agreed."""
        self.hold()
        Narrator.spending = self._spending
        try:
            check_before_run(self)
        except UserError as error:
            exit_with(error)

    def hold(self) -> None:
        """What any run does first: settle how it ends and looks for jobs; keep others out while the process lives."""
        self._held = ExitStack()
        end_in_a_thread()
        look_seldom(self._workflow)
        try:
            self._held.enter_context(hold_run_lock())
            if ahead := bring_to_present(self.products()):
                log_line(f"The clock was set back: {plural(ahead, 'result')} from the future got the present time.")
        except UserError as error:
            exit_with(error)

    def _spending(self) -> tuple[float, float] | None:
        """Dollars spent and where the run stops, once a model with a price is asked."""
        generator = self.generator.made
        spent = generator.budget.spent_usd if generator else 0.0
        return (spent, self.study.budget.stop_usd) if spent else None


def end_in_a_thread() -> None:
    """Let SIGTERM end the run in a thread of its own.

    Snakemake's handler takes the scheduler's lock; in the main thread, which may hold it, it would wait for ever.
    """
    handler = signal.getsignal(signal.SIGTERM)
    if callable(handler):
        end = handler
        signal.signal(signal.SIGTERM, lambda *told: threading.Thread(target=end, args=told, daemon=True).start())


def open_pipeline(config: dict[str, Any], workflow: Any) -> FrontedPipeline:
    """The pipeline of a Snakefile's merged config; exits with code 2 and the sentence on a user's error."""
    try:
        pipeline = FrontedPipeline(config, workflow)
    except UserError as error:
        exit_with(error)
    # Not in the process of a job, which was told what to do, nor on a node: others note there what they made meanwhile.
    if workflow.exec_mode.name == "DEFAULT" and node_name() is None:
        doubt_products_of_unknown_making(pipeline)
    return pipeline


def exit_with(error: UserError) -> NoReturn:
    """End the process as a user's error ends: one sentence, a hint, exit code 2."""
    print(f"Error: {error}", file=sys.stderr, flush=True)
    sys.exit(2)
