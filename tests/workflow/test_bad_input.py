"""Whatever goes wrong is a sentence with a hint; nothing is lost, and the next run goes on."""

import json
import os
import pty
import re
import shutil
import subprocess
import threading

import pytest

from fluency.common.words import NOTHING_TO_DO
from tests.generation.endpoint import Endpoint
from tests.workflow.project import TASKS, Project, model, reference_answer

pytestmark = pytest.mark.engine
PRICE = {"input_usd_per_mtok": 5, "output_usd_per_mtok": 25, "dated": "2026-09-30"}
PAID = {"key_required": True, "price": PRICE}


def explained(done, *words):
    """Exit code 2, the words, a hint, and no traceback."""
    assert done.returncode == 2, done.stderr
    assert all(word in done.stderr for word in (*words, "Hint:")), done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def fresh(flawless, tmp_path):
    flawless.requests.clear()
    return Project.make(tmp_path / "project", models=[model(flawless.url)])


RAISES = "def expected(world, processes):\n    return 1 / 0\n"


@pytest.mark.parametrize(
    "config, file, words",
    [
        ({}, "", ["ANTHROPIC_API_KEY", "models: good"]),
        ({"budget": {"confirm_usd": 0}}, "", ["not confirmed", "at most $"]),
        ({}, f"{TASKS[1]}/answer.py", [f"{TASKS[1]}/answer.py", "ZeroDivisionError"]),
    ],
)
def test_run_is_refused_before_asking(fresh, flawless, config, file, words):
    fresh.configure(models=[model(flawless.url, **(PAID if not file else {}))], **config)
    if file:
        (fresh.root / "tasks" / file).write_text(RAISES)
    key = {"ANTHROPIC_API_KEY": "k"} if config else {}
    explained(fresh.fluency("run", code=2, stdin="", **key), *words)
    assert flawless.requests == [] and fresh.records("generations") == []


def test_price_refused_is_not_error(fresh, flawless):
    fresh.configure(models=[model(flawless.url, **PAID)], budget={"confirm_usd": 0})
    leader, follower = pty.openpty()
    os.write(leader, b"no\n")
    start = {"cwd": fresh.root, "env": fresh.environ(ANTHROPIC_API_KEY="k"), "stdin": follower}
    done = subprocess.run(fresh.run_command(), capture_output=True, text=True, **start)
    os.close(leader), os.close(follower)
    assert done.stderr.splitlines()[-1] == "No model was asked, and nothing was paid."
    assert done.returncode == 1 and "Error" not in done.stderr and flawless.requests == []


def test_agreed_price_is_paid_and_key_kept_out_of_files(fresh, flawless):
    fresh.configure(models=[model(flawless.url, **PAID)], budget={"confirm_usd": 0}, confirm="yes")
    fresh.fluency("run", ANTHROPIC_API_KEY="canary-key-4711")
    assert len(flawless.requests) == 4
    for path in fresh.root.rglob("*"):
        if path.is_file():
            assert b"canary-key-4711" not in path.read_bytes(), path


def test_second_run_in_folder_is_refused(sandbox, tmp_path):
    at_work, refused = threading.Event(), threading.Event()
    with Endpoint(reference_answer) as endpoint:
        endpoint.on_request = lambda seen: at_work.set() or refused.wait(120)
        project = Project.make(tmp_path / "project", models=[model(endpoint.url, in_flight=1)])
        start = {"cwd": project.root, "env": project.environ(), "text": True}
        first = subprocess.Popen(project.command(), stderr=subprocess.PIPE, **start)
        assert at_work.wait(120)
        explained(project.fluency("run", code=2), "another run is active", "process")
        refused.set()
        assert first.wait(timeout=300) == 0, first.stderr.read()


def test_answer_function_that_raises_leaves_only_its_cells(project):
    (project.root / "tasks" / TASKS[1] / "answer.py").write_text(RAISES)
    done = project.snakemake(code=1)
    says = [f"{TASKS[1]}/answer.py", "ZeroDivisionError", "Hint:"]
    assert all(words in done.stderr for words in says) and "Traceback" not in done.stderr
    # The failure is in the rule's log, too.
    assert list((project.root / "logs/test/scores").rglob("*.log"))
    scores = [json.loads(path.read_text()) for path in project.records("scores")]
    assert {one["cell"]["task"] for one in scores if not one["not_measured"]} == {TASKS[0]}


def test_unfinished_study_has_report(fresh, flawless):
    flawless.when(lambda seen: "PowerShell" in seen.prompt, "not-found")
    try:
        fresh.snakemake(code=1)
    finally:
        flawless._when.clear()
    done = fresh.fluency("report")
    assert "missing" in done.stderr
    report = fresh.root / "results/test/partial/report.md"
    assert "no generation yet" in report.read_text()
    first_line = report.read_text().splitlines()[2].strip("*")
    assert (
        first_line in done.stdout and f"Report:   {report.with_suffix('.html')}" in done.stdout
    ), done.stdout


def test_report_of_finished_study_is_its_own_of_today(finished, tmp_path):
    project = finished.clone(tmp_path / "project")
    folder = project.root / "results/test"
    page = folder / "report.html"
    was = page.read_text()
    page.write_text("by earlier code")
    assert f"Report:   {page}" in project.fluency("report").stdout
    assert page.read_text() == was and not (folder / "partial").exists()
    assert NOTHING_TO_DO in project.snakemake().stderr


LOCKED = """
import os, signal
onstart:
    P.start()
    with workflow.scheduler._lock:
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(100): pass
"""


def test_stop_signal_while_scheduler_is_locked_ends_run(fresh):
    """Snakemake's own handler would take a lock that its thread may hold."""
    with (fresh.root / "Snakefile").open("a") as file:
        file.write(LOCKED)
    assert fresh.snakemake(code=None).returncode == 1


def test_stored_answers_need_no_model_and_no_key(finished, flawless, tmp_path):
    """A clone without results, whose endpoint is gone, runs to its report."""
    project = Project.make(tmp_path / "project", models=[model("http://127.0.0.1:9", **PAID)])
    shutil.copytree(finished.root / "answers", project.root / "answers")
    plan = project.fluency("plan")
    assert "0 calls to make" in plan.stdout and "ANTHROPIC_API_KEY" not in plan.stdout, plan.stdout
    assert "no model and no key is needed" in plan.stdout
    done = project.fluency("run")
    assert "Report:" in done.stdout and "runs measured" in done.stdout, done.stderr


def test_missing_shell_is_named_before_asking(project, flawless):
    record = project.root / "results/images/pwsh.json"
    record.write_text(re.sub(r'("pwsh": )"[^"]+"', r"\1null", record.read_text()))
    project.configure(trials=3)
    done = project.fluency("run")
    before = re.split(r"answers .*\d+/", done.stderr)[0]
    assert (
        before.count("Missing: PowerShell") == 1
        and "beside the Makefile" in before
        and "answers are kept" in before
    )
