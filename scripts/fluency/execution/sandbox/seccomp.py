"""The sandbox's seccomp profile: Moby's default less what no task needs, and the form in which an engine takes it.

Both stand as data in `sandbox/seccomp/`; the profile is made from them, the same bytes each time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from fluency.common.canonical import canonical_json
from fluency.common.errors import SandboxError
from fluency.common.files import read_json, sha256, write_atomic
from fluency.common.paths import CACHE, SANDBOX
from fluency.core.config_files import read_yaml

FOLDER = SANDBOX / "seccomp"
ENGINES_OWN = "the engine's own"
"""What a record says in place of the profile's hash where the engine did not take it."""
ALLOW = "SCMP_ACT_ALLOW"
BY_ARGUMENT = {"socket", "socketpair", "personality"}
"""System calls that the reductions grant for some arguments only."""

Rule = dict[str, Any]


class ProfileRefused(SandboxError):
    """The engine does not take the profile, or takes it and does not hold it."""


@cache
def profile() -> str:
    """The profile as the engine reads it: canonical JSON."""
    less = reductions()
    return canonical_json(reduced(read_json(FOLDER / less["base"]["file"]), less))


@cache
def profile_sha256() -> str:
    """Of the profile's text; stands in every record as the engine's `seccomp_profile`."""
    return sha256(profile())


def reductions() -> dict[str, Any]:
    """What is taken away and why: `sandbox/seccomp/reductions.yaml`."""
    return read_yaml(FOLDER / "reductions.yaml")


def security_option(engine: str) -> str:
    """The option that gives the profile to an engine by its name: Docker takes the text, Podman a file's path."""
    if engine != "podman":
        return f"seccomp={profile()}"
    path = CACHE / f"seccomp-{profile_sha256()[:16]}.json"
    if not path.is_file():
        write_atomic(path, profile())
    return f"seccomp={path}"


def reduced(default: dict[str, Any], less: dict[str, Any]) -> dict[str, Any]:
    """A profile in Moby's form less the reductions, for a container with no capability that the default asks for."""
    removed = {name for entry in less["removed"] for name in entry["syscalls"]}
    rules = [rule for given in default["syscalls"] for rule in _kept(given, removed | BY_ARGUMENT)]
    for socket in less["sockets"]["allowed"]:
        protocol = [_is(2, socket["protocol"])] if "protocol" in socket else []
        rules.append(_allow("socket", _is(0, socket["family"]), *protocol))
    rules += [_allow("socketpair", _is(0, family)) for family in less["sockets"]["pairs"]]
    rules += [_allow("personality", _is(0, value)) for value in less["personality"]["allowed"]]
    # No second calling convention beside a machine's own.
    machines = [{"architecture": known["architecture"], "subArchitectures": []} for known in default["archMap"]]
    return {"defaultAction": default["defaultAction"], "defaultErrnoRet": 1, "archMap": machines, "syscalls": rules}


def _kept(rule: Rule, without: set[str]) -> Iterator[Rule]:
    """What is left of a rule of the default, if anything is."""
    names = sorted(set(rule["names"]) - without)
    includes, excludes = dict(rule.get("includes") or {}), dict(rule.get("excludes") or {})
    if not names or includes.get("caps"):
        return
    excludes.pop("caps", None)
    kept = {"names": names, "action": rule["action"], "args": rule.get("args") or []}
    if rule.get("errnoRet") is not None:
        kept["errnoRet"] = rule["errnoRet"]
    yield kept | {name: part for name, part in (("includes", includes), ("excludes", excludes)) if part}


def _allow(name: str, *arguments: Rule) -> Rule:
    return {"names": [name], "action": ALLOW, "args": list(arguments)}


def _is(index: int, value: int) -> Rule:
    """The kernel reads 32 bits of these arguments; what a caller leaves in the upper half must not matter."""
    return {"index": index, "value": 0xFFFFFFFF, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}
