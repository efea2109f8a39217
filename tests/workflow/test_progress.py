"""What a run says: counts in a log, each failure once as its sentence, one line on a terminal."""

import io
import logging
import os
import pty
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
import snakemake.exceptions

from fluency.common.errors import RunEnded, SandboxError
from fluency.common.files import write_atomic
from fluency.core.study import Cell
from fluency.core.table import record_path
from fluency.workflow import progress
from fluency.workflow.progress import (
    CANCELLED,
    ENDING,
    FAILED,
    INCOMPLETE,
    LINE_EVERY_S,
    NOTHING,
    RULE_EXCEPTION,
    ProgressReporter,
)
from tests.programs import completed

SGR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def record(msg=None, level=logging.INFO, **extra):
    made = logging.LogRecord("snakemake", level, "", 0, msg, (), None)
    made.__dict__.update(extra)
    return made


def job(reporter: ProgressReporter, number, rule):
    reporter.handle(record(event="job_info", jobid=number, rule_name=rule))
    reporter.handle(record(event="job_finished", job_id=number))


def planned(reporter: ProgressReporter, **stats):
    reporter.handle(record(event="run_info", stats=stats))


@pytest.fixture
def heard():
    clock, stream = SimpleNamespace(now=0.0), io.StringIO()
    reporter = ProgressReporter(stream, lambda: clock.now)
    return SimpleNamespace(reporter=reporter, clock=clock, text=stream.getvalue)


def study(reporter: ProgressReporter, cells=(), spending=str):
    reporter.handle(record(event="study", cells=cells, spending=spending))


def test_log_gets_counts_and_dollars_now_and_then(heard):
    study(heard.reporter, spending=lambda: "$0.12 of $10")
    planned(heard.reporter, image=1)
    assert heard.text() == "", "the image is not counted"
    planned(heard.reporter, generate=4, execute=4, all=1)
    for number in range(2):
        heard.clock.now += LINE_EVERY_S * 0.6
        job(heard.reporter, number, "generate")
    lines = [line.split() for line in heard.text().splitlines()]
    assert [line[0] for line in lines] == ["answers", "executions"] * 2
    assert "0/4" in lines[0] and "2/4" in lines[2] and lines[2][-3:] == ["$0.12", "of", "$10"]


def test_log_has_time_left_of_each_stage(heard):
    planned(heard.reporter, generate=10, score=10)
    for number in range(5):
        heard.clock.now += 60
        job(heard.reporter, number, "score")
    heard.reporter.close()
    answers, scores = heard.text().splitlines()[-2:]
    assert "0/10 -:--:--" in answers and re.search(r"5/10 0:0[56]:", scores)


def test_a_resumed_run_counts_on_from_what_the_study_has(heard, monkeypatch, tmp_path):
    cells = [Cell("good", "bash", "some-task", number) for number in range(10)]
    monkeypatch.setattr(progress, "RESULTS", tmp_path)
    study(heard.reporter, cells)
    for cell in cells[:6]:
        write_atomic(record_path(tmp_path, "generations", cell), "{}")
    for cell in cells[:7]:  # two of them run again
        write_atomic(record_path(tmp_path, "executions", cell), "{}")
    planned(heard.reporter, generate=4, execute=5, score=10)
    counts = re.findall(r"^(\w+) .*?(\d+/10)", heard.text(), re.M)
    assert counts == [("answers", "6/10"), ("executions", "5/10"), ("scores", "0/10")]


def fail(reporter: ProgressReporter, failure):
    """What the reporter gets of a failed action: the failure, then Snakemake's text of it."""
    reporter.handle(record(str(failure), logging.ERROR, event="failure", failure=failure))
    text = f'RuleException:\n{failure!r} in file "/x/Snakefile", line 14'
    reporter.handle(record(text, logging.ERROR, event="error", exception="RuleException"))


