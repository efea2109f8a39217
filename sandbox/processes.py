"""The helper processes of a world, and the facts about processes in /proc."""

from __future__ import annotations

import os
import time
from operator import itemgetter

HELPER = "/opt/helper/helper"
# The command's user has a random id, because the kernel counts inotify instances, pending signals
# and locked memory by user id, over all containers. It is below 2^31 and above all real users', or
# below the end of a user name space, which has 65,536 ids.
with open("/proc/self/uid_map") as ranges:
    IDS = sum(int(line.split()[2]) for line in ranges)
AGENT_UID = min(1 << 31, IDS - 4096) - 1 - int.from_bytes(os.urandom(2), "big") // 2
# Name -> user and group id, home.
USERS = {"agent": (AGENT_UID, "/home/agent"), "vox": (10002, "/"), "web": (10003, "/")}
HELPER_UID = USERS["vox"][0]
SETTLE_S, ENDING_S = 20.0, 1.0
PAUSE_S = 0.004
PAGE = os.sysconf("SC_PAGE_SIZE")
# Linux 6.2 and later count a process's pages per processor and add them up in batches, so /proc
# may lack one batch of every processor. (helper.c makes older kernels count everything.)
CPUS = os.sysconf("SC_NPROCESSORS_CONF")
UNCOUNTED = PAGE * CPUS * max(32, 2 * CPUS)


def write_users() -> None:
    """Write what /etc/passwd and /etc/group link to: the image's own users and these."""
    for name, rest in (("passwd", "{1}::{2}:/usr/sbin/nologin"), ("group", "")):
        with open(f"/opt/fluency/{name}") as base, open(f"/home/.{name}", "w") as file:
            file.write(base.read())
            for user, (uid, home) in USERS.items():
                file.write(f"{user}:x:{uid}:{rest.format(user, uid, home)}\n")


def become_user(uid: int) -> None:
    """Give up root for good: become a user who is in its own group only."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def as_user(uid: int, action, *arguments):
    """Call an action with the rights of this user; no process of that user may run meanwhile."""
    os.setegid(uid)
    os.seteuid(uid)
    try:
        return action(*arguments)
    finally:
        os.seteuid(0)
        os.setegid(0)


def start_helpers(helpers: list[dict]) -> list[dict]:
    """Start the helpers; returns the facts about them once these no longer change."""
    if not helpers:
        return []
    for uid in (HELPER_UID, AGENT_UID):
        mine = [h for h in helpers if (uid == AGENT_UID) == bool(h.get("may_end"))]
        plan = "".join("\x1f".join([*_planned(h), h["name"], *h["args"]]) + "\n" for h in mine)
        first = os.fork()
        if first == 0:
            _start_all(uid, plan)
        if status := os.waitpid(first, 0)[1]:
            raise RuntimeError(f"the helper processes did not start: status {status}")
    return _settled(helpers)


def _planned(helper: dict) -> list[str]:
    """The fields before the name in a line of helper.c's plan."""
    how = [f"thread={name}" for name in helper.get("threads", ())]
    how += [
        word.replace("_", "-") for word in ("own_session", "subreaper", "ends") if helper.get(word)
    ]
    how += [f"ids={helper['ids']}"] if "ids" in helper else []
    return [
        helper["key"],
        helper["parent"] or "",
        str(helper["rss_mb"]),
        str(helper["virt_mb"]),
        " ".join(how),
    ]


def _start_all(uid: int, plan: str) -> None:
    try:
        null = os.open("/dev/null", os.O_RDWR)
        for stream in range(4):  # a helper reports on 3 that it has started
            os.dup2(null, stream)
            os.set_inheritable(stream, True)  # dup2 does not where null already has that number
        os.closerange(4, 256)
        become_user(uid)
        os.chdir("/")
        os.execve(HELPER, ["helper"], {"HELPER_KEY": "", "HELPER_PLAN": plan})
    finally:
        os._exit(113)


def _settled(helpers: list[dict]) -> list[dict]:
    """The facts, once two readings in a row are the same and fit the plan."""
    staying = [h for h in helpers if not h.get("ends")]
    with_ids = {h["name"] for h in staying if {"%P", "%PP"} & set(h["args"])}

    def outline(name: str, args: list[str], threads: int) -> list:
        """What is known of a process before it starts: process ids among its arguments are not."""
        ids = name in with_ids
        return [
            name,
            threads,
            *("%P" if ids and (arg == "%PP" or arg.isdigit()) else arg for arg in args),
        ]

    wanted = sorted(outline(h["name"], h["args"], 1 + len(h.get("threads", ()))) for h in staying)
    needed = sorted((int(h["rss_mb"]) << 20) - UNCOUNTED for h in staying)
    deadline = time.monotonic() + SETTLE_S
    before: list[dict] = []
    while time.monotonic() < deadline:
        list(reaped())  # helpers that end by plan become the runner's children
        now = facts()
        there = (
            sorted(outline(fact["name"], fact["args"], fact["threads"]) for fact in now) == wanted
        )
        grown = all(
            has >= needs
            for has, needs in zip(sorted(f["rss_bytes"] for f in now), needed, strict=False)
        )
        if there and grown and now == before and all(fact["state"] == "S" for fact in now):
            return now
        before = now
        time.sleep(0.003)
    raise TimeoutError(f"the helper processes did not settle: {before}")


