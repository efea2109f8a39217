"""The generation of a cell: out of the store, or by asking its model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping

from fluency.common.errors import StopRun, UserError
from fluency.core.records import Generation
from fluency.core.study import Cell, ModelConfig, Study
from fluency.generation.batches import BatchSession, outstanding
from fluency.generation.budget import Budget
from fluency.generation.failure import ModelStop, RetryPolicy, retry_policy_for
from fluency.generation.model_session import ModelSession
from fluency.generation.store import AnswerStore


class Generator:
    """Asks the models of a study; one for a run, used by all its threads. StopRun if another run asks into the store.

    `base_urls` (alias → address) and `base_url` (called once, on the first call of an embedded model) say where
    models are that the config gives no address for. `spent_usd` is what earlier runs spent on the study;
    budget.stop_usd counts it.
    """

    def __init__(
        self,
        study: Study,
        *,
        store: AnswerStore,
        base_urls: Mapping[str, str] | None = None,
        base_url: Callable[[ModelConfig], str] | None = None,
        environ: Mapping[str, str] | None = None,
        retry_policy: RetryPolicy | None = None,
        spent_usd: float = 0.0,
    ) -> None:
        store.hold()
        self.study, self.store = study, store
        self.budget = Budget(study.budget.stop_usd, spent_usd)
        self._base_urls, self._base_url = dict(base_urls or {}), base_url
        # A copy: opening a connection clears part of the environment.
        environ = dict(os.environ if environ is None else environ)
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
                url_of=self._url_of,
                stop_run=self._stop,
            )
            if kind is ModelSession and (notes := outstanding(store, model.id)):
                # Both would be paid.
                hint = "set `transport: batch` to collect it, or delete this file to give it up"
                session.pace.stop(ModelStop("a batch of this model is still out", where=str(notes[0]), hint=hint))

    def generate(self, cell: Cell, prompt: str, task_sha256: str) -> Generation:
        """The cell's record; CallError if the model could not be asked now, StopRun if nobody should go on asking."""
        session = self._sessions[cell.model]
        return session.record(cell, session.answer(cell, prompt), task_sha256)

    def prepare_batches(self, cells: Iterable[tuple[Cell, str]]) -> None:
        """Announce all cells with their prompts, so that models with `transport: batch` get one batch."""
        for cell, prompt in cells:
            session = self._sessions[cell.model]
            if isinstance(session, BatchSession):
                session.expect(cell, prompt)

    def close(self) -> None:
        """Close all connections, and let another run ask."""
        for session in self._sessions.values():
            session.close()
        self.store.release()

    def _stop(self, reason: StopRun) -> None:
        for session in self._sessions.values():
            session.pace.stop(reason)

    def _url_of(self, model: ModelConfig) -> str | None:
        """Where a model is asked, if it is known; starts the embedded server if the callable does."""
        url = self._base_urls.get(model.alias) or model.base_url
        if url is None and model.served_by == "embedded":
            if self._base_url is None:
                where = f"models: {model.alias}: base_url"
                raise UserError("the embedded model is not served", where=where, hint="start it with the run")
            url = self._base_url(model)
        return url
