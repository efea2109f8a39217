"""The note of a batch that is out: written before the order, so that the next process finds what a dead one ordered."""

from __future__ import annotations

import datetime as dt
import json
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel

from fluency.common.clock import utc_now
from fluency.common.files import pretty_json, sha256, write_atomic
from fluency.core.records import Request
from fluency.generation.providers.provider import Batch
from fluency.generation.store import AnswerStore

CLOCK_SKEW = dt.timedelta(minutes=10)


class BatchNote(BaseModel):
    """What was asked for, by key, since when, and how far the order got; `not_ours` are batches of somebody else."""

    model_id: str
    batch_id: str | None = None
    ordering: bool = False
    since_utc: str
    not_ours: list[str] = []
    requests: dict[str, Request]

    @property
    def since(self) -> dt.datetime:
        """The earliest moment at which the service may say that the batch was made."""
        return dt.datetime.fromisoformat(self.since_utc) - CLOCK_SKEW

    def fits(self, batch: Batch) -> bool:
        """Whether a batch of the service's list may be this one."""
        return batch.size == len(self.requests) and batch.id not in self.not_ours

    def write(self, path: Path) -> None:
        """Keep the note as it is now."""
        write_atomic(path, pretty_json(self.model_dump(mode="json")))


def new_note(store: AnswerStore, model_id: str, requests: dict[str, Request]) -> Path:
    """Write the note of an order that is about to be given; its path."""
    path = _folder(store) / f"{name_of(model_id)}-{sha256(''.join(requests))[:16]}.json"
    BatchNote(model_id=model_id, since_utc=utc_now("milliseconds"), requests=requests).write(path)
    return path


def read_note(path: Path) -> BatchNote:
    """The note in a file."""
    return BatchNote.model_validate_json(path.read_bytes())


def outstanding(store: AnswerStore, model_id: str) -> list[Path]:
    """Notes of a model's batches that are out; one whose process died after its last answer is done with."""
    notes = []
    for path in sorted(_folder(store).glob(f"{name_of(model_id)}-*.json")):
        with suppress(FileNotFoundError):  # another process has just finished it
            if all(map(store.has, json.loads(path.read_bytes())["requests"])):
                path.unlink()
            else:
                notes.append(path)
    return notes


def name_of(model_id: str) -> str:
    """What a model's notes, and their lock, are called by."""
    return sha256(model_id)[:16]


def _folder(store: AnswerStore) -> Path:
    return store.folder / "batches"