def stat(pid: int | str) -> dict:
    """From /proc/PID/stat: name, state, parent, session, number of threads, start time in ticks.

    A thread's `pid` is PID/task/TID.
    """
    with open(f"/proc/{pid}/stat", "rb") as stream:
        text = stream.read().decode("utf-8", "replace")
    name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
    return {
        "name": name,
        "state": rest[0],
        "ppid": int(rest[1]),
        "session": int(rest[3]),
        "threads": int(rest[17]),
        "started": int(rest[19]),
    }


def running(pid: int) -> dict | None:
    """`stat` of a process, None once all its threads have ended."""
    try:
        found = stat(pid)
    except OSError:
        return None
    return found if found["state"] not in "ZX" or found["threads"] > 1 else None


def reaped():
    """Yield (process id, status, usage) of ended children; orphans are children of PID 1.

    It may never end: a storm of clones makes children faster than they are reaped. Who watches a
    deadline breaks off.
    """
    while True:
        try:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, status, usage


def cgroup(*names: str) -> int | None:
    """The first number in these files of the control group; cgroup v1 and v2 differ in names."""
    for name in names:
        path, _, key = name.partition(":")
        try:
            with open(f"/sys/fs/cgroup/{path}") as stream:
                for line in stream:
                    words = line.split()
                    if not key or words[0] == key:
                        return int(words[-1])
        except (OSError, ValueError, IndexError):
            continue
    return None


def processor_s() -> float | None:
    """Processor time of the container in seconds; None if the control group hides it."""
    for name, unit in (("cpu.stat:usage_usec", 1e6), ("cpuacct/cpuacct.usage", 1e9)):
        if (used := cgroup(name)) is not None:
            return used / unit
    return None


def is_kept_waiting() -> bool:
    """Whether one thread outside the runner is seen twice running or waiting for a processor.

    Between the looks the runner sleeps for a time that no command can know, so what rarely runs is
    rarely seen twice, also if it waits for the processor on which the runner looks.
    """
    seen = list(_runnable(_threads()))
    time.sleep(PAUSE_S * os.urandom(1)[0] / 255 + PAUSE_S / 2)
    return any(_runnable(seen))


def _threads():
    for pid, _ in all_processes():
        try:
            yield from [f"{pid}/task/{thread}" for thread in os.listdir(f"/proc/{pid}/task")]
        except OSError:
            continue  # it has ended meanwhile


def _runnable(threads):
    for thread in threads:
        try:
            if stat(thread)["state"] == "R":
                yield thread
        except OSError:
            continue  # it has ended meanwhile


def all_processes() -> list[tuple[int, int]]:
    """Process id and user id of every process except the runner, sorted."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and entry != "1":
            try:
                found.append((int(entry), os.stat(f"/proc/{entry}").st_uid))
            except OSError:
                continue  # it has ended meanwhile
    return sorted(found)


def facts() -> list[dict]:
    """Of every running helper: user, process id, resident bytes, arguments, and `stat`'s fields.

    Once the command exists, what it started is among them: it has the user of helpers that may end.
    """
    found = []
    for pid, uid in all_processes():
        if uid not in (HELPER_UID, AGENT_UID):
            continue
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as stream:
                args = stream.read().decode("utf-8", "replace").split("\0")[1:-1]
            with open(f"/proc/{pid}/statm", "rb") as stream:
                resident = int(stream.read().split()[1]) * PAGE
        except OSError:
            continue
        if status := running(pid):
            found.append({"uid": uid, "pid": pid, "args": args, "rss_bytes": resident, **status})
    return found


def compared(before: list[dict]) -> tuple[bool, list[int], list[str]]:
    """What became of the helpers, by process id and start time.

    Whether those that may not end still run, under the same names and parents; the ids of the
    others that ended; the names of what else runs now.
    """
    until = time.monotonic() + ENDING_S
    mine = [fact["pid"] for fact in before if fact["uid"] == AGENT_UID]
    while any(running(pid) and _is_ending(pid) for pid in mine) and time.monotonic() < until:
        time.sleep(PAUSE_S)
    identity = itemgetter("pid", "started")
    now, helpers = {identity(fact): fact for fact in facts()}, list(map(identity, before))
    same = itemgetter("name", "ppid", "args")
    kept = [fact for fact in before if fact["pid"] not in mine]
    return (
        all(identity(fact) in now and same(fact) == same(now[identity(fact)]) for fact in kept),
        [pid for pid, started in helpers if pid in mine and (pid, started) not in now],
        sorted(fact["name"] for key, fact in now.items() if key not in helpers),
    )


def _is_ending(pid: int) -> bool:
    """Whether a signal has been sent to a process that has not ended by it yet."""
    try:
        with open(f"/proc/{pid}/status") as stream:
            return any(int(line.split()[1], 16) for line in stream if line[3:7] == "Pnd:")
    except OSError:
        return False
