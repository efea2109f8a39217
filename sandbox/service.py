"""The loopback HTTP service of a world: answers requests by its routes, and logs them."""

from __future__ import annotations

import json
import os
import socket
import threading
from http import HTTPStatus

from routes import Routes

HOST = "127.0.0.1"
LONGEST_HEAD = 65536
LONGEST_BODY = 1 << 20
MOST_CONNECTIONS = 64


def serve(port: int, routes: list[dict], ready: int, log: int) -> None:
    """Serve for ever: a byte to `ready` once it listens, a line of JSON to `log` an answer."""
    table = Routes(routes)
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((HOST, port))
    server.listen(128)
    os.write(ready, b"1")
    os.close(ready)
    slots = threading.Semaphore(MOST_CONNECTIONS)
    while True:
        connection, _ = server.accept()
        slots.acquire()
        threading.Thread(
            target=_serve_connection, args=(connection, table, log, slots), daemon=True
        ).start()


def _serve_connection(
    connection: socket.socket, table: Routes, log: int, slots: threading.Semaphore
) -> None:
    try:
        connection.settimeout(60)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, connection.makefile("rb") as incoming:
            while _answer_one(connection, incoming, table, log):
                pass
    except (OSError, ValueError):
        pass  # the client is gone, or does not speak HTTP
    finally:
        slots.release()


def _answer_one(connection: socket.socket, incoming, table: Routes, log: int) -> bool:
    """Answer the next request of a connection; False when it is the last."""
    words = incoming.readline(LONGEST_HEAD).split()
    if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
        return False
    method = words[0].decode("latin-1")
    head = {}
    for _ in range(200):
        line = incoming.readline(LONGEST_HEAD)
        if not line.strip():
            break
        name, _, value = line.decode("latin-1").partition(":")
        head[name.strip().lower()] = value.strip()
    if head.get("expect", "").lower() == "100-continue":
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    status, headers, body = table.answer(method, words[1], head, _body(incoming, head))
    last = head.get("connection", "").lower() == "close" or words[2] == b"HTTP/1.0"
    headers = headers if status == 304 else headers | {"Content-Length": str(len(body))}
    if last:
        headers = headers | {"Connection": "close"}
    _write_log(
        log, {"method": method[:20], "path": words[1].decode("latin-1")[:500], "status": status}
    )
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    lines = [
        f"HTTP/1.1 {status} {phrase}",
        *(f"{name}: {value}" for name, value in headers.items()),
        "",
        "",
    ]
    connection.sendall("\r\n".join(lines).encode("latin-1") + (b"" if method == "HEAD" else body))
    return not last


def _write_log(log: int, line: dict) -> None:
    """Write one whole line; it is dropped where the log is full, so that no answer waits."""
    try:
        os.write(log, (json.dumps(line) + "\n").encode())
    except BlockingIOError:
        pass


def _body(incoming, head: dict[str, str]) -> bytes:
    """The start of a request's body; all of it is read, because the next request follows it."""
    if head.get("transfer-encoding", "").lower() != "chunked":
        length = head.get("content-length", "0")
        return _read(incoming, int(length) if length.isdigit() else 0)
    body = b""
    while size := int(incoming.readline(LONGEST_HEAD).partition(b";")[0], 16):
        body += _read(incoming, size)[: LONGEST_BODY - len(body)]
        incoming.readline(LONGEST_HEAD)
    while incoming.readline(LONGEST_HEAD).strip():  # trailers after the last chunk
        pass
    return body


def _read(incoming, size: int) -> bytes:
    kept, rest = b"", min(size, 1 << 30)
    while rest > 0 and (piece := incoming.read(min(rest, 1 << 16))):
        rest -= len(piece)
        kept += piece[: LONGEST_BODY - len(kept)]
    return kept
