"""Disks that take a part of an answer, or none: nothing torn gets a name, and what was paid is held elsewhere."""

from __future__ import annotations

import os
import resource
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from fluency.common.errors import StopRun
from fluency.generation.answer_file import ROOM_BYTES, write_whole
from fluency.generation.audit import audit, verify
from fluency.generation.store import AnswerStore
from tests.generation.studies import ask, cells_of, generator_of, study_of

LONG = "x" * 20_000


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    """A cache of this test's own, and no other place to hold an answer in."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return tmp_path / "cache"


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


def test_a_file_that_takes_only_a_part_is_an_error_and_leaves_nothing(tmp_path):
    path = tmp_path / "answers" / "file"
    with file_limit(1000):
        with pytest.raises(OSError, match="File too large"):
            write_whole(path, LONG.encode())
        assert not path.exists()
        write_whole(path, b"y" * 1000)
    assert path.read_bytes() == b"y" * 1000


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
    assert {path.name for path in store.folder.rglob("*") if path.is_file()} <= {".lock", "spending.log"}


def test_an_answer_that_its_folder_does_not_take_is_held_elsewhere_and_found_by_the_next_run(endpoint, store, home):
    study = study_of()
    cells = cells_of(study)
    ask(generator_of(study, store, endpoint), cells[0])

    def block(seen) -> None:
        shutil.rmtree(store.arriving)
        store.arriving.write_text("no folder")

    endpoint.on_request = block
    with pytest.raises(StopRun, match="could not be written: Not a directory; it is held in") as caught:
        ask(generator_of(study, store, endpoint), cells[1])
    (held,) = home.rglob("*.held")
    assert str(held) in str(caught.value)
    store.arriving.unlink()
    generator = generator_of(study, store, endpoint)
    assert ask(generator, cells[1]).answer.text == "ls -la"
    assert generator.budget.spent_usd > 0  # nobody could count it before
    assert len(endpoint.requests) == 2
    assert not held.exists()


@pytest.fixture
def nowhere(home, tmp_path) -> Path:
    """No other place takes an answer either."""
    home.write_text("no folder")
    (tmp_path / "tmp").write_text("no folder")
    return home


def blocked(endpoint, store) -> None:
    """Once a request has come, its answer finds no place in the store."""

    def block(seen) -> None:
        shutil.rmtree(store.arriving, ignore_errors=True)
        if not store.arriving.exists():
            store.arriving.write_text("no folder")

    endpoint.on_request = block


@pytest.mark.parametrize("made", ["arriving", "cache"])
def test_an_answer_that_no_disk_takes_waits_in_memory_for_room(made, endpoint, store, nowhere, monkeypatch):
    study, said = study_of(), []
    cells = cells_of(study)
    generator = generator_of(study, store, endpoint)

    def make_room(text: str) -> None:
        said.append(text)
        assert sum(store.spending.lost().values()) > 0, "counted before anything can end the process"
        (store.arriving if made == "arriving" else nowhere).unlink()

    monkeypatch.setattr("fluency.generation.last_resort.log_line", make_room)
    ask(generator, cells[0])
    blocked(endpoint, store)
    if made == "arriving":
        record = ask(generator, cells[1])
        assert generator.budget.spent_usd == pytest.approx(2 * record.cost_usd)
    else:
        with pytest.raises(StopRun, match=f"it is held in {nowhere}"):
            ask(generator, cells[1])
        store.arriving.unlink()
    assert "no disk takes an answer that cost $0.000" in said[0] and str(nowhere) in said[0] and len(said) == 1
    assert store.spending.lost() == {}
    with pytest.raises(StopRun, match="could not be written"):
        ask(generator, cells[2])
    endpoint.on_request = lambda seen: None
    assert ask(generator_of(study, store, endpoint), cells[1]).answer.text == "ls -la"
    assert len(endpoint.requests) == 2


@pytest.mark.parametrize("log", ["in the store", "elsewhere", "nowhere"])
def test_an_answer_that_is_lost_is_counted_wherever_a_line_can_be_written(log, endpoint, store, tmp_path, capsys):
    """The limit leaves room for a line, and none for the answer."""
    study = study_of()
    cells = cells_of(study)
    cost = ask(generator_of(study, store, endpoint), cells[0]).cost_usd
    endpoint.answer = lambda prompt: LONG
    if log != "in the store":
        store.spending.path.unlink()
        store.spending.path.mkdir()
    if log == "nowhere":
        (tmp_path / "cache").write_text("no folder")
        (tmp_path / "tmp").write_text("no folder")
    generator = generator_of(study, store, endpoint)
    with ExitStack() as limits:
        endpoint.on_request = lambda seen: limits.enter_context(file_limit(5000))
        with pytest.raises(StopRun, match=r"an answer is lost that no disk took; it cost \$0\.1") as caught:
            ask(generator, cells[1])
    told = "only this run knows" if log == "nowhere" else "counts in every run's budget"
    assert told in caught.value.what and "asked, and paid, again" in caught.value.hint
    assert generator.budget.spent_usd > 0.1 > cost
    (lost,) = AnswerStore(store.folder).spending.lost().values() or [0]
    assert lost == (0 if log == "nowhere" else pytest.approx(generator.budget.spent_usd))
    if log == "elsewhere":
        store.spending.path.rmdir()
        audit(store)
        assert "spending.log, which was written while" in capsys.readouterr().out.splitlines()[0]
        assert list(AnswerStore(store.folder).spending.lost().values()) == [lost]
        assert str(lost) in store.spending.path.read_text() and not list((tmp_path / "cache").rglob("*.log"))


def test_a_reply_that_neither_is_read_nor_finds_a_place_counts(endpoint, store, nowhere, monkeypatch):
    study = study_of()
    monkeypatch.setattr("fluency.generation.model_session.answer_of", lambda *_: 1 / 0)
    endpoint.on_request = lambda seen: (store.folder / "unread").write_text("no folder")
    with pytest.raises(StopRun, match="could not be read is lost, and counts as the dearest"):
        ask(generator_of(study, store, endpoint), cells_of(study)[0])
    assert sum(store.spending.lost().values()) > 0


def test_make_answers_brings_back_what_was_held_elsewhere(endpoint, store, home, capsys):
    study = study_of()
    record = ask(generator_of(study, store, endpoint), cells_of(study)[0])
    path = store.path(record.answer.request_key)
    held = store.shelter.hold(record.answer.request_key, path.read_bytes())
    assert held is not None and held.is_relative_to(home)
    path.unlink()
    assert audit(store) == 0
    assert str(held) in capsys.readouterr().out.splitlines()[0] and not held.exists()
    assert store.get(record.answer.request_key) == record.answer


def test_an_answer_in_a_folder_that_others_may_write_is_not_believed(endpoint, store, home):
    study = study_of()
    record = ask(generator_of(study, store, endpoint), cells_of(study)[0])
    held = store.shelter.hold(record.answer.request_key, store.path(record.answer.request_key).read_bytes())
    held.parent.chmod(0o777)
    assert store.shelter.files() == []
    assert not store.shelter.hold("0" * 64, b"").is_relative_to(home)


def test_nobody_else_may_look_into_the_folder(store, home):
    held = store.shelter.hold("0" * 64, b"")
    assert held is not None and held.is_relative_to(home)
    assert stat.S_IMODE(held.parent.stat().st_mode) == 0o700


def test_the_other_store_of_the_same_user_does_not_take_it(store, tmp_path):
    assert store.shelter.hold("0" * 64, b"")
    assert AnswerStore(tmp_path / "elsewhere").shelter.files() == []


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    size = ROOM_BYTES + 1024 * 1024
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("only root mounts a disk")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


@pytest.mark.parametrize("left", [0, 4096])
def test_an_answer_that_meets_a_full_disk_is_not_asked_for_again(left, endpoint, small_disk, home):
    study = study_of()
    cells = cells_of(study)
    store = AnswerStore(small_disk / "answers")
    endpoint.answer = lambda prompt: LONG
    ask(generator_of(study, store, endpoint), cells[0])

    def fill(seen) -> None:
        with (small_disk / "other").open("wb", buffering=0) as stream, suppress(OSError):
            while True:
                stream.write(b"\0" * 65536)
        os.truncate(small_disk / "other", os.path.getsize(small_disk / "other") - left)

    endpoint.on_request = fill
    with pytest.raises(StopRun, match=f"No space left on device; it is held in {home}"):
        ask(generator_of(study, store, endpoint), cells[1])
    assert verify(store).sound == 1 and not list(store.arriving.iterdir())
    with pytest.raises(StopRun, match="disk is full"):
        ask(generator_of(study, store, endpoint), cells[1])
    (small_disk / "other").unlink()
    assert ask(generator_of(study, store, endpoint), cells[1]).answer.text == LONG
    assert len(endpoint.requests) == 2
