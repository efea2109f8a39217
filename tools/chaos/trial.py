"""One trial: a run is struck at a random moment, the next ones finish it, and everything is compared."""

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
from tools.chaos.engine import OwnEngine
from tools.chaos.faults import FAULTS, Struck, small_disk
from tools.chaos.subject import Size, Subject, wait, wait_until_made

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
    made_anew: int
    problems: list[str] = field(default_factory=list)


def undisturbed(size: Size) -> tuple[Table, float]:
    """The table of a run that nothing befalls, and its seconds."""
    with tempfile.TemporaryDirectory(prefix="chaos-") as name:
        subject = Subject(Path(name), size)
        began = time.monotonic()
        try:
            code = subject.run()
            if code != 0 or len(subject.ledger.requests) != size.cells:
                raise RuntimeError(f"the undisturbed run ended with {code}: {subject.log.read_text()}")
            return subject.table(), time.monotonic() - began
        finally:
            subject.close()


def try_fault(
    number: int, kind: str, size: Size, expected: Table, chance: Random, engine: OwnEngine | None, gone_s: float
) -> Trial:
    """Strike one run with a fault at a random moment, let it be finished, and judge what came out."""
    fault = FAULTS[kind]
    with contextlib.ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="chaos-")))
        root = held.enter_context(small_disk(folder / "disk")) if fault.needs_disk else None
        subject = Subject(folder, size, engine.url if engine and fault.needs_engine else None, root)
        held.callback(subject.close)
        began = time.monotonic()
        process = subject.start()
        target = chance.randint(0, 3 * size.cells - 1)
        struck_in_time = wait_until_made(subject, process, target)
        time.sleep(chance.uniform(0, 0.3))
        before = subject.made()
        struck = time.monotonic()
        over = fault.strike(Struck(subject, process, engine, chance, gone_s))
        code = wait(process)
        over()
        first, logs = subject.records(), [subject.log.read_text()]
        runs, last = 0, code
        # Also after a run that ended well: whoever was disturbed starts it again, and it must say that nothing is left.
        while runs < MORE_RUNS and (runs == 0 or last != 0):
            last, runs = subject.run(), runs + 1
            logs.append(subject.log.read_text())
        finished = time.monotonic()
        problems = [] if struck_in_time else ["the run ended before the fault"]
        problems += _problems(subject, expected, code, last, fault.may_repeat)
        lost = len(subject.ledger.lost())
        final = subject.records()
        kept = sum(final.get(name) == sha256 for name, sha256 in first.items())
        trial = Trial(
            number=number,
            fault=kind,
            cells=size.cells,
            records_before=before,
            exit_code=code,
            runs_after=runs,
            run_s=round(struck - began, 1),
            finish_s=round(finished - struck, 1),
            requests=len(subject.ledger.requests),
            repeated=lost,
            asked_twice=len(subject.ledger.asked_at_hand) + (max(0, lost - IN_FLIGHT) if fault.may_repeat else lost),
            kept=kept,
            made_anew=len(first) - kept,
            problems=problems,
        )
        if problems:
            _keep(folder, subject, logs)
    return trial


def _problems(subject: Subject, expected: Table, code: int | None, last: int | None, may_repeat: bool) -> list[str]:
    """Every promise that was not kept, in words."""
    found = []
    if code is None:
        found.append("the struck run did not end")
    if last != 0:
        return [*found, f"it was not finished: exit code {last}"]
    if subject.table() != expected:
        found.append("its table is another than that of the undisturbed run")
    answers = subject.answers()
    if answers.damaged or answers.sound != subject.size.cells:
        found.append(f"its store: {answers.sound} sound, damaged {answers.damaged}")
    if subject.ledger.asked_at_hand:
        found.append(f"{len(subject.ledger.asked_at_hand)} request(s) came for an answer that was stored")
    lost = len(subject.ledger.lost())
    if lost > (IN_FLIGHT if may_repeat else 0):
        found.append(f"{lost} answer(s) arrived and were asked for again")
    if subject.run() != 0 or NOTHING_TO_DO not in subject.log.read_text():
        found.append("a finished study was not known as finished")
    return found


def _keep(folder: Path, subject: Subject, logs: Sequence[str]) -> None:
    """Leave what each run printed, and the project, for whoever looks into it."""
    kept = Path(tempfile.mkdtemp(prefix="chaos-kept-"))
    for number, text in enumerate(logs, 1):
        (kept / f"run-{number}.log").write_text(text)
    shutil.copytree(subject.project.root, kept / "project", symlinks=True)
