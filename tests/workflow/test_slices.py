"""Slices of a study for the nodes of a cluster, and what of the environment goes there."""

import subprocess
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import pytest

from fluency.common.errors import SandboxError, UserError
from fluency.common.files import pretty_json, read_json, write_atomic
from fluency.common.locks import file_lock
from fluency.common.paths import ROOT
from fluency.core.study import Cell
from fluency.core.table import record_path
from fluency.workflow import cluster
from fluency.workflow.cluster import (
    CELLS_A_PROCESSOR,
    check_cluster,
    node_environment,
    read_slice,
    run_slice,
    slice_processors,
    write_slices,
)

DESIGN = (["m", "n"], ["bash", "pwsh"], [f"t{n}" for n in range(60)], range(1, 6))
CELLS = [Cell(*cell) for cell in product(*DESIGN)]


def test_every_cell_is_in_one_slice_and_all_are_as_long(tmp_path):
    written = write_slices(CELLS, 2, tmp_path / "slices")
    cells = [read_slice(path) for path in written]
    assert Counter(cell for part in cells for cell in part) == Counter(CELLS)
    assert len(written) == round(len(CELLS) / (2 * CELLS_A_PROCESSOR))
    assert max(map(len, cells)) - min(map(len, cells)) <= 1


def test_slices_of_before_are_gone_unless_somebody_works_on_one(tmp_path):
    folder = tmp_path / "slices"
    (old,) = write_slices(CELLS[:3], 8, folder)
    with file_lock(old.with_suffix(".lock"), lambda _: None) as lock:
        lock.write("node n1, process 7")
        lock.flush()
        with pytest.raises(UserError, match=r"a node still works on .* \(node n1, process 7\)"):
            write_slices(CELLS[3:6], 8, folder)
    (new,) = write_slices(CELLS[3:6], 8, folder)
    assert [path.name for path in folder.glob("*.json")] == [new.name]
    assert write_slices([], 8, folder) == []


def test_nothing_but_what_a_node_needs_goes_there():
    here = {"PATH": "/bin", "TASKS_PRIVATE": "/p", "LC_ALL": "C", "DOCKER_HOST": "unix:///d"}
    here |= {"https_proxy": "p", "NO_PROXY": "q", "POWERSHELL_ARCHIVE": "a"}
    names = ("ANTHROPIC_API_KEY", "MY_KEY", "AWS_SECRET_ACCESS_KEY", "TOKEN", "MY_PATH")
    assert node_environment(here | dict.fromkeys(names, "secret")) == here


def test_a_profile_says_how_many_processors_a_slice_has(monkeypatch):
    assert slice_processors("slurm") == 8
    monkeypatch.setitem(cluster.PROBES, "slurm", "true")
    check_cluster("slurm")
    monkeypatch.setitem(cluster.PROBES, "slurm", "false")
    with pytest.raises(UserError, match="ON=slurm: the cluster does not answer"):
        check_cluster("slurm")
    with pytest.raises(UserError, match=r"no such cluster profile(.|\n)*\['kubernetes', 'slurm'\]"):
        slice_processors("lsf")
    with pytest.raises(UserError, match="no such cluster profile"):
        slice_processors("default")
    # No package is installed for a profile that is not there.
    for profile, packages in {"lsf": False, "slurm": True}.items():
        command = ["make", "-nB", "run", f"ON={profile}"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert ("bootstrap.sh cluster" in done.stdout) == packages


@pytest.fixture
def node(tmp_path, monkeypatch):
    """A node n7 with its own results and logs, whose run of a slice does nothing."""
    monkeypatch.setenv("SLURMD_NODENAME", "n7")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setattr(cluster, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(cluster, "ROOT", tmp_path)
    monkeypatch.setattr(cluster, "_slice_command", lambda *_: ["true"])
    write_atomic(tmp_path / "slice.json", pretty_json([cell.path for cell in CELLS[:2]]))
    return tmp_path


def test_a_slice_that_lacks_a_cell_fails_with_its_node_and_the_cells_reason(node):
    write_atomic(record_path(node / "results", "scores", CELLS[0]), "{}")
    write_atomic(node / "logs" / "executions" / f"{CELLS[1].path}.log", "sandbox: no room\n")
    says = r"^node n7: 1 of a slice's 2 cells could not be measured: sandbox: no room"
    with pytest.raises(SandboxError, match=says):
        run_slice(node / "slice.json", node / "slice.done", [], 1)
    assert not (node / "slice.done").exists()


def test_a_second_worker_waits_for_the_first(node, monkeypatch):
    for cell in CELLS[:2]:
        write_atomic(record_path(node / "results", "scores", cell), "{}")
    began = threading.Event()
    monkeypatch.setattr(cluster, "_slice_command", lambda *_: began.set() or ["true"])
    with ThreadPoolExecutor() as pool:
        with file_lock(node / "slice.lock", lambda _: None):
            second = pool.submit(run_slice, node / "slice.json", node / "slice.done", [], 1)
            assert not began.wait(1)
        second.result(60)
    assert read_json(node / "slice.done")["node"] == "n7"
