"""The endpoint's record of requests: which were answered, and which asked for an answer that was stored."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.generation.endpoint import Endpoint, Reply, Seen, message

SLOWEST_S = 0.3


@dataclass
class Request:
    """One request; `answered` once its reply was on its way, `cut` if none came; `run` counts the runs of the study."""

    prompt: str
    run: int
    answered: bool = False
    cut: bool = False

    def in_flight(self, run: int) -> bool:
        """Whether it waits for its reply in that run."""
        return self.run == run and not self.answered and not self.cut


@dataclass
class Ledger:
    """Requests in the order of arrival. `answers_to`: prompt -> where the store keeps its answers, one a trial."""

    answer: Callable[[str], str]
    answers_to: Mapping[str, Sequence[Path]]
    run: int = 0
    gone: bool = False
    requests: list[Request] = field(default_factory=list)
    repeated_requests: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def reply_to(self, seen: Seen) -> Reply:
        """What a request gets: an answer with a unique number, or a cut connection while the endpoint is gone."""
        with self._lock:
            number = len(self.requests)
            asked = Request(seen.prompt, self.run)
            if not self.gone:
                self._note_if_repeated(asked)
            self.requests.append(asked)
        # Some answers take longer, so that at any moment some are in flight.
        time.sleep(SLOWEST_S * hashlib.sha256(f"{number}".encode()).digest()[0] / 255)
        if self.gone:
            asked.cut = True
            return Reply(reset="before")
        asked.answered = True
        return Reply(
            body=message(
                self.answer(seen.prompt), id=f"msg_{number}", model=(seen.body or {}).get("model")
            )
        )

    def _note_if_repeated(self, asked: Request) -> None:
        """Note a request although all answers to its prompt are stored or in flight."""
        places = self.answers_to[asked.prompt]
        stored = sum(path.exists() for path in places)
        in_flight = sum(
            other.prompt == asked.prompt and other.in_flight(self.run) for other in self.requests
        )
        if stored + in_flight >= len(places):
            self.repeated_requests.append(asked.prompt)

    def lost(self) -> list[Request]:
        """Requests that were answered and whose answer is not in the store at the end."""
        paths = (path for places in self.answers_to.values() for path in places if path.exists())
        kept = {json.loads(path.read_bytes())["answer"]["raw"]["id"] for path in paths}
        return [
            asked
            for n, asked in enumerate(self.requests)
            if asked.answered and f"msg_{n}" not in kept
        ]


class Service:
    """The endpoint at one address, which may go away and come back."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._endpoint = self._open(0)
        self.url = self._endpoint.url

    def _open(self, port: int) -> Endpoint:
        endpoint = Endpoint(port=port)
        endpoint.reply_to = self.ledger.reply_to  # type: ignore[method-assign]  # as tests script it
        return endpoint

    def go_away(self) -> None:
        """Refuse connections, and cut those that are open at their next request."""
        self.ledger.gone = True
        self._endpoint.close()

    def come_back(self) -> None:
        """Serve at the same address again."""
        self.ledger.gone = False
        self._endpoint = self._open(int(self.url.rpartition(":")[2]))

    def close(self) -> None:
        """End it."""
        self._endpoint.close()
