"""The sandbox's seccomp profile: Moby's default less sandbox/seccomp/reductions.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fluency.common.files import pretty_json, read_json
from fluency.common.paths import ROOT, SANDBOX
from fluency.core.config_files import read_yaml
from fluency.execution.isolation import PROFILE

FOLDER = SANDBOX / "seccomp"
ALLOW = "SCMP_ACT_ALLOW"
BY_ARGUMENT = {"socket", "socketpair", "setsockopt", "prctl", "personality", "sched_setscheduler"}
"""System calls that are allowed for some arguments only."""
Rule = dict[str, Any]


def reductions() -> dict[str, Any]:
    """What is removed from the default, and why."""
    return read_yaml(FOLDER / "reductions.yaml")


def profile_text() -> str:
    """The text of sandbox/seccomp/profile.json."""
    less = reductions()
    return pretty_json(_reduced(read_json(FOLDER / less["base"]["file"]), less))


def _reduced(default: dict[str, Any], less: dict[str, Any]) -> dict[str, Any]:
    """Moby's profile less the reductions, and less what it grants to a capability."""
    removed = {name for entry in less["removed"] for name in entry["syscalls"]}
    rules = [
        rule for given in default["syscalls"] for rule in _remaining(given, removed | BY_ARGUMENT)
    ]
    for socket in less["sockets"]["allowed"]:
        rules += [
            _allow("socket", _is(0, socket["family"]), _is(2, protocol))
            for protocol in socket["protocols"]
        ]
    rules += [_allow("socketpair", _is(0, family)) for family in less["sockets"]["pairs"]]
    rules += [_allow("personality", _is(0, value)) for value in less["personality"]["allowed"]]
    rules += [
        _allow("sched_setscheduler", _is(1, value)) for value in less["scheduling"]["allowed"]
    ]
    for option in less["options"]["allowed"]:
        level = _is(1, option["level"])
        rules += [_allow("setsockopt", level, value) for value in _among(2, option)]
    rules += [_allow("prctl", value) for value in _among(0, less["prctl"])]
    # Only the native calling convention of each architecture.
    machines = [
        {"architecture": known["architecture"], "subArchitectures": []}
        for known in default["archMap"]
    ]
    return {
        "defaultAction": default["defaultAction"],
        "defaultErrnoRet": 1,
        "archMap": machines,
        "syscalls": rules,
    }


def _remaining(rule: Rule, without: set[str]) -> Iterator[Rule]:
    """What remains of a rule of the default, if anything does."""
    names = sorted(set(rule["names"]) - without)
    includes, excludes = dict(rule.get("includes") or {}), dict(rule.get("excludes") or {})
    if not names or includes.get("caps"):
        return
    excludes.pop("caps", None)
    remaining = {"names": names, "action": rule["action"], "args": rule.get("args") or []}
    if rule.get("errnoRet") is not None:
        remaining["errnoRet"] = rule["errnoRet"]
    yield remaining | {
        name: part for name, part in (("includes", includes), ("excludes", excludes)) if part
    }


def _allow(name: str, *arguments: Rule) -> Rule:
    return {"names": [name], "action": ALLOW, "args": list(arguments)}


def _is(index: int, value: int) -> Rule:
    """An argument's lower 32 bits, which are all that the kernel reads of these arguments."""
    return {"index": index, "value": 0xFFFFFFFF, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}


def _among(index: int, row: dict[str, Any]) -> Iterator[Rule]:
    """An argument is at most a row's `up_to`, or one of its `others`.

    A range cannot have a lower end: runc joins two conditions on one argument by "or".
    """
    yield {"index": index, "value": row["up_to"], "op": "SCMP_CMP_LE"}
    for value in row["others"]:
        yield _is(index, value)


def pages() -> dict[str, str]:
    """The profile by its path."""
    return {PROFILE.relative_to(ROOT).as_posix(): profile_text()}
