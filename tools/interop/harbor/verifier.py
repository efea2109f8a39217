"""The verifier of a Harbor task: runs the answer in fresh worlds, and scores it.

It runs as root in a fresh container of the task's image, never in the agent's. `fluency/` in the
same folder has copies of the modules that score a study's answers, made when the task was exported.
Reward 1: exit 0 and the right answer in every world; everything else, an absent answer too, is 0,
with the reason in details.json.
"""

from __future__ import annotations

import binascii
import ctypes
import io
import json
import os
import shutil
import signal
import sys
import time
import traceback
from hashlib import sha256
from types import SimpleNamespace

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = ["/opt/fluency", HERE]

import command
import processes
import runner
import stage
from fluency.scoring import checks
from fluency.scoring.state import Left, differences, tree_left

ANSWER, LOGS = "/answer/command", "/logs/verifier"
MOST_BYTES = 1 << 17
SUBREAPER = 36
STAGE_S = 90
OURS = {number for number, _ in processes.USERS.values()}
every_process = processes.all_processes


def all_processes() -> list[tuple[int, int]]:
    """Processes of the sandbox's users: here the runner is not process 1, and has neighbours."""
    found = []
    for pid, uid in every_process():
        try:
            if uid in OURS and processes.stat(pid)["state"] not in "ZX":
                found.append((pid, uid))
        except OSError:
            continue
    return found


def kill_all(child: int) -> tuple | None:
    """Kill and reap all of these; the end of the command, if it is among them."""
    end, deadline = None, time.monotonic() + 10
    while time.monotonic() < deadline:
        left = all_processes()
        for pid, _ in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        for pid, status, usage in processes.reaped():
            if pid == child:
                end = (status, usage)
        if not left:
            return end
        time.sleep(0.002)
    raise TimeoutError(f"processes that do not end: {all_processes()[:20]}")


def clean(root: str) -> None:
    """Remove what an earlier world left: processes, the working folder's content, HOME."""
    kill_all(0)
    for name in os.listdir(root):
        path = os.path.join(root, name)
        shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    shutil.rmtree(command.HOME, ignore_errors=True)


