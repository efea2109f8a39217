"""Disks that take a part of an answer, or none: nothing torn gets a name, and what was paid for is printed whole."""

import errno
import json
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from fluency.common.errors import StopRun
from fluency.generation import store as store_module
from fluency.generation.audit import verify
from fluency.generation.store import ROOM_BYTES, AnswerStore
from tests.generation.studies import ask, cells_of, generator_of, study_of

LONG = "x" * 20_000


@contextmanager
def file_limit(size: int) -> Iterator[None]:
    """How many bytes a file of this process may have; undone before pytest itself writes a file again."""
    before, compiled = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # Python itself would leave torn ones
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = compiled


def refuse(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def refuse_folders(flush):
    return lambda path: refuse() if path.is_dir() else flush(path)


STEPS = {
    "writing": lambda patch: patch.setattr(Path, "write_bytes", refuse),
    "naming": lambda patch: patch.setattr(os, "link", refuse),
    "flushing the file": lambda patch: patch.setattr(store_module, "flush", refuse),
    "flushing the folder": lambda patch: patch.setattr(store_module, "flush", refuse_folders(store_module.flush)),
}


@pytest.mark.parametrize("step", STEPS)
def test_an_answer_that_the_disk_refuses_is_printed_whole_and_ends_the_run(step, endpoint, store, monkeypatch, capsys):
    study = study_of()
    cells = cells_of(study)
    generator = generator_of(study, store, endpoint)
    ask(generator, cells[0])
    endpoint.answer = lambda prompt: f"echo '{LONG}\x9b\u202e'"
    with monkeypatch.context() as patch:
        STEPS[step](patch)
        with pytest.raises(
            StopRun, match="could not be written: No space left on device; it is printed above"
        ) as caught:
            ask(generator, cells[1])
    path, printed = Path(caught.value.where), capsys.readouterr().err.partition("stored: ")[2]
    assert path.parent.parent == store.folder and "paid, again" in caught.value.hint
    assert printed.isascii() and json.loads(printed)["answer"]["text"] == endpoint.answer("")
    assert generator.budget.spent_usd > 0.1, "its cost stays counted"
    with pytest.raises(StopRun, match="could not be written"):
        ask(generator, cells[2])
    assert len(endpoint.requests) == 2
    assert verify(store).sound == 1 and not path.exists() and not list(store.folder.rglob("*.part"))
    path.write_text(printed)  # as whoever reads it may
    assert ask(generator_of(study, store, endpoint), cells[1]).answer.text == endpoint.answer("")
    assert len(endpoint.requests) == 2


def test_an_empty_file_that_a_power_cut_left_is_no_answer(endpoint, store):
    study = study_of()
    cell = cells_of(study)[0]
    key = ask(generator_of(study, store, endpoint), cell).answer.request_key
    os.truncate(store.path(key), 0)
    assert store.get(key) is None and not store.has(key) and verify(store).damaged == {}
    assert ask(generator_of(study, store, endpoint), cell).answer.text == "ls -la"
    assert len(endpoint.requests) == 2 and store.has(key) and verify(store).sound == 1


def test_a_file_system_without_hard_links_keeps_the_first_answer_too(endpoint, store, monkeypatch):
    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", no_links)
    study = study_of()
    first = ask(generator_of(study, store, endpoint), cells_of(study)[0]).answer
    assert store.put(first.model_copy(update={"text": "rm -r *"})) == first == store.get(first.request_key)


def test_a_run_under_a_file_size_limit_buys_nothing(endpoint, store):
    study = study_of()
    with file_limit(ROOM_BYTES - 1), pytest.raises(StopRun, match="no file of more than"):
        ask(generator_of(study, store, endpoint), cells_of(study)[0])
    assert endpoint.requests == []


def test_a_limit_met_while_asking_stops_the_run_and_leaves_no_torn_answer(endpoint, store):
    study = study_of()
    cells = cells_of(study)
    endpoint.answer = lambda prompt: LONG
    with ExitStack() as limits:
        endpoint.on_request = lambda seen: limits.enter_context(file_limit(5000))
        generator = generator_of(study, store, endpoint)
        with pytest.raises(StopRun, match="could not be written: File too large"):
            ask(generator, cells[0])
        with pytest.raises(StopRun):
            ask(generator, cells[1])
    assert len(endpoint.requests) == 1
    assert {path.name for path in store.folder.rglob("*") if path.is_file()} == {".lock"}


@pytest.mark.parametrize("left", [0, 4096])
def test_an_answer_that_meets_a_full_disk_is_printed_and_nothing_more_is_bought(left, endpoint, small_disk, capsys):
    study = study_of()
    cells = cells_of(study)
    disk = small_disk(ROOM_BYTES + 1024 * 1024)
    store = AnswerStore(disk / "answers")
    endpoint.answer = lambda prompt: LONG
    generator = generator_of(study, store, endpoint)
    ask(generator, cells[0])

    def fill(seen) -> None:
        with (disk / "other").open("wb", buffering=0) as stream, suppress(OSError):
            while True:
                stream.write(b"\0" * 65536)
        os.truncate(disk / "other", os.path.getsize(disk / "other") - left)

    endpoint.on_request = fill
    with pytest.raises(StopRun, match="No space left on device; it is printed above"):
        ask(generator, cells[1])
    assert LONG in capsys.readouterr().err
    assert verify(store).sound == 1 and not list(store.folder.rglob("*.part"))
    with pytest.raises(StopRun, match=r"No space left|disk is full"):
        ask(generator, cells[1])
    assert len(endpoint.requests) == 2
