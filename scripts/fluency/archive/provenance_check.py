"""Hold provenance.json against the records, the study, the archived files and the registration."""

from __future__ import annotations

from fluency.archive.archived_study import ArchivedStudy
from fluency.archive.contents import config_name, registration_name
from fluency.archive.findings import Findings
from fluency.archive.registration import deviations, registered
from fluency.archive.strict_json import untrusted_json
from fluency.common.errors import ArchiveError
from fluency.common.files import pretty_json
from fluency.core.provenance import Provenance, Registered, collect_provenance, parse_provenance

LOCK = "envs/requirements.lock"
MOMENT = frozenset(
    {"version", "commit", "dirty", "config_files", "lock_sha256", "versions", "registration", "deviations"}
)
"""What provenance.json says of the moment it was written, and not of the records."""
COUNTED = frozenset(
    {
        "worlds",
        "conditions",
        "limits",
        "images",
        "engines",
        "sampling",
        "spent_usd",
        "first_answer_utc",
        "started_utc",
        "ended_utc",
    }
)
"""What it gathers from the records of all cells."""


def check_provenance(archived: ArchivedStudy, findings: Findings) -> Provenance | None:
    """The archived provenance, held against the records, the study, the lock and the registration."""
    where = f"results/{archived.study.study}/provenance.json"
    path = archived.root / where
    if not path.is_file():
        return None
    data = path.read_bytes()
    try:
        canonical = pretty_json(untrusted_json(data, where)).encode() == data
        stated = parse_provenance(data)
    except (ValueError, ArchiveError):
        canonical = False
    if not findings.check(canonical, where, "it is not in the form provenance is written in", kind="facts"):
        return None
    file = archived.image_file
    made = collect_provenance(
        archived.study,
        archived.tasks,
        archived.cells,
        [],
        archived.read_again,
        start_up_s=file.start_up_s if file else {},
    )
    if stated.schema_version == 1:
        made = made.in_schema_1()
    # Older code did not write every field; this checkout's code writes them all.
    written = stated.model_fields_set if "table" not in findings.layers else Provenance.model_fields.keys()
    for key in sorted(written - MOMENT):
        same = getattr(made, key) == getattr(stated, key)
        if not same and archived.held_out and key in COUNTED:
            findings.cannot_tell(where, f"`{key}` counts the cells that are held out, too", "evidence")
        else:
            findings.check(same, where, f"`{key}` is not what the records say", kind="facts", layer="table")
    _moment(archived, findings, where, stated)
    return stated


def _moment(archived: ArchivedStudy, findings: Findings, where: str, stated: Provenance) -> None:
    """What provenance says of files: config and lock are the archived ones, the registration is followed so far."""
    files = archived.unpacked.manifest.files
    for name, digest in stated.config_files.items():
        held = config_name(name) in files and files[config_name(name)].sha256 == digest
        findings.check(held, config_name(name), f"it is not the file that {where} names", kind="files")
    lock = files.get(LOCK)
    same = lock is not None and stated.lock_sha256 == lock.sha256
    findings.check(same, LOCK, f"it is not the file that {where} names", kind="files")
    if stated.commit != archived.unpacked.manifest.commit:
        findings.remark(where, f"the table was made at commit {stated.commit}, the archive later")
    if archived.study.preregistration:
        _registration(archived, findings, where, stated)
    else:
        holds = stated.registration is None and not stated.deviations
        findings.check(holds, where, "it names a registration, the study none", kind="files")


def _registration(archived: ArchivedStudy, findings: Findings, where: str, stated: Provenance) -> None:
    """The deviations the report states are those this checkout finds, if its code is the archive's."""
    name = registration_name(archived.study.preregistration or "")
    path = archived.root / name
    if not findings.check(path.is_file(), name, "the archive does not hold the registration", kind="files"):
        return
    with findings.noting_errors(name):
        own = registered(archived.study.preregistration or "", path)
        what = f"it is not the registration that {where} describes"
        findings.check(_as_far_as_stated(own, stated.registration, findings), name, what, kind="files")
        found = deviations(
            archived.study, archived.tasks, path, stated.first_answer_utc, world_for=archived.known_world
        )
        what = f"the stated deviations are not those found ({'; '.join(found) or 'none'})"
        findings.check(stated.deviations == found, where, what, kind="files", layer="registration")


def _as_far_as_stated(own: Registered, stated: Registered | None, findings: Findings) -> bool:
    """Whether all that is stated of the registration stands in its file; older code stated less."""
    if stated is None or not {"path", "sha256"} <= stated.model_fields_set:
        return False
    named = stated.model_fields_set if "registration" not in findings.layers else Registered.model_fields.keys()
    return all(getattr(own, key) == getattr(stated, key) for key in named)