def run_once(header: dict, content: bytes, text: bytes) -> tuple[dict, list[dict]]:
    """The runner's result, and the helper processes as they were; in a separate process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
            sys.stdout = printed = io.StringIO()
            invocation = {
                **header,
                "command": binascii.b2a_base64(text, newline=False).decode(),
                "nonce": "verifier",
            }
            result = runner.measure(invocation, content)
            with os.fdopen(write, "w") as out:
                json.dump([result, json.loads(printed.getvalue())["processes"]], out)
            os._exit(0)
        finally:
            traceback.print_exc(file=sys.stderr)
            os._exit(1)
    os.close(write)
    with os.fdopen(read) as source:
        text_of_result = source.read()
    os.waitpid(child, 0)
    if not text_of_result:
        raise RuntimeError("the runner gave no result")
    result, helpers = json.loads(text_of_result)
    return result, helpers


class Tree:
    """What an answer function may read of a world: its files."""

    def __init__(self, header: dict, content: bytes) -> None:
        self.files, self.dirs, source = {}, [], io.BytesIO(content)
        for path, size in header["tree"]:
            if size is None:
                self.dirs.append(path)
            else:
                self.files[path] = source.read(size)

    def text(self, path: str) -> str:
        """A file as text."""
        return self.files[path].decode("utf-8")


def asked(rule: dict, seed: str, tree: Tree, helpers: list[dict]) -> tuple[object, dict]:
    """The right answer and state: computed at export, or from the processes that run."""
    if rule["expected"] is not None:
        return rule["expected"][seed], rule["state"][seed]
    import answer

    facts = [SimpleNamespace(**helper) for helper in helpers]
    expected = answer.expected(tree, facts) if rule["content"] else None
    state = answer.state(tree, facts) if hasattr(answer, "state") else {}
    return expected, {
        path: {"sha256": sha256(wanted).hexdigest()} if isinstance(wanted, bytes) else wanted
        for path, wanted in state.items()
    }


def state_problem(wanted: dict, result: dict, tree: Tree, helpers: list[dict]) -> str | None:
    """None if what is left behind is what the task asks for, else one clause."""
    if not wanted:
        return None
    if isinstance(result["state"], str):
        return f"what it left behind is unknown: {result['state']}"
    changed = {
        f"/proc/{one['pid']}": Left("process")
        for one in helpers
        if one["pid"] not in result["helpers_ended"]
    }
    for one in result["state"]:
        data = None
        if sent := one.get("content"):
            data = binascii.a2b_base64(sent["data"])
            data = data if len(data) == sent["bytes"] else None
        facts = (one.get(name) for name in ("mode", "target", "sha256"))
        changed[one["path"]] = Left(one["kind"], *facts, data)
    found = differences(wanted, tree_left(tree.files, tree.dirs, changed), changed)
    return found[0] if found else None


def judge(rule: dict, result: dict, wanted: object) -> str | None:
    """None if the result is right, else one clause; rules and their order are a study's."""
    if result["spawn_error"]:
        return f"the command could not be started: {result['spawn_error']}"
    if result["timed_out"]:
        return "it was stopped at the deadline"
    if result["exit_code"] != 0:
        return f"exit code {result['exit_code']}, signal {result['signal']}"
    if rule["content"] is None:
        return None
    data = binascii.a2b_base64(result["stdout"]["data"])
    if len(data) < result["stdout"]["bytes"]:
        return "standard output was cut"
    text = checks.clean(data)
    lines = checks.output_lines(text)
    shape = SimpleNamespace(**rule["structure"])
    return checks.structure_problem(shape, text, lines) or checks.content_problem(
        rule["content"], wanted, text, lines
    )


def written() -> bytes:
    """The answer; ValueError with a sentence if it cannot be run."""
    try:
        with open(ANSWER, "rb") as source:
            text = source.read(MOST_BYTES + 1).strip()
    except OSError as error:
        raise ValueError(f"no answer in {ANSWER}: {error.strerror}") from None
    if not text or len(text) > MOST_BYTES or b"\0" in text:
        raise ValueError("the answer is empty, larger than 128 KiB, or not text")
    return text


def wait_for_the_stage() -> None:
    """Until stage.py has made the environment's own world, which `clean` then removes."""
    deadline = time.monotonic() + STAGE_S
    while not os.path.exists(stage.READY):
        if time.monotonic() > deadline:
            raise TimeoutError("the environment did not become ready")
        time.sleep(0.02)


def verify() -> dict[str, str | None]:
    """World -> why the answer fails in it; None if it passes."""
    with open(f"{HERE}/rule.json", encoding="utf-8") as source:
        rule = json.load(source)
    text, found = written(), {}
    wait_for_the_stage()
    processes.all_processes = command.all_processes = all_processes
    command.kill_all = kill_all
    for seed in rule["seeds"]:
        header, content = stage.read_world(f"{HERE}/worlds/{seed}.gz")
        clean(header["root"])
        result, helpers = run_once(header, content, text)
        tree = Tree(header, content)
        expected, state = asked(rule, str(seed), tree, helpers)
        wrong = judge(rule, result, expected)
        found[str(seed)] = wrong or state_problem(state, result, tree, helpers)
    return found


def main() -> None:
    """Write the reward and its reason."""
    try:
        found = verify()
    except ValueError as error:
        found = {"answer": str(error)}
    os.makedirs(LOGS, exist_ok=True)
    passed = all(why is None for why in found.values())
    with open(f"{LOGS}/details.json", "w", encoding="utf-8") as out:
        json.dump({"passed": passed, "why": found}, out, indent=2)
    with open(f"{LOGS}/reward.txt", "w", encoding="utf-8") as out:
        out.write("1\n" if passed else "0\n")


if __name__ == "__main__":
    main()