@pytest.mark.parametrize("times, says", [(1, "1 job failed;"), (3, "3 jobs failed;")])
def test_a_users_error_is_its_sentence_once_with_a_count(heard, times, says):
    for number in range(times):
        fail(heard.reporter, SandboxError("bad", where="here", hint="do that"))
        heard.reporter.handle(record(event="job_error", jobid=number, rule_name="execute"))
    heard.reporter.handle(record(f"{INCOMPLETE} successfully.", logging.ERROR, event="error"))
    heard.reporter.close()
    assert INCOMPLETE not in heard.text()
    assert heard.text().count("Hint: do that") == 1
    assert ("(3 times) here: bad" in heard.text()) == (times == 3)
    assert f"{says} what was measured is kept" in heard.text()
    assert "RuleException" not in heard.text() and "Snakefile" not in heard.text()
    like_markup = "[red]x[/red] [/nonsense]"
    heard.reporter.handle(record(like_markup, logging.ERROR, event="error"))
    heard.reporter.handle(record("Nothing to be done (all requested files are present)."))
    assert like_markup in heard.text() and "Nothing to do" in heard.text()


@pytest.mark.parametrize("failure", [SandboxError("no engine"), KeyError("cell")])
def test_failure_names_the_node_that_it_is_on(failure, tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("SLURMD_NODENAME", "n1")
    try:
        raise failure
    except type(failure):
        progress.log_failure(failure, tmp_path / "cell.log")
    assert caplog.messages[0].startswith("node n1: ")
    assert (tmp_path / "cell.log").read_text().startswith("node n1: ")


def test_snakemake_logs_the_texts_that_are_matched():
    source = "".join(path.read_text() for path in Path(snakemake.__file__).parent.rglob("*.py"))
    for text in (CANCELLED, ENDING, FAILED, INCOMPLETE, NOTHING):
        assert text in source
    assert hasattr(snakemake.exceptions, RULE_EXCEPTION)


def test_snakemake_passes_events_and_the_end_to_the_display(tmp_path):
    (tmp_path / "Snakefile").write_text('rule a:\n    output: "a"\n    shell: "false"\n')
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--logger", "fluency"]
    done = completed(*command, code=None, cwd=tmp_path)
    assert "\n1 job failed; what was measured is kept" in done.stderr


def written_to(leader):
    """All that was written to a terminal whose other end is closed, in pieces."""
    with os.fdopen(leader, "rb", buffering=0) as stream, suppress(OSError):
        while piece := stream.read(65536):
            yield piece


def test_terminal_gets_bars_with_dollars_which_end_before_other_text(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w") as stream:
        reporter = ProgressReporter(stream)
        study(reporter, spending=lambda: "$120.12 of $1000")
        planned(reporter, generate=200, execute=200)
        for number in range(50):
            job(reporter, number, "generate")
        for _ in range(2):  # Snakemake says it again after every job
            reporter.handle(record("Will exit after finishing currently running jobs (scheduler)."))
        fail(reporter, RunEnded("the run was ended by a signal"))
        reporter.handle(record(event="job_error", jobid=51, rule_name="generate"))
        reporter.close()
    shown = SGR.sub("", b"".join(written_to(leader)).decode())
    lines = shown.splitlines()
    answers = [line for line in lines if line.startswith("answers")]
    executions = [line for line in lines if line.startswith("exec")]
    bar = r"answers +━{6}[╺━]* +50/200 +[-:\d]+ +\$120\.12 of \$1000\s*$"
    assert re.match(bar, answers[-1]), answers[-1]
    assert len(answers[-1].rstrip()) <= 80 and "0/200" in executions[-1]
    last = shown[shown.rindex("0/200") :].strip().splitlines()[1:]
    assert last == ["Ending: running jobs may finish, and the next run continues."]


STARTING = "import time\nprint('up', flush=True)\ntime.sleep(60)"
PARENT = """
import sys
from fluency.workflow.snakemake_process import run_snakemake
try:
    run_snakemake([sys.executable, '-c', sys.argv[1]])
except KeyboardInterrupt:
    print('interrupted', flush=True)
"""


def test_interrupt_of_a_starting_run_is_all_that_is_said():
    command = [sys.executable, "-c", PARENT, STARTING]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = subprocess.Popen(command, start_new_session=True, **pipes)
    assert process.stdout.readline() == "up\n"
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
    assert process.communicate(timeout=30)[0] == "interrupted\n"
