"""Threads and memory are read from the machine, and from the limits set for this process."""

import os

import pytest

from fluency.common.errors import UserError
from fluency.generation.local_model.server import available_memory, check_memory, choose_threads, processors


@pytest.mark.parametrize(("available", "threads"), [(1, 1), (2, 1), (3, 1), (4, 2), (8, 4), (64, 4)])
def test_half_the_processors_are_left_to_the_containers(available, threads):
    assert choose_threads(available) == threads


def test_a_quota_counts_as_fewer_processors(tmp_path):
    (tmp_path / "cpu.max").write_text("100000 100000\n")
    assert processors(tmp_path) == 1
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert processors(tmp_path) == len(os.sched_getaffinity(0))


def test_available_memory_is_the_least_of_machine_and_limit(tmp_path):
    machine = available_memory(tmp_path)
    assert 2_000_000 < machine < 2**50
    (tmp_path / "memory.max").write_text("3000000\n")
    (tmp_path / "memory.current").write_text("1000000\n")
    assert available_memory(tmp_path) == 2_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert available_memory(tmp_path) > 2_000_000


def test_memory_short_by_a_byte_is_refused():
    needed = int(491_400_064 * 1.3) + 400_000_000
    check_memory(491_400_064, "m", needed)
    with pytest.raises(UserError, match="not enough memory"):
        check_memory(491_400_064, "m", needed - 1)
