"""What batches that are out may cost: counted in every run's budget from the order until their answers are counted."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from threading import Lock

from fluency.generation.batch_note import notes_folder, read_note
from fluency.generation.store import AnswerStore

_Version = tuple[int, int, int]


class BatchesOut:
    """The notes of one store's batches, as budgets read them; safe for threads. A run looks before each call."""

    def __init__(self, store: AnswerStore) -> None:
        self.folder, self._store = notes_folder(store), store
        self._known: dict[Path, tuple[_Version, dict[str, float]]] = {}
        self._change = Lock()

    def usd(self) -> float:
        """The most that all of their answers can cost together, in dollars; UserError for a damaged note."""
        return sum(sum(most.values()) for most in self._notes())

    def open_usd(self) -> float:
        """The same without answers that are in the store, whose cost counts already; looks for each of them."""
        return sum(dollars for most in self._notes() for key, dollars in most.items() if not self._store.has(key))

    def _notes(self) -> list[dict[str, float]]:
        """What each note states by request; each is read once, and again when it is written anew."""
        with self._change:
            found = {}
            for path in self.folder.glob("[!.]*.json"):
                with suppress(FileNotFoundError):  # just collected
                    facts = path.lstat()
                    version = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
                    known = self._known.get(path)
                    if known is None or known[0] != version:
                        note = read_note(path)
                        known = version, note.most_usd if note else {}
                    found[path] = known
            self._known = found
            return [most for _, most in found.values()]
