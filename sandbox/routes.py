"""The answer to a request, from the world's routes.

Handled here: query, headers and body of a request, jobs that requests start, entity tags. The
rest is in the route."""

from __future__ import annotations

import binascii
import json
import threading

Answer = tuple[int, dict, bytes]
_PLAIN = {"Content-Type": "text/plain; charset=utf-8"}


class Routes:
    """The routes of a world by path, and the jobs that were started; several threads may use it."""

    def __init__(self, routes: list[dict]) -> None:
        self._at: dict[str, list[dict]] = {}
        for route in routes:
            self._at.setdefault(route["path"], []).append(route)
        self._jobs: dict[str, tuple[dict, str, list[str]]] = {}
        self._lock = threading.Lock()

    def answer(self, method: str, target: bytes, head: dict[str, str], body: bytes) -> Answer:
        """Status, headers and body of the answer; `head` holds headers by names in lower case.

        An unknown path is 404, a known one asked with another method 405.
        """
        path, _, query = target.partition(b"?")
        if path.startswith(b"http://"):
            path = b"/" + path[7:].partition(b"/")[2]
        name = path.decode("latin-1")
        known, fields = self._at.get(name, []), form_fields(query)
        for asked in (method, "GET") if method == "HEAD" else (method,):
            for route in known:
                if route["method"] == asked and holds(route.get("when", {}), fields, head, body):
                    return self._answer_by(route, head, body)
        if name in self._jobs and method in ("GET", "HEAD"):
            return self._next_step(name, method)
        refused = (404, 405)  # a method with only such answers is not allowed
        allowed = {route["method"] for route in known if route["status"] not in refused}
        if allowed := sorted(allowed | ({"GET"} if name in self._jobs else set())):
            return 405, _PLAIN | {"Allow": ", ".join(allowed)}, b"method not allowed\n"
        return 404, _PLAIN, b"not found\n"

    def _answer_by(self, route: dict, head: dict[str, str], body: bytes) -> Answer:
        status, headers, content = route["status"], route["headers"], route["body"]
        if route["method"] == "GET" and status == 200 and is_known(headers, head):
            return 304, headers, b""
        if rules := route.get("findings"):
            content = content.replace(
                rules["mark"].encode(), json.dumps(findings(rules["rules"], body)).encode()
            )
        if job := route.get("job"):
            content = content.replace(job["mark"].encode(), self._start(job, headers).encode())
        return status, headers, content

    def _start(self, job: dict, headers: dict) -> str:
        with self._lock:
            number = f"{job['name']}-{len(self._jobs) + 1}"
            steps = [step.replace(job["mark"], number) for step in job["steps"]]
            self._jobs[job["under"] + number] = headers, number, steps
        return number

    def _next_step(self, path: str, method: str) -> Answer:
        with self._lock:
            headers, _, steps = self._jobs[path]
            step = steps.pop(0) if method == "GET" and len(steps) > 1 else steps[0]
        return 200, headers, step.encode()


def holds(when: dict, fields: dict[str, str], head: dict[str, str], body: bytes) -> bool:
    """Whether a request meets the conditions of a route."""
    for name, value in when.get("query", {}).items():
        if name not in fields or value not in (None, fields[name]):
            return False
    for name, value in when.get("headers", {}).items():
        given = head.get(name.lower())
        if given is not None and name.lower() == "content-type":
            given = given.partition(";")[0].strip().lower()
        if given is None or value not in (None, given):
            return False
    return "json" not in when or is_json(body, when["json"])


def is_json(body: bytes, text: str) -> bool:
    """Whether a body is JSON with the same value as a text."""
    try:
        return json.loads(body) == json.loads(text)
    except (ValueError, RecursionError):
        return False


def findings(rules: list[dict], body: bytes) -> list[dict]:
    """The matches of the rules in the lines of a body, in the order of the lines."""
    import re  # here, because few tasks need it and it would delay every start of the service

    lines = body.decode("utf-8", "replace").split("\n")
    return [
        {"line": number} | rule["fields"]
        for number, line in enumerate(lines, 1)
        for rule in rules
        if re.search(rule["pattern"], line)
    ]


def is_known(headers: dict, head: dict[str, str]) -> bool:
    """Whether If-None-Match names the answer's entity tag (weak comparison, RFC 9110, 13.1.2)."""
    asked = head.get("if-none-match")
    tag = next((value for name, value in headers.items() if name.lower() == "etag"), None)
    if asked is None or tag is None:
        return False
    return asked == "*" or tag.removeprefix("W/") in [
        one.strip().removeprefix("W/") for one in asked.split(",")
    ]


def form_fields(query: bytes) -> dict[str, str]:
    """The fields of a query by name, decoded like a form; the first of a name that occurs twice."""
    fields: dict[str, str] = {}
    for part in query.split(b"&"):
        name, _, value = part.partition(b"=")
        fields.setdefault(decoded(name), decoded(value))
    return fields


def decoded(text: bytes) -> str:
    """A form's text: + is a space, %XX a byte of UTF-8; invalid escapes stay as they are."""
    first, *parts = text.replace(b"+", b" ").split(b"%")
    for part in parts:
        try:
            first += binascii.unhexlify(part[:2]) + part[2:] if len(part) > 1 else b"%" + part
        except ValueError:
            first += b"%" + part
    return first.decode("utf-8", "replace")
