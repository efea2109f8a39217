"""What the kernel would keep for processes that have ended: memory that no out-of-memory killer gives back.

The probe calls the C library itself, as an answer can that writes machine code into its own memory: what it creates has no
program behind it that an image could leave out. It runs as the command's user, behind the isolation measures.
"""

import json
from collections.abc import Collection

import pytest

from fluency.core.study import Limits
from fluency.execution import container
from fluency.execution.container import run_container
from fluency.execution.isolation import MeasureRefused, Measures, container_config, isolation
from fluency.execution.sandbox import Sandbox, checked_sandbox
from tests.execution.run_it import LIMITS, bash

pytestmark = pytest.mark.engine

SMALL_MEMORY = Limits(memory_mb=256, pids=64)
KEPT_MB = 150
REFUSED = {"no-such-limit": {"Sysctls": {"kernel.no_such_limit": "0"}}}
PROBE = """
import ctypes, json, os
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
CREATE, SIZE = 0o1000 | 0o600, KEPT_MB << 20

def as_agent(action):
    # What it answers, from a process of the command's user that has ended by then; an error's name if there was one.
    read, write = os.pipe()
    if os.fork() == 0:
        os.setgroups([]); os.setresgid(10001, 10001, 10001); os.setresuid(10001, 10001, 10001)
        found = action()
        answer = "made" if found >= 0 else os.strerror(ctypes.get_errno())
        os.write(write, answer.encode()); os._exit(0)
    os.close(write); os.wait()
    return os.read(read, 100).decode()

def memory():
    segment = libc.shmget(0, SIZE, CREATE)
    if segment >= 0:
        ctypes.memset(libc.shmat(segment, None, 0), 1, SIZE)
    return segment

def queue():
    return libc.mq_open(b"/probe", os.O_CREAT | os.O_RDWR, 0o600, None)

def fills():
    # An honest program that takes as much memory: whether it is killed for what the others left.
    child = os.fork()
    if child == 0:
        open("/proc/self/oom_score_adj", "w").write("1000")
        os.setresuid(10001, 10001, 10001)
        ctypes.memset(ctypes.create_string_buffer(SIZE), 1, SIZE); os._exit(0)
    return os.waitpid(child, 0)[1]

made = {"memory": as_agent(memory), "queue": as_agent(lambda: libc.msgget(0, CREATE)),
        "semaphores": as_agent(lambda: libc.semget(0, 1, CREATE)), "posix queue": as_agent(queue)}
left = {name: len(open(f"/proc/sysvipc/{name}").readlines()) - 1 for name in ("shm", "msg", "sem")}
print(json.dumps({"made": made, "left": left, "killed": fills()}), flush=True)
""".replace("KEPT_MB", str(KEPT_MB))


def native(sandbox: Sandbox, measures: Measures) -> dict:
    """What the probe found behind these measures."""
    config = container_config(sandbox.image.image_id, container.LABELS, measures)
    config["Entrypoint"] = ["/opt/fluency/python3", "-I", "-S", "-c", PROBE]
    session = run_container(sandbox._engine, config, b"", 1 << 20, 120)
    assert session.failure is None, session.failure
    return json.loads(session.output)


def test_nothing_outlives_its_process(sandbox):
    found = native(sandbox, isolation(SMALL_MEMORY))
    assert "made" not in found["made"].values(), found
    assert found["left"] == {"shm": 0, "msg": 0, "sem": 0} and found["killed"] == 0


def test_without_its_limits_all_of_it_does_and_others_are_killed_for_it(sandbox):
    kernels = {name for name, part in isolation(SMALL_MEMORY).items() if "Sysctls" in part}
    every = isolation(SMALL_MEMORY)
    found = native(sandbox, {k: v for k, v in every.items() if k not in kernels | {"no-bytes-in-posix-queues"}})
    assert set(found["made"].values()) == {"made"}, found
    assert found["left"] == {"shm": 1, "msg": 1, "sem": 1} and found["killed"] == 9


def test_an_engine_that_takes_no_limits_of_the_kernel_is_used_without(sandbox, monkeypatch):
    """As an older rootless one: by a limit that every engine refuses. The record of each execution says so."""

    def with_refused(limits: Limits, engine: str, dropped: Collection[str]) -> Measures:
        return isolation(limits, engine, dropped) | ({} if "sysctls" in dropped else REFUSED)

    monkeypatch.setattr("fluency.execution.isolation.isolation", with_refused)
    other = checked_sandbox(sandbox._engine, sandbox.image, 1, LIMITS)
    assert other.dropped.keys() == {"sysctls"} and other.engine["takes_no_sysctls"] is True
    said = bash(other, "cat /proc/sys/kernel/shm_rmid_forced; ulimit -Hq").stdout.data
    assert said == "0\n0\n", "the limit on a process's queues needs no right of the engine"


def test_a_measure_that_is_refused_twice_is_an_error(sandbox, monkeypatch):
    monkeypatch.setattr("fluency.execution.isolation.isolation", lambda *given: isolation(*given) | REFUSED)
    with pytest.raises(MeasureRefused, match="sets no kernel limits") as caught:
        checked_sandbox(sandbox._engine, sandbox.image, 1, LIMITS)
    assert caught.value.group == "sysctls"
