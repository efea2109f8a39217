"""An engine that takes a call and never answers it: the real one, behind a socket that holds one kind of call back."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from fluency.execution.engine import Engine

PIECE = 1 << 16


class HangingEngine:
    """Passes everything on, but a request whose first line holds `held`: that waits for `let_go`, then is passed on."""

    def __init__(self, engine: Engine, folder: Path, held: str) -> None:
        self._behind = engine.url.removeprefix("unix://")
        self._held = held.encode()
        self.taken, self.let_go = threading.Event(), threading.Event()
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(folder / "e.sock"))
        self._server.listen(32)
        url = f"unix://{folder}/e.sock"
        self.engine = replace(engine, url=url, options={"base_url": url}, _local=threading.local())
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(connection,), daemon=True).start()

    def _pass_on(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection, socket.socket(socket.AF_UNIX) as behind:
            behind.connect(self._behind)
            answered = threading.Event()
            threading.Thread(target=self._copy, args=(behind, connection, answered), daemon=True).start()
            waited = False
            while piece := connection.recv(PIECE):
                first = piece.partition(b"\r\n")[0]
                if not self.let_go.is_set() and first.startswith(b"POST ") and self._held in first:
                    waited = True
                    self.taken.set()
                    self.let_go.wait()
                answered.clear()
                behind.sendall(piece)
            if waited:  # whoever asked has gone: an engine may drop what is asked for by nobody
                answered.wait(60)

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket, answered: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(PIECE):
                answered.set()
                with contextlib.suppress(OSError):
                    target.sendall(piece)
            target.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Let everything go and take no more."""
        self.let_go.set()
        self._server.close()


@contextlib.contextmanager
def hanging(engine: Engine, folder: Path, held: str) -> Iterator[HangingEngine]:
    """Such an engine, closed afterwards."""
    found = HangingEngine(engine, folder, held)
    try:
        yield found
    finally:
        found.close()
