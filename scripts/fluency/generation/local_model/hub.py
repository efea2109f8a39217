"""A file from a model hub over HTTPS, from where an earlier attempt stopped."""

from __future__ import annotations

import http.client
import queue
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from fluency.generation.local_model.download_progress import Progress
from fluency.generation.local_model.weight_sources import Unreachable

CONNECT_S = 5.0
STALL_S = 20.0
PIECE = 1 << 20


def append_from_hub(url: str, partial: Path, size: int, progress: Progress) -> None:
    """Append what `partial` lacks of the `size` bytes at `url`.

    Unreachable when no answer comes within five seconds, the answer is another file, or the connection
    breaks; what arrived is then in `partial`. OSError is the disk's.
    """
    have = partial.stat().st_size if partial.exists() else 0
    if have >= size:
        return
    response = _open(urllib.request.Request(url, headers={"Range": f"bytes={have}-", "User-Agent": "fluency"}))
    with response:
        if response.status == 200:
            have = 0
        if response.status not in (200, 206) or response.headers.get("Content-Length") != str(size - have):
            raise Unreachable("answers with something else than the file")
        with partial.open("r+b" if partial.exists() else "wb") as out:
            out.truncate(have)
            out.seek(have)
            while have < size:
                piece = _read(response, min(PIECE, size - have))
                out.write(piece)
                have += len(piece)
                progress.at(have)


def _read(response: Any, count: int) -> bytes:
    try:
        piece: bytes = response.read1(count)  # what is there now, so that a kill loses little
    except (OSError, http.client.HTTPException) as error:
        raise Unreachable(f"broke off ({error})") from None
    if not piece:
        raise Unreachable("broke off")
    return piece


def _open(request: urllib.request.Request) -> Any:
    """The answer, or Unreachable after five seconds: looking up a name knows no time-out, hence the thread."""
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(urllib.request.urlopen(request, timeout=STALL_S))
        except (OSError, http.client.HTTPException, ValueError) as error:
            answers.put(error)

    threading.Thread(target=ask, daemon=True, name="hub").start()
    try:
        answer = answers.get(timeout=CONNECT_S)
    except queue.Empty:
        raise Unreachable(f"does not answer within {CONNECT_S:.0f} s") from None
    if isinstance(answer, urllib.error.HTTPError):
        raise Unreachable(f"answers with status {answer.code}")
    if isinstance(answer, Exception):
        raise Unreachable("cannot be reached")
    return answer
