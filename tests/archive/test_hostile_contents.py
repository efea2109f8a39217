"""Whichever documents an archive holds, each command ends in a verdict or a sentence."""

import json
import tarfile

from fluency.archive import decision
from fluency.archive.archived_study import read_archived_study, write_opened
from fluency.archive.replay import replay_archive
from fluency.archive.unpack import unpacked
from fluency.archive.verify import VerifyReport, verify_archive
from fluency.common.errors import UserError
from fluency.core.provenance import Provenance
from tests.archive.hostile import find, rewritten

VALUES = (
    "[" * 900 + "]" * 900,
    "[" * 100_000 + "]" * 100_000,
    "1e999",
    "NaN",
    "9" * 5000,
    "1" + "0" * 30,
    "[0]",
    "{}",
    '"\\ud800"',
    "null",
    "true",
    '"2026-02-31T25:61:00Z"',
)
GENERATION, EXECUTION, SCORE = (
    f"results/{stage}/.*" for stage in ("generations", "executions", "scores")
)
CONTROL = "results/made-up/control.json"
PLACES = {
    "results/images/bash.json": ("image", "start_up_s", "engine"),
    "study.json": ("models", "trials", None),
    "worlds/index.json": ("stale-lockfiles",),
    "worlds/.*/world.json": ("ages", "service", "processes", "seed"),
    "preregistrations/.*": ("registered_utc", "tasks", "code"),
    CONTROL: ("runs", None),
    GENERATION: ("answer",),
    EXECUTION: ("provenance", "engine", None),
    SCORE: ("provenance",),
}
"""Document -> the keys at which a value of another type, size or depth is put; None: the whole."""


def put_raw(name, key, value):
    """Put a JSON text under a key, also one that JSON modules would refuse."""

    def change(files):
        found = find(files, name)
        document = json.loads(files[found])
        mark = "here goes the value"
        document = mark if key is None else {**document, key: mark}
        if isinstance(document, dict) and "sha256" in document and name.startswith("prereg"):
            document["sha256"] = "0" * 64
        text = json.dumps(document, sort_keys=True, indent=2, ensure_ascii=False) + "\n"
        files[found] = text.replace(f'"{mark}"', value).encode()

    return change


def verified(path):
    report = verify_archive(path)
    assert all(line.isprintable() for line in report.lines() if line.isascii())
    return report.verdict()


def opened(path):
    """Past the verification, which refuses most: what reads the archive after it holds out too."""
    with unpacked(path) as files:
        return str(
            write_opened(read_archived_study(files).view(Provenance()), path.parent / "opened")
        )


def decided(path):
    with unpacked(path) as files:
        archived = read_archived_study(files)
        report = VerifyReport(path, files.sha256, files.manifest, files.source)
        return decision._text(archived.view(Provenance()), "t", "2026-11-23", report, path)


def replayed(path):
    return "\n".join(replay_archive(path).lines())


def end_of(work, path):
    """What the work gives, or the sentence of the refusal; anything else fails the test."""
    try:
        return work(path)
    except UserError as error:
        assert str(error) and "unexpected contents" not in str(error)
        return f"refused: {error}"


def test_value_of_another_type_is_used_or_refused(small_archive, tmp_path):
    """Two kinds a place, in turns: each kind meets five places, and each command a third of all."""
    places = [(name, key) for name, keys in PLACES.items() for key in keys]
    for number in range(2 * len(places)):
        (name, key), value = places[number // 2], VALUES[number % len(VALUES)]
        forged = rewritten(small_archive, tmp_path, put_raw(name, key, value))
        assert end_of(verified, forged) != "PROVEN", f"{name} {key} {value[:40]}"
        assert end_of((replayed, decided, opened)[number % 3], forged)


def sparse(size):
    """A tar of one GNU sparse member, which states any size in one block."""
    member = tarfile.TarInfo("big")
    member.type = tarfile.GNUTYPE_SPARSE
    block = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    block[386:410] = b"%011o\0%011o\0" % (0, 0)
    block[483:495] = b"%011o\0" % size
    block[148:156] = b" " * 8
    block[148:155] = b"%06o\0" % sum(block)
    return bytes(block) + bytes(1024)
