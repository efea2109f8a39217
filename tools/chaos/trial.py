"""One trial: a run is disturbed at a random moment, further runs finish it, and everything is compared."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from fluency.common.words import NOTHING_TO_DO
from fluency.generation.store import NOT_STORED
from tools.chaos.engine import OwnEngine
from tools.chaos.faults import FAULTS, FaultContext, small_disk
from tools.chaos.study_run import Size, StudyRun, wait, wait_until_made

MORE_RUNS = 4
IN_FLIGHT = 4
"""Calls under way at once, the default of a model: what a kill may cost."""
Table = Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class Trial:
    """What came of one disturbed run. Seconds are of wall time; `problems` is empty where every promise was kept."""

    number: int
    fault: str
    cells: int
    records_before: int
    exit_code: int | None
    runs_after: int
    run_s: float
    finish_s: float
    requests: int
    repeated: int
    asked_twice: int
    kept: int
    made_again: int
    problems: list[str] = field(default_factory=list)


def undisturbed(size: Size) -> tuple[Table, float]:
    """The table of an undisturbed run, and its seconds."""
    with tempfile.TemporaryDirectory(prefix="chaos-") as name:
        study = StudyRun(Path(name), size)
        began = time.monotonic()
        try:
            code = study.run()
            if code != 0 or len(study.ledger.requests) != size.cells:
                raise RuntimeError(
                    f"the undisturbed run ended with {code}: {study.log.read_text()}"
                )
            return study.table(), time.monotonic() - began
        finally:
            study.close()


def try_fault(
    number: int,
    kind: str,
    size: Size,
    expected: Table,
    chance: Random,
    engine: OwnEngine | None,
    gone_s: float,
) -> Trial:
    """Disturb one run with a fault at a random moment, let further runs finish it, and check the result."""
    fault = FAULTS[kind]
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chaos-")))
        root = stack.enter_context(small_disk(folder / "disk")) if fault.needs_disk else None
        study = StudyRun(folder, size, engine.url if engine and fault.needs_engine else None, root)
        stack.callback(study.close)
        began = time.monotonic()
        process = study.start()
        target = chance.randint(0, 3 * size.cells - 1)
        in_time = wait_until_made(study, process, target)
        time.sleep(chance.uniform(0, 0.3))
        before = study.made()
        disturbed = time.monotonic()
        over = fault.inject(FaultContext(study, process, engine, chance, gone_s))
        code = wait(process)
        over()
        first, logs = study.records(), [study.log.read_text()]
        runs, last = 0, code
        # Also after a run that ended well: a user starts it again, and it must have nothing to do.
        while runs < MORE_RUNS and (runs == 0 or last != 0):
            last, runs = study.run(), runs + 1
            logs.append(study.log.read_text())
        finished = time.monotonic()
        problems = [] if in_time else ["the run ended before the fault"]
        allowed = IN_FLIGHT if fault.may_repeat else sum(text.count(NOT_STORED) for text in logs)
        problems += _problems(study, expected, code, last, allowed)
        lost = len(study.ledger.lost())
        final = study.records()
        kept = sum(final.get(name) == sha256 for name, sha256 in first.items())
        trial = Trial(
            number=number,
            fault=kind,
            cells=size.cells,
            records_before=before,
            exit_code=code,
            runs_after=runs,
            run_s=round(disturbed - began, 1),
            finish_s=round(finished - disturbed, 1),
            requests=len(study.ledger.requests),
            repeated=lost,
            asked_twice=len(study.ledger.repeated_requests) + max(0, lost - allowed),
            kept=kept,
            made_again=len(first) - kept,
            problems=problems,
        )
        if problems:
            _keep(folder, study, logs)
    return trial


def _problems(
    study: StudyRun, expected: Table, code: int | None, last: int | None, allowed: int
) -> list[str]:
    """Every promise that was not kept, in words. `allowed`: answers that the run could not keep."""
    found = []
    if code is None:
        found.append("the disturbed run did not end")
    if last != 0:
        return [*found, f"it was not finished: exit code {last}"]
    if study.table() != expected:
        found.append("its table differs from that of the undisturbed run")
    answers = study.answers()
    if answers.damaged or answers.sound != study.size.cells:
        found.append(f"its store: {answers.sound} sound, damaged {answers.damaged}")
    if study.ledger.repeated_requests:
        found.append(
            f"{len(study.ledger.repeated_requests)} request(s) came for an answer that was stored"
        )
    lost = len(study.ledger.lost())
    if lost > allowed:
        found.append(f"{lost} answer(s) arrived and were asked for again")
    if study.run() != 0 or NOTHING_TO_DO not in study.log.read_text():
        found.append("a further run of the finished study had something to do")
    return found


def _keep(folder: Path, study: StudyRun, logs: Sequence[str]) -> None:
    """Keep what each run printed, and the project, to look into."""
    kept = Path(tempfile.mkdtemp(prefix="chaos-kept-"))
    for number, text in enumerate(logs, 1):
        (kept / f"run-{number}.log").write_text(text)
    shutil.copytree(study.project.root, kept / "project", symlinks=True)
