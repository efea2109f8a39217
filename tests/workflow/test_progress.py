"""What a run says: counts in a log, each failure once as its sentence, bars on a terminal."""

import io
import logging
import os
import pty
from contextlib import suppress
from types import SimpleNamespace

import pytest

from fluency.workflow.progress import LINE_EVERY_S, Narrator


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def record(msg: str | None = None, level: int = logging.INFO, **extra) -> logging.LogRecord:
    made = logging.LogRecord("snakemake", level, "", 0, msg, (), None)
    made.__dict__.update(extra)
    return made


def job(narrator: Narrator, number: int, rule: str) -> None:
    narrator.hear(record(event="job_info", jobid=number, rule_name=rule))
    narrator.hear(record(event="job_finished", job_id=number))


@pytest.fixture
def heard():
    clock, stream = Clock(), io.StringIO()
    return SimpleNamespace(narrator=Narrator(stream, clock), clock=clock, text=stream.getvalue)


def test_a_log_gets_counts_and_an_estimate_now_and_then(heard):
    heard.narrator.hear(record(event="run_info", stats={"generate": 4, "execute": 4, "all": 1}))
    for number in range(2):
        heard.clock.now += LINE_EVERY_S * 0.6
        job(heard.narrator, number, "generate")
    lines = heard.text().splitlines()
    assert lines[0] == "generations 0/4, executions 0/4"
    assert lines[1:] == ["generations 2/4, executions 0/4, about 1 min left"]


def test_the_end_of_a_log_has_the_full_count(heard):
    heard.narrator.hear(record(event="run_info", stats={"execute": 1}))
    job(heard.narrator, 1, "execute")
    heard.narrator.close()
    assert heard.text().splitlines()[-1] == "executions 1/1"


def failure(kind: str, text: str) -> logging.LogRecord:
    msg = (
        f'RuleException:\n{kind} in file "/x/Snakefile", line 14:\n{text}\n  File "/x/Snakefile", line 14, in __rule_a'
    )
    return record(msg, logging.ERROR, event="error", exception="RuleException")


def test_a_users_error_is_its_sentence_once_with_a_count(heard):
    for number in range(3):
        heard.narrator.hear(failure("SandboxError", "here: bad\nHint: do that"))
        heard.narrator.hear(record(event="job_error", jobid=number, rule_name="execute"))
    heard.narrator.close()
    assert heard.text().count("Hint: do that") == 1
    assert "(3 times) here: bad" in heard.text()
    assert "3 jobs failed; what was measured is kept" in heard.text()
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


def test_a_terminal_gets_bars():
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w") as stream:
        narrator = Narrator(stream)
        narrator.hear(record(event="run_info", stats={"generate": 2, "execute": 2}))
        job(narrator, 1, "generate")
        narrator.close()
    shown = b"".join(written_to(leader)).decode()
    assert "generations" in shown and "1/2" in shown and "executions" in shown
