"""The generation of a cell: from the store, or by asking its model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter

from fluency.common.errors import StopRun
from fluency.core.records import Generation
from fluency.core.study import Cell, ModelConfig, Study
from fluency.generation.batches import BatchSession, outstanding
from fluency.generation.budget import Budget
from fluency.generation.failure import ModelStop, RetryPolicy, retry_policy_for
from fluency.generation.model_session import ModelSession
from fluency.generation.store import AnswerStore


class Generator:
    """Asks the models of a study; one for a run, used by all its threads. StopRun if another run uses the store.

    address_of: where a model is served, None for the wire's own address; called before a model's first call.
    spent_usd: what earlier runs spent on the study, counted by budget.stop_usd.
    """

    def __init__(
        self,
        study: Study,
        *,
        store: AnswerStore,
        address_of: Callable[[ModelConfig], str | None] = attrgetter("base_url"),
        environ: Mapping[str, str] | None = None,
        retry_policy: RetryPolicy | None = None,
        spent_usd: float = 0.0,
    ) -> None:
        store.hold()
        self.study, self.store = study, store
        self.budget = Budget(study.budget.stop_usd, spent_usd)
        environ = dict(
            os.environ if environ is None else environ
        )  # opening a connection clears part of it
        self._sessions: dict[str, ModelSession] = {}
        for model in study.models:
            kind = BatchSession if model.transport == "batch" else ModelSession
            session = self._sessions[model.alias] = kind(
                study,
                model,
                store=store,
                budget=self.budget,
                retry=retry_policy or retry_policy_for(model),
                environ=environ,
                address_of=address_of,
                stop_run=self.stop,
            )
            if kind is ModelSession and (notes := outstanding(store, model.id)):
                hint = "set `transport: batch` to collect it, or delete this file to give it up"  # both would be paid
                session.pace.stop(
                    ModelStop("a batch of this model is still out", where=str(notes[0]), hint=hint)
                )

    def generate(self, cell: Cell, prompt: str, task_sha256: str) -> Generation:
        """The cell's record; CallError if the model could not be asked now, StopRun if it should not be asked again."""
        session = self._sessions[cell.model]
        return session.record(cell, session.answer(cell, prompt), task_sha256)

    def prepare_batches(self, cells: Iterable[tuple[Cell, str]]) -> None:
        """Announce all cells with their prompts, for one batch a model with `transport: batch`."""
        for cell, prompt in cells:
            session = self._sessions[cell.model]
            if isinstance(session, BatchSession):
                session.expect(cell, prompt)

    def close(self) -> None:
        """Close all connections and release the store."""
        for session in self._sessions.values():
            session.close()
        self.store.release()

    def stop(self, reason: StopRun) -> None:
        """Make no further call."""
        for session in self._sessions.values():
            session.pace.stop(reason)
