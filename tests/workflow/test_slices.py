"""Slices of a study for the nodes of a cluster, and what of the environment goes there."""

from collections import Counter
from itertools import product

import pytest

from fluency.common.errors import UserError
from fluency.common.locks import file_lock
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.study import Cell
from fluency.workflow import cluster
from fluency.workflow.cluster import (
    CELLS_A_PROCESSOR,
    node_environment,
    slice_processors,
    write_slices,
)
from tests.programs import completed

DESIGN = (["m", "n"], DESIGN_SHELLS, [f"t{n}" for n in range(60)], range(1, 6))
CELLS = [Cell(*cell) for cell in product(*DESIGN)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "FOLDER", tmp_path / "slices")
    return cluster.FOLDER


def test_slices_share_every_cell_evenly(folder):
    assert write_slices(CELLS, 2) == round(len(CELLS) / (2 * CELLS_A_PROCESSOR))
    scores = [path.read_text().splitlines() for path in folder.glob("*.txt")]
    expected = Counter(f"results/scores/{cell.path}.json" for cell in CELLS)
    assert Counter(score for part in scores for score in part) == expected
    assert max(map(len, scores)) - min(map(len, scores)) <= 1


def test_slices_of_earlier_run_are_removed_unless_in_work(folder):
    assert write_slices(CELLS[:3], 8) == 1
    with (
        file_lock(folder / "0.txt.lock", lambda _: None),
        pytest.raises(UserError, match="a node still works on a slice"),
    ):
        write_slices(CELLS[3:6], 8)
    assert write_slices([], 8) == 0 and not list(folder.glob("*.txt"))


def test_node_gets_needed_variables_only():
    here = {"PATH": "/bin", "TASKS_PRIVATE": "/p", "LC_ALL": "C", "DOCKER_HOST": "unix:///d"}
    here |= {"https_proxy": "p", "NO_PROXY": "q", "POWERSHELL_ARCHIVE": "a"}
    names = ("ANTHROPIC_API_KEY", "MY_KEY", "AWS_SECRET_ACCESS_KEY", "TOKEN", "MY_PATH")
    assert node_environment(here | dict.fromkeys(names, "secret")) == here


def test_profile_of_cluster_is_needed():
    assert slice_processors("slurm") == 8
    with pytest.raises(UserError, match=r"profiles/lsf/profile.yaml: .*cannot be read"):
        slice_processors("lsf")
    # No package is installed for a profile that is not there.
    for profile, packages in {"lsf": False, "slurm": True}.items():
        done = completed("make", "-nB", "run", f"ON={profile}", code=None)
        assert ("bootstrap.sh cluster" in done.stdout) == packages
