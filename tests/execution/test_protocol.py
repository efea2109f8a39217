"""The protocol: a condition changes its own fields; anything except a whole document is an error."""

import base64
import json
import re

import pytest

from fluency.common.errors import SandboxError
from fluency.core.study import Limits
from fluency.execution.protocol import RUNNER_PROTOCOL, Invocation, decode, encode, read_start
from tests.execution.run_it import SMALL

NONCE = "a" * 32
RESULT = {
    "exit_code": 0, "signal": None, "timed_out": False, "spawn_error": None, "wall_s": 0.25,
    "stdout": {"data": base64.b64encode(b"\xffx").decode(), "bytes": 9}, "stderr": {"data": "", "bytes": 0},
    "used": {"cpu_s": 0.1, "peak_rss_bytes": 1, "peak_memory_bytes": None, "peak_processes": None},
    "http_requests": [{"method": "GET", "path": "/", "status": 200}], "tree_changed": False, "changes": None,
    "leftover": ["sleep"], "helpers_intact": True, "helpers_ended": [],
    "state": [{"path": "a", "kind": "file", "mode": 420, "content": {"data": "/w==", "bytes": 1}}],
}  # fmt: skip
HELPERS = [{"pid": 7, "name": "vox-a", "ppid": 1, "rss_bytes": 4096, "args": ["--x"]}]
HEAD = {"protocol": RUNNER_PROTOCOL, "nonce": NONCE}
START = json.dumps(HEAD | {"processes": HELPERS}).encode() + b"\n"
DOCUMENT = HEAD | {"result": RESULT, "inside_s": 0.3}
WHOLE = json.dumps(DOCUMENT).encode()
ODD = (
    {"state": [{"path": "a"}]},
    {"wall_s": "soon"},
    {"stdout": {"data": "%", "bytes": 1}},
    {"used": {"disk": 1}},
)


def less(key):
    return {name: value for name, value in RESULT.items() if name != key}


def header(condition):
    data = encode(Invocation("pwsh", "é'\n", SMALL, Limits(), 5, (), condition), NONCE)
    size, _, rest = data.partition(b"\n")
    return json.loads(rest[: int(size)])


def test_encode_condition_changes_its_fields_only():
    plain = header("as_designed")
    assert header("no_unix_tools") == plain | {"tools": False} and plain["tools"]
    assert (plain["timeout_s"], plain["http"], plain["helpers"]) == (5, None, [])
    windows = header("windows_aliases")
    assert windows["argv"] == [word for word in plain["argv"] if word != "-NoProfile"]
    assert windows == plain | {"argv": windows["argv"], "home": windows["home"]}
    assert windows["home"] and not plain["home"]


@pytest.mark.parametrize(
    "document, says",
    [
        *[(sent, "no whole result") for sent in (b"", b"\xff\xfe", WHOLE[:-20], WHOLE * 2, b"[]")],
        (DOCUMENT | {"protocol": 0}, "another protocol"),
        *[(DOCUMENT | {"nonce": nonce}, "another execution") for nonce in ("b" * 32, None)],
        (DOCUMENT | {"error": "Traceback\nOSError: disk"}, "runner failed: OSError: disk"),
        (HEAD, "no whole result"),
        (DOCUMENT | {"result": None}, "no whole result"),
        *[(DOCUMENT | {"result": RESULT | odd}, "no whole result") for odd in ODD],
        *[(DOCUMENT | {"result": less(key)}, "missing") for key in RESULT],
    ],
)
def test_decode_refuses_anything_else(document, says):
    whole = decode(START + WHOLE, NONCE)
    assert (whole.leftover, whole.stdout.bytes, whole.stdout.truncated) == (["sleep"], 9, True)
    assert whole.state[0].content.raw() == b"\xff"
    document = document if isinstance(document, bytes) else json.dumps(document).encode()
    with pytest.raises(SandboxError, match=re.escape(says)) as caught:
        decode(START + document, NONCE)
    assert caught.value.hint


@pytest.mark.parametrize(
    "start",
    [
        *[b"", START[:-1], b"{}\n", b"[]\n", b"x\n"],
        START.replace(NONCE.encode(), b"b" * 32),
        START.replace(b"%d" % RUNNER_PROTOCOL, b"99"),
        START.replace(b"vox-a", b'x", "y": "z'),
    ],
)
def test_decode_needs_the_first_line(start):
    assert read_start(start, NONCE) is None and read_start(START, NONCE)[0].args == ["--x"]
    if b"\n" in start:
        with pytest.raises(SandboxError, match="no whole result"):
            decode(start + WHOLE, NONCE)
