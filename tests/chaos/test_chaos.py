"""Runs of a study that a fault disturbs at a random moment: the next run finishes them.

The suite disturbs a small study once by each fault of SAMPLE. `make chaos` disturbs N=50 runs of 200
cells, of two turns each conversation, by all faults in turn (SEED=1): `pytest -m campaign`.
"""

import contextlib
import csv
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter
from random import Random

import pytest

from fluency.core.loaded_study import LoadedStudy
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.study import PILOT
from fluency.core.table import RECORD_TYPES
from fluency.core.tasks import task_sets
from fluency.generation.store import NOT_STORED, AnswerStore, verify
from fluency.workflow.rerun_keys import RerunKeys
from tests.generation.endpoint import Endpoint, Reply, Seen, message
from tests.waiting import wait_for
from tests.workflow.project import Project, model, reference_answer

FAULTS = ("interrupt", "terminate", "kill", "endpoint", "disk", "engine")
POSSIBLE = [fault for fault in FAULTS if fault != "disk" or not os.geteuid()]
SAMPLE = ("disk", "engine")
KILLS = 20
"""Of one study of the campaign."""
ENGINE = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
SMALL, LARGE = (["bash"], 4, 1, 2), (DESIGN_SHELLS, 10, 5, 2)
"""Shells, tasks, trials and turns."""
IN_FLIGHT = 4
"""A model's default number of calls at once, which a SIGKILL may lose."""
LONGEST_S, SLOWEST_ANSWER_S = 1800, 0.3
DIFFER = {
    "t_gen_s", "asked_utc", "t_exec_s", "attempts",
    "peak_memory_bytes", "cpu_s", "peak_processes", "written_bytes",
}  # fmt: skip
"""Columns of the table that differ between any two runs."""


class Service(Endpoint):
    """An endpoint that numbers its answers; `places`: prompt and turn -> files for its answers."""

    def __init__(self):
        super().__init__(reference_answer, new_each_turn=True)
        self.places = {}
        self.run, self.gone, self.asked = 0, False, 0
        self.waiting = Counter()
        self.sent = set()
        self.asked_again = []
        self.lock = threading.Lock()

    def reply_to(self, seen: Seen) -> Reply:
        """A numbered answer, or a cut connection while the endpoint is gone."""
        key = (self.run, seen.prompt, seen.turn)
        with self.lock:
            self.asked += 1
            name, places = f"msg_{self.asked}", self.places[seen.prompt, seen.turn]
            stored = sum(path.exists() for path in places)
            if not self.gone and self.waiting[key] + stored >= len(places):
                self.asked_again.append(seen.prompt)
            self.waiting[key] += 1
        # At any moment some answers are in flight.
        time.sleep(SLOWEST_ANSWER_S * (self.asked % 7) / 7)
        self.waiting[key] -= 1
        if self.gone:
            return Reply(reset="before")
        self.sent.add(name)
        return Reply(body=message(self.text_to(seen), id=name, model=seen.body["model"]))

    def lost(self):
        """Answers that were sent and are not in the store."""
        stored = [path for places in self.places.values() for path in places if path.exists()]
        return self.sent - {json.loads(path.read_text())["answer"]["raw"]["id"] for path in stored}


class StudyRun:
    """One study in its own folder, and the endpoint that it asks."""

    def __init__(self, folder, size):
        shells, tasks, trials, turns = size
        self.folder, self.cells = folder, len(shells) * tasks * trials * turns
        self.service = Service()
        self.project = Project.make(folder / "disk/project")
        self.project.configure(
            study="chaos", trials=trials, turns=turns, tasks=task_sets()[PILOT].tasks[:tasks],
            shells=list(shells), conditions=["as_designed"], models=[model(self.service.url)],
        )  # fmt: skip
        loaded = LoadedStudy(None, [self.project.root / "config/test.yaml"])
        keys, self.store = RerunKeys(loaded), AnswerStore(self.project.root / "answers")
        for cell in loaded.cells:
            request = keys.requests[cell]
            path = self.store.path(request.key)
            self.service.places.setdefault((request.prompt, cell.turn), []).append(path)
        self.socket = folder / "engine"
        self.socket.symlink_to(ENGINE)
        self.environ = self.project.environ(
            XDG_CACHE_HOME=str(folder / "cache"), DOCKER_HOST=f"unix://{self.socket}"
        )

    def start(self):
        """Start `fluency run` in its own process group, as a terminal would."""
        self.service.run += 1
        self.log = self.folder / f"run-{self.service.run}.log"
        # A script's background job ignores SIGINT, and its children inherit that.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self.project.run_command(), cwd=self.project.root, env=self.environ,
                start_new_session=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip

    def made(self):
        """Number of records; a cell has three."""
        return sum(len(self.project.records(stage)) for stage in RECORD_TYPES)

    def wait_for(self, records, run):
        """Wait until the study has this many, or the run has ended."""
        wait_for(lambda: run.poll() is not None or self.made() >= records, LONGEST_S)

    def table(self):
        with (self.project.root / "results/chaos/cells.csv").open(newline="") as file:
            return [
                {k: v for k, v in row.items() if k not in DIFFER} for row in csv.DictReader(file)
            ]


