"""The loopback HTTP service of a world: a fixed table of answers, and a log of what was asked."""

from __future__ import annotations

import json
import os
import socket
import threading
from http import HTTPStatus

HOST = "127.0.0.1"
LONGEST_HEAD = 65536
MOST_CONNECTIONS = 64


def serve(port: int, routes: list[dict], ready: int, log: int) -> None:
    """Answer for ever: one byte to `ready` when that begins, a line of JSON to `log` before each answer goes out."""
    table = {(route["method"].upper(), route["path"]): route for route in routes}
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((HOST, port))
    server.listen(128)
    os.write(ready, b"1")
    os.close(ready)
    room = threading.Semaphore(MOST_CONNECTIONS)
    while True:
        connection, _ = server.accept()
        room.acquire()
        threading.Thread(target=_converse, args=(connection, table, log, room), daemon=True).start()


def _converse(connection: socket.socket, table: dict, log: int, room: threading.Semaphore) -> None:
    try:
        connection.settimeout(60)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, connection.makefile("rb") as incoming:
            while _answer_one(connection, incoming, table, log):
                pass
    except OSError:
        pass  # whoever asked went away
    finally:
        room.release()


def _answer_one(connection: socket.socket, incoming, table: dict, log: int) -> bool:
    """Answer the next request of a connection; False when it is the last."""
    words = incoming.readline(LONGEST_HEAD).split()
    if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
        return False
    method, target = words[0].decode("latin-1"), words[1].decode("latin-1")
    head = {}
    for _ in range(200):
        line = incoming.readline(LONGEST_HEAD)
        if not line.strip():
            break
        name, _, value = line.decode("latin-1").partition(":")
        head[name.strip().lower()] = value.strip()
    length = head.get("content-length", "0")
    if head.get("expect", "").lower() == "100-continue":
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    rest = min(int(length) if length.isdigit() else 0, 1 << 30)
    while rest > 0 and (piece := incoming.read(min(rest, 1 << 16))):
        rest -= len(piece)

    path = target.partition("?")[0]
    if path.startswith("http://"):
        path = "/" + path[7:].partition("/")[2]
    route = _find(table, method, target, path)
    status, headers, body = route["status"], dict(route["headers"]), route["body"]
    last = head.get("connection", "").lower() == "close" or words[2] == b"HTTP/1.0"
    headers["Content-Length"] = str(len(body))
    if last:
        headers["Connection"] = "close"
    _note(log, {"method": method[:20], "path": target[:500], "status": status})
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    connection.sendall("\r\n".join(lines).encode("latin-1") + (b"" if method == "HEAD" else body))
    return not last


def _note(log: int, line: dict) -> None:
    """One line, whole; a log that is full keeps what it has rather than holding up the answer."""
    try:
        os.write(log, (json.dumps(line) + "\n").encode())
    except BlockingIOError:
        pass


def _find(table: dict, method: str, target: str, path: str) -> dict:
    """The route of a request: HEAD is answered like GET; an unknown path is 404, a known one otherwise asked 405."""
    asked = "GET" if method == "HEAD" else method
    for known in (target, path):
        if (asked, known) in table:
            return table[asked, known]
    allowed = sorted({name for name, known in table if known == path})
    plain = {"Content-Type": "text/plain; charset=utf-8"}
    if allowed:
        return {"status": 405, "headers": plain | {"Allow": ", ".join(allowed)}, "body": b"method not allowed\n"}
    return {"status": 404, "headers": plain, "body": b"not found\n"}
