"""Whichever documents an archive holds, verification ends in a verdict or a sentence, within its bounds."""

import json
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fluency.archive import decision
from fluency.archive.archived_study import read_archived_study, write_opened
from fluency.archive.findings import VerifyReport
from fluency.archive.replay import replay_archive
from fluency.archive.unpack import unpacked
from fluency.archive.verify import verify_archive
from fluency.archive.world_files import _tree, load_world, world_files
from fluency.common.errors import UserError
from fluency.core.task_world import world_for
from fluency.core.tasks import load_tasks
from tests.archive.hostile import contents, find, rewritten

EXAMPLES = 25
DEEP = "[" * 900 + "]" * 900
VALUES = {
    "deep": DEEP, "deeper": "[" * 100_000 + "]" * 100_000, "infinite": "1e999", "no number": "NaN", "endless": "9" * 5000,
    "large": "1" + "0" * 30, "list": "[]", "object": "{}", "text": '"\\ud800"', "null": "null", "true": "true", "day": '"2026-02-31T25:61:00Z"',
}  # fmt: skip
GENERATION, EXECUTION, SCORE = (
    f"results/{stage}/.*" for stage in ("generations", "executions", "scores")
)
PLACES = {
    "image": ("results/image.json", "image"), "start": ("results/image.json", "start_up_s"), "engine": ("results/image.json", "engine"),
    "study models": ("study.json", "models"), "study trials": ("study.json", "trials"), "worlds": ("worlds/index.json", "stale-lockfiles"),
    "ages": ("worlds/.*/world.json", "ages"), "service": ("worlds/.*/world.json", "service"), "processes": ("worlds/.*/world.json", "processes"),
    "world": ("worlds/.*/world.json", "seed"), "registration time": ("preregistrations/.*", "registered_utc"),
    "registration tasks": ("preregistrations/.*", "tasks"), "registration code": ("preregistrations/.*", "code"),
    "provenance": ("results/made-up/provenance.json", "registration"), "deviations": ("results/made-up/provenance.json", "deviations"),
    "sampling": ("results/made-up/provenance.json", "sampling"), "engines": ("results/made-up/provenance.json", "engines"),
    "first answer": ("results/made-up/provenance.json", "first_answer_utc"), "execution provenance": (EXECUTION, "provenance"),
    "execution engine": (EXECUTION, "engine"), "score provenance": (SCORE, "provenance"), "answer": (GENERATION, "answer"),
    "answers": ("answers/.*", "answer"), "whole": (EXECUTION, None), "study": ("study.json", None),
}  # fmt: skip
"""Document and key -> where a value of another type, size or depth is put; null: the whole document."""


def put_raw(name: str, key: str | None, value: str):
    """Put a JSON text under a key, also one that JSON modules would refuse."""

    def change(files: dict[str, bytes]) -> None:
        found = find(files, name)
        document = json.loads(files[found])
        mark = "here goes the value"
        document = mark if key is None else {**document, key: mark}
        if isinstance(document, dict) and "sha256" in document and name.startswith("prereg"):
            document["sha256"] = "0" * 64
        text = json.dumps(document, sort_keys=True, indent=2, ensure_ascii=False) + "\n"
        files[found] = text.replace(f'"{mark}"', value).encode()

    return change


def ends(path: Path) -> str:
    """The verdict, or the sentence of the refusal; anything else that is raised fails the test."""
    try:
        report = verify_archive(path)
    except UserError as error:
        assert str(error)
        return f"refused: {error}"
    assert report.exit_code in (0, 1, 3)
    assert all(line.isprintable() for line in report.lines() if line.isascii())
    return report.verdict()


@pytest.mark.parametrize("place", PLACES)
def test_value_of_another_type_ends_in_verdict(place, small_archive, tmp_path):
    """Two kinds a place, in turns, so that each kind meets some twelve places."""
    name, key = PLACES[place]
    first = 2 * list(PLACES).index(place)
    for kind in [list(VALUES)[(first + turn) % len(VALUES)] for turn in (0, 1)]:
        forged = rewritten(small_archive, tmp_path, put_raw(name, key, VALUES[kind]))
        ended = ends(forged)
        assert ended != "PROVEN" and "unexpected contents" not in ended, (place, kind, ended)


