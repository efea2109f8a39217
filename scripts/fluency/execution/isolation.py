"""Every isolation measure as the engine's HostConfig."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

from fluency.common.canonical import canonical_json
from fluency.common.errors import SandboxError
from fluency.common.files import read_json, sha256, write_atomic
from fluency.common.paths import CACHE, SANDBOX
from fluency.core.config_files import read_yaml
from fluency.core.study import Limits
from fluency.world.model import WORK_DIR

FOLDER = SANDBOX / "seccomp"
ENGINE_DEFAULT = "the engine's own"
"""What a record says in place of the profile's hash where the engine did not take it."""
ALLOW = "SCMP_ACT_ALLOW"
BY_ARGUMENT = {"socket", "socketpair", "personality"}
"""System calls that the reductions grant for some arguments only."""
Rule = dict[str, Any]


class MeasureRefused(SandboxError):
    """The engine does not take a group of measures (`seccomp` or `sysctls`), or takes it without effect."""

    def __init__(self, group: str, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.group = group


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


WORLD_MB = 128
Measures = dict[str, dict[str, Any]]
"""Name of each measure -> the part of the engine's HostConfig that puts it into force. Sizes in bytes."""


def isolation(limits: Limits, engine: str = "docker", dropped: Collection[str] = ()) -> Measures:
    """Every measure, with the sizes of the limits, for an engine by its name; without the `dropped` groups."""
    memory = limits.memory_mb << 20
    measures: Measures = {
        "no-network": {"NetworkMode": "none"},
        # The engine would copy the host's resolver into the container, although there is nobody to ask.
        "no-resolver": {"Dns": ["127.0.0.1"], "DnsSearch": ["."]},
        "read-only-root": {"ReadonlyRootfs": True},
        "few-capabilities": {"CapDrop": ["ALL"], "CapAdd": ["CHOWN", "SETUID", "SETGID", "KILL"]},
        "no-new-privileges": {"SecurityOpt": ["no-new-privileges"]},
        "seccomp": {"SecurityOpt": [security_option(engine)]},
        "pids": {"PidsLimit": limits.pids},
        "memory": {"Memory": memory},
        "no-swap": {"MemorySwap": memory},
        "no-core-dumps": {"Ulimits": [_ulimit("core", 0)]},
        "file-size": {"Ulimits": [_ulimit("fsize", limits.file_mb << 20)]},
        "open-files": {"Ulimits": [_ulimit("nofile", limits.open_files)]},
        "tmp-size": {"Tmpfs": {"/tmp": _tmpfs(limits.tmpfs_mb, "mode=1777")}},
        # The runner makes HOME in it and gives away the world: not every engine can give a tmpfs to a user.
        "home-size": {"Tmpfs": {"/home": _tmpfs(limits.tmpfs_mb, "mode=0755")}},
        "world-size": {"Tmpfs": {WORK_DIR: _tmpfs(WORLD_MB, "mode=0755")}},
        "no-shared-memory": {"IpcMode": "none"},
        # What the kernel keeps for processes that have ended counts against the container's memory, and nobody is left
        # whom the out-of-memory killer could take for it.
        "no-sysv-memory": {"Sysctls": {"kernel.shmmni": "0", "kernel.shmall": "0", "kernel.shmmax": "0"}},
        "sysv-memory-ends-with-its-user": {"Sysctls": {"kernel.shm_rmid_forced": "1"}},
        "no-sysv-queues": {"Sysctls": {"kernel.msgmni": "0"}},
        "no-sysv-semaphores": {"Sysctls": {"kernel.sem": "0 0 0 0"}},
        "no-posix-queues": {"Sysctls": {"fs.mqueue.queues_max": "0"}},
        "no-bytes-in-posix-queues": {"Ulimits": [_ulimit("msgqueue", 0)]},
        "no-log-on-the-host": {"LogConfig": {"Type": "none"}},
        "removed-at-its-end": {"AutoRemove": True},
    }
    groups = {name: "sysctls" if "Sysctls" in part else name for name, part in measures.items()}
    return {name: part for name, part in measures.items() if groups[name] not in dropped}


def container_config(image: str, labels: dict[str, str], measures: Measures) -> dict[str, Any]:
    """The body of the engine's create call. Nothing of the host goes in: no mount, no variable, no name."""
    return {
        "Image": image,
        "Hostname": "sandbox",
        "User": "0:0",
        "Env": ["PATH=/usr/bin"],
        "Labels": labels,
        "StopTimeout": 1,  # the runner heeds no signal but the last
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "HostConfig": host_config(measures),
    }


def host_config(measures: Measures) -> dict[str, Any]:
    """The measures as one HostConfig: lists are joined, mappings merged, anything else stands for itself."""
    config: dict[str, Any] = {}
    for part in measures.values():
        for key, value in part.items():
            if isinstance(value, list):
                config[key] = [*config.get(key, []), *value]
            elif isinstance(value, dict):
                config[key] = {**config.get(key, {}), **value}
            else:
                config[key] = value
    return config


def _ulimit(name: str, value: int) -> dict[str, Any]:
    return {"Name": name, "Soft": value, "Hard": value}


def _tmpfs(size_mb: int, options: str) -> str:
    return f"rw,nosuid,nodev,noexec,size={size_mb}m,{options}"
