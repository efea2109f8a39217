"""The note of a batch that is out: written before the order, so that the next process finds what a dead one ordered."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ValidationError

from fluency.common.clock import utc_now
from fluency.common.errors import UserError
from fluency.common.files import pretty_json, sha256, write_atomic
from fluency.core.records import Request
from fluency.generation.answer_file import read_file
from fluency.generation.providers.provider import Batch
from fluency.generation.store import AnswerStore


class BatchNote(BaseModel):
    """What was asked for, by key, since when, and how far the order got.

    `after` is the service's newest batch before the order; `not_ours` are batches of somebody else; `listed`: the
    batch was found in the service's list, and only its results will tell whether it is ours. `most_usd`: what the
    answer to each request may cost; empty in a note of before that was told.
    """

    model_id: str
    batch_id: str | None = None
    ordering: bool = False
    since_utc: str
    after: str = ""
    listed: bool = False
    not_ours: list[str] = []
    most_usd: dict[str, float] = {}
    requests: dict[str, Request]

    def fits(self, batch: Batch) -> bool:
        """Whether a batch of the service's list may be this one."""
        return batch.size == len(self.requests) and batch.id not in self.not_ours

    def write(self, path: Path) -> None:
        """Keep the note as it is now."""
        write_atomic(path, pretty_json(self.model_dump(mode="json")))


def new_note(store: AnswerStore, model_id: str, requests: dict[str, Request], most_usd: dict[str, float]) -> Path:
    """Write the note of an order that is about to be given; its path."""
    path = notes_folder(store) / f"{name_of(model_id)}-{sha256(''.join(requests))[:16]}.json"
    since = utc_now("milliseconds")
    BatchNote(model_id=model_id, since_utc=since, requests=requests, most_usd=most_usd).write(path)
    return path


def read_note(path: Path) -> BatchNote | None:
    """The note in a file, or None if there is none; UserError if something else is there."""
    data = read_file(path)
    try:
        return None if data is None else BatchNote.model_validate_json(data)
    except ValidationError:
        raise UserError(
            "this note of a batch that is out is damaged",
            where=str(path),
            hint="restore it from a copy, or delete it; then what the batch was to answer is paid again",
        ) from None


def outstanding(store: AnswerStore, model_id: str) -> list[Path]:
    """Notes of a model's batches that are out; one whose process died after its last answer is done with."""
    notes = []
    for path in sorted(notes_folder(store).glob(f"{name_of(model_id)}-*.json")):
        if (note := read_note(path)) is None:  # another process has just finished it
            continue
        if all(map(store.has, note.requests)):
            path.unlink(missing_ok=True)
        else:
            notes.append(path)
    return notes


def name_of(model_id: str) -> str:
    """What a model's notes, and their lock, are called by."""
    return sha256(model_id)[:16]


def notes_folder(store: AnswerStore) -> Path:
    """Where the notes of all batches lie that are out."""
    return store.folder / "batches"
