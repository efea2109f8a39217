"""The seccomp profile is the default less the list; a container sees each reduction refused."""

import errno
import itertools
import json
from pathlib import Path

import pytest

from fluency.common.files import read_json, sha256_file
from fluency.core.study import Limits, SandboxConfig
from fluency.execution import isolation as measures
from fluency.execution.isolation import host_config, isolation
from fluency.execution.sandbox import checked_sandbox
from fluency.workflow import doctor
from tests.execution.run_it import LIMITS, bash
from tools import seccomp_profile as tool

LESS = tool.reductions()
DEFAULT = read_json(tool.FOLDER / LESS["base"]["file"])
PROBE = Path(__file__).with_name("probe_syscalls.py").read_text()
NOT_THERE = 15
"""A type of socket that the kernel knows none of; it says so before it looks at the family."""
FAMILIES = range(1, 46)
INTERNET = (2, 10)
PROTOCOLS = (*range(256), 262)
"""262 is MPTCP."""
LEVELS, OPTIONS = (0, 1, 6, 17, 41, 255, 263, 270), 140
"""IP, sockets, TCP, UDP, IPv6, RAW, packets, netlink; more options than any of them has."""
USES = range(80)
NEW_USER_NAMESPACE = 0x10000000
SCHED_IDLE = 5


def named(key):
    return [name for entry in LESS[key] for name in entry["syscalls"]]


def granted(rules, *, for_capability):
    """The calls of rules that ask for a capability, or of those that do not."""
    asks = [bool((rule.get("includes") or {}).get("caps")) for rule in rules]
    fits = [rule for rule, asked in zip(rules, asks, strict=True) if asked is for_capability]
    return {name for rule in fits if rule["action"] == tool.ALLOW for name in rule["names"]}


TO_ALL = granted(DEFAULT["syscalls"], for_capability=False)
TO_SOME = granted(DEFAULT["syscalls"], for_capability=True)
OURS = granted(json.loads(measures.profile())["syscalls"], for_capability=False)


def test_profile_is_what_the_tool_makes():
    assert sha256_file(tool.FOLDER / LESS["base"]["file"]) == LESS["base"]["sha256"]
    assert "Apache License" in (tool.FOLDER / "LICENSE").read_text()
    assert tool.profile_text() == measures.PROFILE.read_text(), "run `make pages`"


def test_profile_is_default_less_the_list():
    assert set(named("removed")) == TO_ALL - OURS and OURS <= TO_ALL and set(named("kept")) <= OURS
    assert not set(named("never")) & (TO_ALL | TO_SOME)
    assert '"caps"' not in measures.profile(), "it does not depend on capabilities"
    rules = json.loads(measures.profile())
    assert rules["defaultAction"] == "SCMP_ACT_ERRNO" and rules["defaultErrnoRet"] == errno.EPERM
    assert len(rules["archMap"]) == len(DEFAULT["archMap"])
    assert not any(machine["subArchitectures"] for machine in rules["archMap"])


def test_capabilities_grant_no_further_calls():
    includes = [rule.get("includes") or {} for rule in DEFAULT["syscalls"]]
    asked = {cap for include in includes for cap in include.get("caps") or []}
    given = {f"CAP_{name}" for name in isolation(Limits(), "docker")["few-capabilities"]["CapAdd"]}
    assert len(asked) > 8 and not asked & given


# ------------------------------------------------------------ in a container

SPECIAL = {"clone": [NEW_USER_NAMESPACE], "personality": [8], "userfaultfd": [1 << 20 | 1]}
SPECIAL |= {
    "sched_setscheduler": [0, SCHED_IDLE, -1],
    "sync": [],
    "process_vm_readv": [-1, 0, 0, 0, 0, 0],
}
"""Arguments by which the kernel gets as far as it can without harm; for the others -1."""


def probes():
    """(label, system call, arguments) of what must be refused, and of sockets of every family."""
    calls = {*named("removed"), *named("never"), *(TO_SOME - OURS)}
    calls |= {"clone", "clone3", *BY_ONE_ARGUMENT}
    found = [(name, name, SPECIAL.get(name, [-1] * 6)) for name in sorted(calls)]
    for family in FAMILIES:
        found.append((f"socket {family}", "socket", [family, NOT_THERE, 0]))
        found.append((f"socketpair {family}", "socketpair", [family, NOT_THERE, 0, 0]))
    for family, protocol in itertools.product(INTERNET, PROTOCOLS):
        given = [family, NOT_THERE, protocol]
        found.append((f"protocol {family} {protocol}", "socket", given))
    for level, option in itertools.product(LEVELS, range(OPTIONS)):
        found.append((f"option {level} {option}", "setsockopt", [-1, level, option]))
    found += [(f"prctl {use}", "prctl", [use, -1, -1, -1, -1]) for use in USES]
    for high in (1 << 32, 1 << 63):
        found.append((f"upper half, socket {high}", "socket", [high | 40, NOT_THERE, 0]))
        found.append((f"upper half, option {high}", "setsockopt", [-1, high | 1, high | 26]))
        found.append((f"upper half, prctl {high}", "prctl", [high | 22, -1, -1, -1, -1]))
    found.append(("asks", "personality", [0xFFFFFFFF]))
    found.append(("usual policy", "sched_setscheduler", [0, 0, -1]))
    return [*found, ("i386", "i386", []), ("x32", "x32", [])]


