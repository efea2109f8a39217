"""What a run says: counts in a log, each failure once as its sentence, one line on a terminal."""

import io
import logging
import os
import pty
import re
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from types import SimpleNamespace

import pytest

from fluency.common.words import plural
from fluency.workflow.progress import LINE_EVERY_S, Narrator
from fluency.workflow.progress_count import ProgressCount

SGR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def record(msg: str | None = None, level: int = logging.INFO, **extra) -> logging.LogRecord:
    made = logging.LogRecord("snakemake", level, "", 0, msg, (), None)
    made.__dict__.update(extra)
    return made


def job(narrator: Narrator, number: int, rule: str, model: str = "good", shell: str = "bash") -> None:
    wildcards = {"model": model, "shell": shell, "task": "some-task", "trial": str(number)}
    narrator.hear(record(event="job_info", jobid=number, rule_name=rule, wildcards=wildcards))
    narrator.hear(record(event="job_finished", job_id=number))


def planned(narrator: Narrator, **stats: int) -> None:
    narrator.hear(record(event="run_info", stats=stats))


@pytest.fixture
def heard():
    clock, stream = Clock(), io.StringIO()
    return SimpleNamespace(narrator=Narrator(stream, clock), clock=clock, text=stream.getvalue)


def test_a_log_gets_counts_now_and_then(heard):
    planned(heard.narrator, generate=4, execute=4, all=1)
    for number in range(2):
        heard.clock.now += LINE_EVERY_S * 0.6
        job(heard.narrator, number, "generate")
    assert heard.text().splitlines() == ["answers 0/4, executions 0/4", "answers 2/4, executions 0/4"]


def count_of(cells: int, seconds_a_cell: float, **planned: int) -> ProgressCount:
    clock = Clock()
    count = ProgressCount(clock, planned=Counter(planned))
    for number in range(cells):
        count.start(number, "score", {"model": "good", "shell": "bash", "task": "t", "trial": str(number)})
        clock.now += seconds_a_cell
        count.finish(number)
    return count


@pytest.mark.parametrize(
    ("cells", "seconds", "says"),
    [(4, 60, ""), (5, 60, "about 5 min left"), (5, 2, "about 10 s left"), (10, 60, "")],
)
def test_an_estimate_waits_for_five_measured_cells_and_ends_with_the_last(cells, seconds, says):
    line = count_of(cells, seconds, **{"generate": 10, "execute": 10, "score": 10}).line()
    assert (says in line) if says else ("left" not in line)


def test_answers_that_came_quickly_promise_nothing_of_the_executions():
    clock = Clock()
    count = ProgressCount(clock, planned=Counter(generate=10, execute=10, score=10))
    for number in range(10):
        count.start(number, "generate", {"model": "good", "shell": "bash", "task": "t", "trial": str(number)})
        count.finish(number)
    assert "left" not in count.line()


def test_the_line_counts_measured_cells_by_model_and_shell_and_dollars(heard, monkeypatch):
    monkeypatch.setattr(Narrator, "spending", staticmethod(lambda: (0.125, 10.0)))
    planned(heard.narrator, score=6)
    for number, (model, shell) in enumerate([("a", "bash"), ("a", "pwsh"), ("a", "bash"), ("b", "pwsh")]):
        job(heard.narrator, number, "score", model, shell)
    heard.narrator.close()
    assert "scores 4/6 · $0.12 of $10 · a: Bash 2, PowerShell 1 · b: PowerShell 1" in heard.text()


def test_a_narrow_line_drops_whole_parts():
    count = count_of(5, 60, score=10)
    full = count.line()
    parts = full.split(" · ")
    assert len(parts) == 3
    for width in range(len(full) + 1):
        assert count.line(width) in ("", *(" · ".join(parts[:n]) for n in range(1, 4)))
        assert len(count.line(width)) <= width


