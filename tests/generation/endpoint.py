"""An endpoint that misbehaves on command: a real HTTP server on a free loopback port.

It speaks every wire, by the path it is asked at; behaviours are written as Messages and translated.

    with Endpoint(lambda prompt: "ls -la") as endpoint:
        endpoint.script(Reply(status=529), "refusal")   # the next two requests
        endpoint.always("overloaded")                   # every request, until `always(None)`
        endpoint.when(lambda seen: "bash" in seen.prompt, "empty")
        endpoint.url, endpoint.requests
"""

import contextlib
import itertools
import json
import re
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Header = dict[str, str]


@dataclass(frozen=True)
class Reply:
    """What one request gets. A dict body is sent as JSON, bytes as they are."""

    status: int = 200
    body: Any = None
    headers: Header = field(default_factory=dict)
    first_byte_s: float = 0.0
    chunk_bytes: int = 0
    chunk_s: float = 0.0
    content_length: int | None = None
    drip: tuple[bytes, bytes] | None = None  # sent in place of a reply: once, then again and again
    reset: str | None = None
    """Cuts the connection before the body was read, after, or in the middle of the reply."""


@dataclass
class Seen:
    """A request as it arrived."""

    path: str
    headers: Header
    body: Any
    at: float = field(default_factory=time.monotonic)

    @property
    def prompt(self) -> str:
        with contextlib.suppress(KeyError, TypeError, IndexError):
            return self.body["messages"][0]["content"]
        return ""

    @property
    def turn(self) -> int:
        """Its turn of a conversation."""
        return (len(self.body["messages"]) + 1) // 2