def inject(fault, study: StudyRun, run, seconds):
    """Inject a fault; all are over when this returns, except the full disk."""
    if fault == "terminate":
        run.terminate()
    elif fault == "endpoint":
        study.service.gone = True
        time.sleep(seconds)
        study.service.gone = False
    elif fault == "engine":
        study.socket.unlink()
        time.sleep(seconds)
        study.socket.symlink_to(ENGINE)
    elif fault == "disk":
        with (study.project.root / "filler").open("wb", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                with contextlib.suppress(OSError):
                    while file.write(b"\0" * size):
                        pass
    else:
        os.killpg(run.pid, {"interrupt": signal.SIGINT, "kill": signal.SIGKILL}[fault])


def undisturbed(folder, size):
    """The table, and the number of answers: a shell that the image lacks gets no later turn."""
    study = StudyRun(folder, size)
    with study.service:
        assert study.start().wait(LONGEST_S) == 0
        return study.table(), study.service.asked


def disturb(fault, times, folder, size, chance, expected):
    """Disturb a study at random moments, finish it, check every promise; returns what happened."""
    with contextlib.ExitStack() as stack:
        if fault == "disk":
            (disk := folder / "disk").mkdir()
            mount = ["mount", "-t", "tmpfs", "-o", "size=256m,mode=755", "chaos"]
            subprocess.run([*mount, disk], check=True)
            stack.callback(subprocess.run, ["umount", "-l", disk], check=False)
        study = StudyRun(folder, size)
        service = stack.enter_context(study.service)
        printed, said = "", list[str]()
        for left in range(times, 0, -1):
            most = 2 * (3 * study.cells - 1 - study.made()) // (left + 1)
            target = study.made() + chance.randint(1, max(1, most))
            run = study.start()
            study.wait_for(target, run)
            time.sleep(chance.uniform(0, 0.3))
            before = study.made()
            if run.poll() is not None:  # it was faster than the fault
                break
            inject(fault, study, run, chance.uniform(2, 10))
            said.append(f"{fault} at {before} records: exit code {run.wait(LONGEST_S)}")
            (study.project.root / "filler").unlink(missing_ok=True)
            printed += study.log.read_text()
        assert study.start().wait(LONGEST_S) == 0, study.log.read_text()
        table, answers = expected
        assert study.table() == table
        sound, damaged = verify(study.store)
        assert (sound.total(), damaged) == (answers, {})
        assert service.asked_again == []
        assert len(service.lost()) <= (
            times * IN_FLIGHT if fault == "kill" else printed.count(NOT_STORED)
        )
        assert study.project.to_do() == {}
    return f"{'; '.join(said)}; {service.asked} requests for {answers} answers"


@pytest.fixture(scope="module")
def small_table(sandbox, tmp_path_factory):
    return undisturbed(tmp_path_factory.mktemp("undisturbed"), SMALL)


@pytest.mark.engine
@pytest.mark.parametrize("fault", SAMPLE)
def test_run_disturbed_by_fault_is_finished_by_next(fault, small_table, tmp_path):
    """With the same table, and no stored answer asked again."""
    if fault not in POSSIBLE:
        pytest.skip("a small disk needs root")
    said = disturb(fault, 1, tmp_path, SMALL, Random(f"7 {fault}"), small_table)
    assert fault == "engine" or "exit code 0" not in said


@pytest.mark.engine
@pytest.mark.campaign
@pytest.mark.timeout(0)
def test_campaign_of_disturbed_runs(sandbox, tmp_path, capfd):
    count, seed = int(os.environ.get("N") or 50), os.environ.get("SEED") or "1"
    (tmp_path / "undisturbed").mkdir()
    table = undisturbed(tmp_path / "undisturbed", LARGE)
    for number in range(count):
        (folder := tmp_path / str(number)).mkdir()
        fault = POSSIBLE[number % len(POSSIBLE)]
        times = KILLS if fault == "kill" else 1
        said = disturb(fault, times, folder, LARGE, Random(f"{seed} {number}"), table)
        shutil.rmtree(folder)
        with capfd.disabled():
            print(f"{number + 1} of {count}: {said}", flush=True)