def test_the_end_of_a_log_has_the_full_count_and_the_slowest(heard):
    planned(heard.narrator, execute=2)
    job(heard.narrator, 1, "execute")
    wildcards = {"model": "good", "shell": "pwsh", "task": "some-task", "trial": "2"}
    heard.narrator.hear(record(event="job_info", jobid=2, rule_name="execute", wildcards=wildcards))
    heard.clock.now += 12
    heard.narrator.hear(record(event="job_finished", job_id=2))
    heard.narrator.close()
    assert heard.text().splitlines()[-2:] == [
        "executions 2/2",
        "Slowest: executing good/pwsh/some-task/2, 12.0 s.",
    ]


def failure(kind: str, text: str) -> logging.LogRecord:
    msg = (
        f'RuleException:\n{kind} in file "/x/Snakefile", line 14:\n{text}\n  File "/x/Snakefile", line 14, in __rule_a'
    )
    return record(msg, logging.ERROR, event="error", exception="RuleException")


@pytest.mark.parametrize(("times", "says"), [(1, "1 job failed;"), (3, "3 jobs failed;")])
def test_a_users_error_is_its_sentence_once_with_a_count(heard, times, says):
    for number in range(times):
        heard.narrator.hear(failure("SandboxError", "here: bad\nHint: do that"))
        heard.narrator.hear(record(event="job_error", jobid=number, rule_name="execute"))
    heard.narrator.close()
    assert heard.text().count("Hint: do that") == 1
    assert ("(3 times) here: bad" in heard.text()) == (times == 3)
    assert f"{says} what was measured is kept" in heard.text()
    assert "RuleException" not in heard.text() and "Snakefile" not in heard.text()


def test_a_bug_keeps_its_place_in_the_code(heard):
    heard.narrator.hear(failure("KeyError", "'x'"))
    assert "KeyError in file" in heard.text() and "line 14" in heard.text()


def test_markup_in_a_failure_is_shown_not_obeyed(heard):
    heard.narrator.hear(failure("UserError", "[red]x[/red] [/nonsense]"))
    assert "[red]x[/red] [/nonsense]" in heard.text()


def test_nothing_to_do_is_said(heard):
    heard.narrator.hear(record("Nothing to be done (all requested files are present and up to date)."))
    assert "Nothing to do" in heard.text()


def written_to(leader: int):
    """All that was written to a terminal whose other end is closed; it comes in pieces, when the kernel gets to it."""
    with os.fdopen(leader, "rb", buffering=0) as stream, suppress(OSError):
        while piece := stream.read(65536):
            yield piece


def test_a_terminal_gets_one_line_that_ends_before_anything_else_is_said():
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w") as stream:
        narrator = Narrator(stream)
        planned(narrator, generate=2, execute=2)
        job(narrator, 1, "generate")
        narrator.hear(record("Terminating processes on user request, this might take some time."))
        narrator.close()
    shown = SGR.sub("", b"".join(written_to(leader)).decode())
    assert "answers 1/2, executions 0/2" in shown and "━" in shown
    last = shown[shown.rindex("executions 0/2") :]
    assert re.match(r"executions 0/2\s*\r?\n+Ending: what is under way may finish", last), last


def test_plurals():
    assert [plural(n, "cell") for n in (0, 1, 2)] == ["0 cells", "1 cell", "2 cells"]


CHILD = "import time, signal\ntry:\n    print('up', flush=True); time.sleep(60)\nexcept KeyboardInterrupt:\n    time.sleep(1); print('orderly', flush=True)"
PARENT = (
    "import sys\nfrom fluency.workflow.run import run_to_its_end\n"
    f"try:\n    run_to_its_end([sys.executable, '-c', {CHILD!r}])\n"
    "except KeyboardInterrupt:\n    print('interrupted', flush=True)"
)


def test_a_run_that_is_interrupted_ends_in_order_before_anything_is_said_of_it():
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout.readline() == "up\n"
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
    assert process.communicate(timeout=60)[0] == "orderly\ninterrupted\n"
