"""The generation of a cell: out of the store, or by asking the model, once and for ever."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping

from fluency.common.errors import UserError
from fluency.core.records import Generation
from fluency.core.study import Cell, ModelConfig, Study
from fluency.generation.batches_out import BatchesOut
from fluency.generation.budget import Budget
from fluency.generation.context import GenerationContext
from fluency.generation.model_session import ModelSession
from fluency.generation.policies import resolve
from fluency.generation.rate_limit import rate_limit_for
from fluency.generation.retry import RetryPolicy, retry_policy_for
from fluency.generation.store import AnswerStore


class Generator:
    """Asks the models of a study; one for a run, used by all its threads.

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
        self.study = study
        self.budget = Budget(study.budget.stop_usd, store.spending, BatchesOut(store), spent_usd)
        self._base_urls, self._base_url = dict(base_urls or {}), base_url
        # A copy of the environment: opening a connection hides part of it for a moment.
        environ = dict(os.environ if environ is None else environ)
        retries = {model.alias: retry_policy or retry_policy_for(model) for model in study.models}
        limits = {model.alias: rate_limit_for(model, retries[model.alias].deadline_s) for model in study.models}
        self._sessions = {
            model.alias: ModelSession(
                GenerationContext(
                    study=study,
                    model=model,
                    policy=resolve(model),
                    retry_policy=retries[model.alias],
                    rate_limits=limits,
                    store=store,
                    budget=self.budget,
                    environ=environ,
                    url_of=self._url_of,
                )
            )
            for model in study.models
        }

    def generate(self, cell: Cell, prompt: str, task_sha256: str) -> Generation:
        """The cell's record; CallError if the model could not be asked now, StopRun if nobody should go on asking."""
        session = self._session(cell)
        return session.record(cell, session.answer(cell, prompt), task_sha256)

    def prepare_batches(self, cells: Iterable[tuple[Cell, str]]) -> None:
        """Tell all cells with their prompts beforehand, so that models with `transport: batch` get one batch."""
        for cell, prompt in cells:
            self._session(cell).batches.expect(cell, prompt)

    def close(self) -> None:
        """Close all connections."""
        for session in self._sessions.values():
            session.close()

    def _session(self, cell: Cell) -> ModelSession:
        return self._sessions[self.study.model(cell.model).alias]

    def _url_of(self, model: ModelConfig) -> str | None:
        """Where a model is asked, as far as anybody said; starts the embedded server if the callable does."""
        url = self._base_urls.get(model.alias) or model.base_url
        if url is None and model.served_by == "embedded":
            if self._base_url is None:
                where = f"models: {model.alias}: base_url"
                raise UserError("nobody serves the embedded model", where=where, hint="start it with the run")
            url = self._base_url(model)
        return url