@pytest.mark.parametrize(
    "change",
    [
        put_raw(EXECUTION, "provenance", '{"utc": []}'),
        put_raw(EXECUTION, "provenance", "{}"),
        put_raw(EXECUTION, "provenance", '{"utc": "x"}'),
        lambda files: files.update({find(files, "tasks/.*/answer.py"): b"\xff"}),
    ],
)
def test_unusable_text_ends_in_verdict(change, small_archive, tmp_path):
    assert ends(rewritten(small_archive, tmp_path, change)) == "ALTERED"


def sparse(size: int) -> bytes:
    """A tar of one GNU sparse member, which states any size in one block."""
    member = tarfile.TarInfo("big")
    member.type = tarfile.GNUTYPE_SPARSE
    block = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    block[386:410] = b"%011o\0%011o\0" % (0, 0)
    block[483:495] = b"%011o\0" % size
    block[148:156] = b" " * 8
    block[148:155] = b"%06o\0" % sum(block)
    return bytes(block) + bytes(1024)


def test_tree_refuses_member_larger_than_tar(tmp_path):
    member = tarfile.TarInfo("big")
    member.size = 5 << 30
    with pytest.raises(tarfile.ReadError, match="unexpected end"):
        _tree(member.tobuf(tarfile.GNU_FORMAT) + bytes(1024))


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.just("2026-02-31T00:00:00Z"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def forgeries(draw, names: list[str], files: dict[str, bytes]):
    """One file with a few bytes or one value changed."""
    name = draw(st.sampled_from(names))
    data = files[name]
    if name.endswith(".json") and draw(st.booleans()):
        document = json.loads(data)
        at = document
        while True:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                return name, json.dumps(draw(json_values)).encode()
            key = draw(st.sampled_from(keys))
            if isinstance(at[key], dict | list) and at[key] and draw(st.integers(0, 3)):
                at = at[key]
                continue
            at[key] = draw(json_values)
            return name, (
                json.dumps(document, sort_keys=True, indent=2, ensure_ascii=False) + "\n"
            ).encode("utf-8", "replace")
    start = draw(st.integers(0, len(data)))
    length = draw(st.integers(0, 40))
    return name, data[:start] + draw(st.binary(max_size=20)) + data[start + length :]


def forge_at_random(small: Path, out: Path, examples: int, check: Callable[[Path], str]) -> None:
    """So many forgeries of an archive, each made to fit its manifest, and what each must end in."""
    files = {name: data for name, data in contents(small).items() if name != "MANIFEST.json"}
    documents = [
        name
        for name in files
        if not name.startswith(("results/made-up/figures", "sandbox", "README"))
    ]

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(forgeries(documents, files))
    def run(forgery):
        name, data = forgery
        ended = check(rewritten(small, out, lambda held: held.update({name: data}), repair=True))
        assert "unexpected contents" not in ended, (name, ended)

    run()


def replayed(path: Path) -> object:
    return replay_archive(path).markdown()


def opened(path: Path) -> object:
    """Past the verification, which refuses most: what reads the archive after it holds out too."""
    with unpacked(path) as files:
        return write_opened(read_archived_study(files), path.parent / "opened")


def decided(path: Path) -> object:
    with unpacked(path) as files:
        report = VerifyReport(path, files.sha256, files.manifest)
        return decision._text(read_archived_study(files), "t", "2026-11-23", report, path)


def sentence_of(work: Callable[[Path], object], path: Path) -> str:
    """Nothing, or the sentence of the refusal; anything else that is raised fails the test."""
    try:
        work(path)
    except UserError as error:
        assert str(error)
        return str(error)
    return ""


@pytest.mark.parametrize(("work", "examples"), [(replayed, 12), (decided, 8), (opened, 4)])
def test_random_forgery_is_used_or_refused(work, examples, small_archive, tmp_path):
    forge_at_random(small_archive, tmp_path, examples, partial(sentence_of, work))


def test_verify_of_random_forgery_ends_in_verdict(small_archive, tmp_path):
    forge_at_random(small_archive, tmp_path, EXAMPLES, ends)


@pytest.mark.parametrize(
    "task", ["strayed-jobs", "busy-threads", "descendants-with-depth", "worker-queues"]
)
def test_load_world_restores_processes(task):
    (task,) = load_tasks([task])
    world = world_for(task, 11)
    files = world_files([task], [11], world_for)
    assert load_world(files.__getitem__, f"worlds/11-{world.sha256[:16]}") == world