def message(text="ls -la", *, model="fake", **over) -> dict[str, Any]:
    """A message as the API sends it; `over` replaces fields or leaves one out."""
    value = {"id": "msg_fake", "type": "message", "role": "assistant", "model": model}
    value |= {"stop_reason": "end_turn"}
    value |= {"content": [{"type": "text", "text": text}], "stop_sequence": None}
    value |= {"usage": {"input_tokens": 120, "output_tokens": max(1, len(text) // 3)}} | over
    return {name: item for name, item in value.items() if item is not _LEFT_OUT}


_LEFT_OUT = object()
_NUMBERS = itertools.count()
_PATH = re.compile(
    r"/v1/messages|(?P<chat>/v1/chat/completions)|/model/[^/]+/invoke"
    r"|/v1/projects/[^/]+/locations/[^/]+/publishers/anthropic/models/[^/]+:rawPredict"
)
_FINISHED = {"end_turn": "stop", "max_tokens": "length"}
_FINISHED |= {"refusal": "content_filter", "tool_use": "tool_calls"}


def completion(body) -> Any:
    """A message or an error of the Messages API in the form of Chat Completions."""
    if isinstance(body, bytes):
        with contextlib.suppress(ValueError, RecursionError):
            return json.dumps(completion(json.loads(body))).encode()
        return body
    if not isinstance(body, dict) or body.get("type") not in ("message", "error"):
        return body
    if body["type"] == "error":
        said = body["error"]
        code = said.get("details", {}).get("error_code")
        return {"error": {"message": said["message"], "type": said["type"], "code": code}}
    blocks = [block for block in body["content"] or [] if isinstance(block, dict)]
    used = [block for block in blocks if block["type"] == "tool_use"]
    functions = [{"name": b["name"], "arguments": json.dumps(b["input"])} for b in used]
    calls = [{"id": "call_1", "type": "function", "function": each} for each in functions]
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    said = {"role": "assistant", "content": None if calls else text} | (
        {"tool_calls": calls} if calls else {}
    )
    usage, end = body.get("usage") or {}, body.get("stop_reason")
    counts = {"prompt_tokens": usage.get("input_tokens")}
    counts |= {"completion_tokens": usage.get("output_tokens")}
    choice = {"index": 0, "message": said, "finish_reason": _FINISHED.get(end, end)}
    base = {"id": "chatcmpl_fake", "object": "chat.completion", "model": body["model"]}
    return base | {"choices": [choice], "usage": counts}


def error(status, kind, words, code=None, **headers) -> Reply:
    """An error reply in the API's form; header names are given with underscores."""
    inner: dict[str, Any] = {"type": kind, "message": words}
    if code:
        inner["details"] = {"error_code": code}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, {"type": "error", "error": inner, "request_id": "req_fake"}, named)


def _block(text, kind="text") -> dict[str, str]:
    return {"type": kind, "text": text}


def _message(text="ls -la", **over) -> Reply:
    return Reply(body=message(text, **over))


def _bad(words) -> Reply:
    return error(400, "invalid_request_error", words)


def _limit(words="slow down", code=None, **headers) -> Reply:
    return error(429, "rate_limit_error", words, code, **headers)


WHOLE = json.dumps(message()).encode()
CUT = WHOLE[:-20]
THINKING = {"type": "thinking", "thinking": "", "signature": "c2ln"}
_LARGE = {"created": 1700000000123456789, "score": 5.623329633899874e16}
_PLAIN = {
    "ok": Reply(),
    "thinking-first": _message(content=[THINKING, _block("ls -la")]),
    "several-blocks": _message(content=[_block("ls "), _block("-la")]),
    "unknown-block": _message(content=[_block("no", "hologram"), _block("ls -la"), "loose"]),
    "wrong-model": _message(model="another-model"),
    "no-usage": _message(usage=_LEFT_OUT),
    "odd-usage": _message(usage={"input_tokens": "many", "output_tokens": -3}),
    "byte-order-mark": Reply(body=b"\xef\xbb\xbf" + WHOLE),
    "large-numbers": _message(**_LARGE),
    "slow-first-byte": Reply(first_byte_s=0.3),
    "slow-stream": Reply(chunk_bytes=20, chunk_s=0.01),
}
ANSWERS: dict[str, tuple[Reply, str, str]] = {
    **{name: (reply, "ok", "ls -la") for name, reply in _PLAIN.items()},
    "refusal": (_message(content=[], stop_reason="refusal"), "refusal", ""),
    "bare-refusal": (_message(content=None, stop_reason="refusal"), "refusal", ""),
    "empty": (_message("  \n"), "empty", "  \n"),
    "no-content": (_message(content=[]), "empty", ""),
    "truncated": (_message("find . -na", stop_reason="max_tokens"), "truncated", "find . -na"),
    "only-thinking": (_message(content=[THINKING], stop_reason="max_tokens"), "truncated", ""),
    "lone-surrogate": (_message("echo \ud800 x"), "ok", "echo \N{REPLACEMENT CHARACTER} x"),
}
"""Replies that are answers, their outcome and text."""
SLOW = {
    "never-a-first-byte": Reply(first_byte_s=30),
    "endless-stream": Reply(chunk_bytes=1, chunk_s=0.25),
    "endless-headers": Reply(drip=(b"HTTP/1.1 200 OK\r\n", b"x-slow: 1\r\n")),
    "endless-1xx": Reply(drip=(b"", b"HTTP/1.1 102 Processing\r\n\r\n")),
}
BILLED = {
    "reset-in-the-middle": Reply(reset="middle"),
    "short-body": Reply(body=CUT, content_length=len(WHOLE)),
    "error-in-200": Reply(body={"type": "error", "error": {"message": "Overloaded", "type": "x"}}),
    "html": Reply(body=b"<!doctype html><title>Sign in</title>"),
    "no-message": Reply(body={"hello": "world"}),
    "list": Reply(body=[1, 2, 3]),
    "no-body": Reply(body=b""),
    "not-a-number": _message(usage={"input_tokens": float("nan")}),
    "beyond-bounds": Reply(body=WHOLE.replace(b"120", b"1e999")),
    "unknown-stop": _message(stop_reason="tired"),
    "no-stop": _message(stop_reason=_LEFT_OUT),
    "deep": Reply(body=b"[" * 100_000 + b"]" * 100_000),
    "cut-JSON": Reply(body=CUT),
    "invalid-UTF-8": Reply(body=WHOLE.replace(b"ls", b"\xff\xfe")),
    "huge": _message("x" * 10_000_000),
}
BILLED["silent"] = _message("", usage={"input_tokens": 9, "output_tokens": 0})
"""Replies that a service may have billed, and that are not answers."""
ONLY_THOUGHT = _message(content=[THINKING | {"thinking": "Hm"}])
TROUBLES = {
    **{str(status): error(status, "api_error", "no") for status in (408, 409, 425, 499, 500, 501)},
    "rate-limit": _limit(),
    "rate-limit-in-ms": _limit(retry_after_ms="150"),
    "ramp-limit": _limit("growing too fast", "ramp_limit_exceeded", retry_after="0.1"),
    "bad-gateway": Reply(502, b"<html><body>Bad gateway</body></html>"),
    "unavailable": error(503, "api_error", "unavailable", retry_after="0.1"),
    "gateway-timeout": error(504, "timeout_error", "timeout"),
    "overloaded": error(529, "overloaded_error", "Overloaded"),
    "reset-before": Reply(reset="before"),
    "reset-after": Reply(reset="after"),
}
"""What passes, and costs nothing."""
FLAGGED = "Your chosen model requires moderation and your input was flagged for violence"
AZURE_FILTER = {"code": "content_filter", "param": "prompt", "message": "filtered, please modify"}
THIS_CELL_ONLY = {
    "bad-request": _bad("messages: at least one message is required"),
    "too-large": error(413, "request_too_large", "too large"),
    "unprocessable": error(422, "invalid_request_error", "unprocessable"),
    "content-filter": Reply(400, {"error": AZURE_FILTER}),
    "flagged": Reply(403, {"error": {"code": 403, "message": FLAGGED}}),
    "forbidden-elsewhere": Reply(403, {"error": {"message": "not in your country"}}),
    "no-retry": error(500, "api_error", "do not come back", x_should_retry="false"),
    "absurd-rate-limit": _limit(retry_after="4294967"),
}
STOPS_RUN = {
    "usage-limit": _bad("You have reached your specified API usage limits."),
    "bedrock-key": Reply(403, {"Message": "Authentication failed: your API Key is not valid"}),
    "credit-balance": _bad("Your credit balance is too low to access the API."),
    "bad-key": error(401, "authentication_error", "invalid x-api-key"),
    "payment": error(402, "billing_error", "payment required"),
    "forbidden": error(403, "permission_error", "your key may not use this model"),
    "spend-cap": _limit("limit reached", "enforced_spend_limit_reached"),
    "contract-cap": _limit("limit reached", "contract_spend_limit_reached"),
}
_ELSEWHERE = {"location": "https://elsewhere.example/v1/messages"}
_TEMPERATURE = "`temperature` (`provider-default`"
STOPS_MODEL = {
    "not-found": (error(404, "not_found_error", "model: no-such-model"), "check the model's `id`"),
    "redirect": (Reply(307, b"", _ELSEWHERE), "redirects (307) to https://elsewhere.example/v1/"),
    "refused-temperature": (_bad("`temperature` is deprecated for this model."), _TEMPERATURE),
    "extra-inputs": (_bad("temperature: Extra inputs are not permitted"), _TEMPERATURE),
    "effort": (_bad("Unsupported value: 'reasoning_effort' does not support 'max'"), "`effort`"),
    "tools": (_bad("Function tools are not supported for this model"), "`interface`"),
    "thinks-always": (_bad('"thinking.type.disabled" is not supported'), "change `thinking`"),
    "thinks": (_bad("`temperature` may only be set to 1 when thinking is enabled"), _TEMPERATURE),
}
"""Replies that end the asking of a model, and what the run says."""
BEHAVIOURS: dict[str, Reply] = {name: reply for name, (reply, *_) in ANSWERS.items()}
BEHAVIOURS["only-thought"] = ONLY_THOUGHT
BEHAVIOURS |= SLOW | BILLED | TROUBLES | THIS_CELL_ONLY | STOPS_RUN
BEHAVIOURS |= {name: reply for name, (reply, _) in STOPS_MODEL.items()}


class Endpoint(contextlib.AbstractContextManager):
    """The server. `answer(prompt)` is its default reply, `delay_s` the seconds before it."""

    def __init__(
        self,
        answer=lambda prompt: "ls -la",
        *,
        delay_s=0.0,
        new_each_turn=False,
    ) -> None:
        self.answer, self.delay_s, self.new_each_turn = answer, delay_s, new_each_turn
        self.requests: list[Seen] = []
        self.most_at_once = 0
        self.on_request: Callable[[Seen], None] = lambda seen: None
        self._script: deque[Reply] = deque()
        self._always: Reply | None = None
        self._when: list[tuple[Callable[[Seen], bool], Reply]] = []
        self._now, self._lock, self.closing = 0, threading.Lock(), threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.endpoint = self
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        serve = {"target": self._server.serve_forever, "args": (0.05,)}
        threading.Thread(**serve, daemon=True).start()

    def wrap(self, context) -> None:
        """Speak TLS from now on."""
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    # ------------------------------------------------------------ script

    def script(self, *behaviours: str | Reply) -> Self:
        """What the next message requests get, one each, in order."""
        self._script.extend(map(_reply, behaviours))
        return self

    def always(self, behaviour: str | Reply | None) -> Self:
        """What every message request gets once the script is empty; None: the default answer."""
        self._always = None if behaviour is None else _reply(behaviour)
        return self

    def when(self, test: Callable[[Seen], bool], behaviour: str | Reply) -> Self:
        """What message requests get that fit a test; asked before the script."""
        self._when.append((test, _reply(behaviour)))
        return self

    @property
    def prompts(self) -> list[str]:
        """The prompts of all message requests in the order of arrival."""
        return [seen.prompt for seen in self.requests if _PATH.fullmatch(seen.path)]

    def __exit__(self, *_) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    # ------------------------------------------------------------ what it does

    def reply_to(self, seen: Seen) -> Reply:
        """The reply to a request; the script is used up by message requests only."""
        if not (path := _PATH.fullmatch(seen.path)):
            return error(404, "not_found_error", f"no such path: {seen.path}")
        reply = next((reply for test, reply in self._when if test(seen)), None)
        if reply is None:
            with self._lock:
                reply = self._script.popleft() if self._script else self._always
        reply = self._filled(reply or Reply(first_byte_s=self.delay_s), seen)
        return replace(reply, body=completion(reply.body)) if path["chat"] else reply

    def _filled(self, reply: Reply, seen: Seen) -> Reply:
        if reply.body is not None:
            return reply
        asked, text = seen.body or {}, self.text_to(seen)
        if tools := asked.get("tools"):
            name = tools[0].get("name") or tools[0]["function"]["name"]
            call = {"type": "tool_use", "id": "toolu_1", "name": name, "input": {"command": text}}
            return replace(reply, body=message(content=[call], stop_reason="tool_use"))
        return replace(reply, body=message(text, model=asked.get("model", "fake")))

    def text_to(self, seen: Seen) -> str:
        """The default reply's text; if `new_each_turn` no conversation ends with a repeat."""
        new = self.new_each_turn and seen.turn > 1
        return self.answer(seen.prompt) + (f"\n# {seen.turn}" if new else "")

    def count(self, more) -> None:
        """Count how many requests are being answered at once."""
        with self._lock:
            self._now += more
            self.most_at_once = max(self.most_at_once, self._now)


def _reply(behaviour: str | Reply) -> Reply:
    return BEHAVIOURS[behaviour] if isinstance(behaviour, str) else behaviour


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    endpoint: Endpoint

    def handle_error(self, request, client_address) -> None:
        """A client that left is not an error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format, *args) -> None:
        """Requests are in `Endpoint.requests`."""

    def _serve(self) -> None:
        endpoint = self.server.endpoint
        with contextlib.ExitStack() as stack:
            endpoint.count(1)
            stack.callback(endpoint.count, -1)
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            seen = Seen(self.path, headers, json.loads(data) if data else None)
            endpoint.on_request(seen)
            endpoint.requests.append(seen)
            reply = endpoint.reply_to(seen)
            if reply.reset in ("before", "after"):
                return self._reset()
            if reply.drip:
                return self._drip(*reply.drip)
            endpoint.closing.wait(reply.first_byte_s)
            self._send(reply)
        return None

    def _send(self, reply: Reply) -> None:
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        number = b"%04x" % next(_NUMBERS)  # each response has its own id
        for kind in (b"msg", b"chatcmpl"):
            body = body.replace(b'"%b_fake"' % kind, b'"%b_%b"' % (kind, number))
        length = len(body) if reply.content_length is None else reply.content_length
        lines = [f"HTTP/1.1 {reply.status} Status"]
        headers = {"content-type": "application/json", "request-id": "req_fake"}
        headers["content-length"] = str(length)
        lines += [f"{name}: {value}" for name, value in (headers | reply.headers).items()]
        head = "\r\n".join(lines).encode() + b"\r\n\r\n"
        if reply.reset == "middle":
            self.wfile.write(head + body[: len(body) // 2])
            return self._reset()
        self.wfile.write(head)
        size = reply.chunk_bytes or len(body) or 1
        for start in range(0, len(body), size):
            self.wfile.write(body[start : start + size])
            self.server.endpoint.closing.wait(reply.chunk_s)
        if length != len(body):
            self.close_connection = True
        return None

    do_GET = do_POST = _serve

    def _drip(self, once, again) -> None:
        self.close_connection = True
        self.wfile.write(once)
        with contextlib.suppress(OSError):  # the client went away
            while not self.server.endpoint.closing.wait(0.05):
                self.wfile.write(again)

    def _reset(self) -> None:
        """Cut the connection with RST instead of an orderly end."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
