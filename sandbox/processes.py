"""The helper processes of a world, and what /proc says about them and about every other process."""

from __future__ import annotations

import os
import time

HELPER = "/opt/helper/helper"
# Name, user and group id, and home of all that is not root; the image's users are made from this.
USERS = {"agent": (10001, "/home/agent"), "vox": (10002, "/"), "web": (10003, "/")}
HELPER_UID = USERS["vox"][0]
SETTLE_S = 20.0
PAGE = os.sysconf("SC_PAGE_SIZE")
# Linux 6.2 and later count a process's pages on each processor and add them up in batches of this many; what is shown
# may lack as much from every processor. (What helper.c does makes older ones count everything.)
CPUS = os.sysconf("SC_NPROCESSORS_CONF")
UNCOUNTED = PAGE * CPUS * max(32, 2 * CPUS)


def become_user(uid: int) -> None:
    """Give up root for good: a user of its own group, in no other."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def as_user(uid: int, action, *arguments):
    """What an action answers that has this user's rights and no more; nothing of that user may run meanwhile."""
    os.setegid(uid)
    os.seteuid(uid)
    try:
        return action(*arguments)
    finally:
        os.seteuid(0)
        os.setegid(0)


def start_helpers(helpers: list[dict]) -> list[dict]:
    """Start the helpers; returns the facts about them once they stay as they are."""
    if not helpers:
        return []
    lines = ([h["key"], h["parent"] or "", str(h["rss_mb"]), str(h["virt_mb"]), h["name"], *h["args"]] for h in helpers)
    plan = "".join("\x1f".join(line) + "\n" for line in lines)
    for helper in helpers:
        if not helper["parent"] and os.fork() == 0:
            _helper(helper, plan)
    return _settled(helpers)


def _helper(helper: dict, plan: str) -> None:
    try:
        null = os.open("/dev/null", os.O_RDWR)
        for stream in range(3):
            os.dup2(null, stream)
        os.closerange(3, 256)
        os.setsid()
        become_user(HELPER_UID)
        os.chdir("/")
        os.execve(HELPER, [helper["name"], *helper["args"]], {"HELPER_KEY": helper["key"], "HELPER_PLAN": plan})
    finally:
        os._exit(113)


def _settled(helpers: list[dict]) -> list[dict]:
    """The facts, when two looks in a row agree with each other and with what was asked for."""
    wanted = sorted([h["name"], *h["args"]] for h in helpers)
    needed = sorted((int(h["rss_mb"]) << 20) - UNCOUNTED for h in helpers)
    deadline = time.monotonic() + SETTLE_S
    before: list[dict] = []
    while time.monotonic() < deadline:
        now = facts()
        there = sorted([fact["name"], *fact["args"]] for fact in now) == wanted
        grown = all(has >= needs for has, needs in zip(sorted(f["rss_bytes"] for f in now), needed, strict=False))
        if there and grown and now == before and all(fact["state"] == "S" for fact in now):
            return now
        before = now
        time.sleep(0.008)
    raise TimeoutError(f"the helper processes did not settle: {before}")


def stat(pid: int) -> dict:
    """Of /proc/PID/stat: name, state, parent and start time in ticks."""
    with open(f"/proc/{pid}/stat", "rb") as stream:
        text = stream.read().decode("utf-8", "replace")
    name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
    return {"name": name, "state": rest[0], "ppid": int(rest[1]), "started": int(rest[19])}


def all_processes() -> list[tuple[int, int]]:
    """Process id and user id of every process but the runner, in order of ids."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and entry != "1":
            try:
                found.append((int(entry), os.stat(f"/proc/{entry}").st_uid))
            except OSError:
                continue  # ended while we looked
    return sorted(found)


def facts() -> list[dict]:
    """Every helper as /proc shows it: id, name, parent, resident bytes, arguments, state, start time."""
    found = []
    for pid, uid in all_processes():
        if uid != HELPER_UID:
            continue
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as stream:
                args = stream.read().decode("utf-8", "replace").split("\0")[1:-1]
            with open(f"/proc/{pid}/statm", "rb") as stream:
                resident = int(stream.read().split()[1]) * PAGE
            seen = stat(pid)
        except OSError:
            continue
        found.append({"pid": pid, "args": args, "rss_bytes": resident, **seen})
    return found


def unchanged(before: list[dict], after: list[dict]) -> bool:
    """Whether the same processes are still there under the same names and parents."""

    def identity(found: list[dict]) -> list[tuple]:
        return [(f["pid"], f["name"], f["ppid"], f["args"], f["started"]) for f in found if f["state"] not in "ZX"]

    return identity(before) == identity(after)