def among(row):
    return {*range(row["up_to"] + 1), *row["others"]}


ALLOWED = {
    *(
        f"option {row['level']} {option}"
        for row in LESS["options"]["allowed"]
        for option in among(row)
    ),
    *(f"prctl {use}" for use in among(LESS["prctl"]) - {24}),  # which asks for a capability
    *(f"socket {entry['family']}" for entry in LESS["sockets"]["allowed"]),
    *(f"socketpair {family}" for family in LESS["sockets"]["pairs"]),
    *(f"protocol {family} {protocol}" for family in INTERNET for protocol in (0, 6, 17)),
    "asks",
    "usual policy",
}
ABIS = {"i386", "x32"}
BY_ONE_ARGUMENT = ("personality", "sched_setscheduler")


KINDS = ("socket ", "protocol ", "option ", "prctl ", "upper half")


@pytest.fixture(scope="module")
def answered(sandbox, engine):
    """The outcome of every probe in a container with this seccomp profile, or with ours."""
    client, every = engine.client(), isolation(LIMITS, sandbox.engine["name"])
    for name in ("removed-at-its-end", "no-log-on-the-host"):
        del every[name]

    def answer(instead=None):
        options = every | ({"seccomp": {"SecurityOpt": [f"seccomp={instead}"]}} if instead else {})
        probe = ["/opt/fluency/python3", "-I", "-S", "-c", PROBE, json.dumps(probes())]
        config = {"Image": sandbox.images["bash"].image_id, "User": "0:0", "Entrypoint": probe}
        config["HostConfig"] = host_config(options)
        container = client.create_container_from_config(config)["Id"]
        try:
            client.start(container)
            client.wait(container)
            said = client.logs(container, stderr=False)
            assert said, client.logs(container)
            return dict(json.loads(said))
        finally:
            client.remove_container(container, force=True)

    return answer


@pytest.mark.engine
def test_profile_refuses_each_reduction(sandbox, answered):
    ours = answered()
    refused = {label for label, became in ours.items() if became == errno.EPERM}
    absent = {label for label, became in ours.items() if became is None}
    other = ours.keys() - refused - absent - ALLOWED - ABIS
    assert {label: ours[label] for label in other} == {"clone3": errno.ENOSYS}
    assert (refused | absent) & ALLOWED == set()
    # Such a call ends the process on every kernel.
    assert not {ours[abi] for abi in ABIS} & {0, errno.ENOSYS}
    # Where the host itself refuses (a sysctl, a filter around the engine), taking the profile away
    # shows nothing.
    if sandbox.engine["name"] == "podman":
        return
    default, bare = answered(json.dumps(DEFAULT)), answered("unconfined")
    taken = {label for label in ours if label.startswith(KINDS)}
    taken |= {*named("removed"), *BY_ONE_ARGUMENT}
    seen = {label for label in taken & refused if default[label] != errno.EPERM}
    assert {"option 0 35", "option 1 26", "option 6 14", "prctl 22"} < seen, "the known attacks"
    assert taken & refused - seen <= {label for label in taken if bare[label] == errno.EPERM}
    assert len(seen) > 70, seen


@pytest.mark.engine
def test_profile_applies_to_a_command(sandbox):
    syncs = "sync && echo synced; sync -f / 2>/dev/null || echo alone"
    said = bash(sandbox, f"{syncs}; (trap '' USR1; mkfifo /tmp/f; nice ls -d /tmp)").stdout.data
    assert said == "synced\nalone\n/tmp\n"
    assert sandbox.engine["seccomp_profile"] == measures.profile_sha256()


@pytest.mark.engine
@pytest.mark.parametrize("text", ["{", json.dumps(DEFAULT)], ids=["refuses it", "does not hold it"])
def test_profile_that_the_engine_does_not_take(sandbox, engine, monkeypatch, text):
    """A real refusal of Docker's, and a profile that is not the one that was given."""
    if sandbox.engine["name"] == "podman":
        pytest.skip("Podman takes a file's path")
    monkeypatch.setattr(measures, "profile", lambda: text)
    other = checked_sandbox(engine, sandbox.images, SandboxConfig(limits=LIMITS))
    why = other.refused
    assert "seccomp profile" in why and other.engine["seccomp_profile"] == measures.ENGINE_DEFAULT
    # The engine's own profile holds.
    assert bash(other, "setarch linux32 echo wide").stdout.data == "wide\n"
    if text != "{":
        return
    lines = {line.thing: line for line in doctor._known_command(sandbox.images)}
    assert lines["a known command"].advice == ""
    assert (lines["seccomp profile"].lacks, lines["seccomp profile"].found) == (False, why)
    assert "the engine's own" in lines["seccomp profile"].advice
