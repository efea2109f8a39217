"""The generation of a cell: out of the store, or by asking the model, once and for ever."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping

from fluency.common.errors import StopRun, UserError
from fluency.core.cells import Cell
from fluency.core.records import Generation
from fluency.core.study import ModelConfig, Study
from fluency.generation.budget import Budget
from fluency.generation.client import PROVIDER_URL, check_base_url
from fluency.generation.model_session import Lane
from fluency.generation.retry import Patience
from fluency.generation.store import AnswerStore


class Generator:
    """Asks the models of a study; one for a run, used by all its threads.

    `base_urls` (alias → address) and `base_url` (called once, on the first call of a model that the config gives
    no address for) say where models are. `spent_usd` is what earlier runs spent on the study; budget.stop_usd
    counts it.
    """

    def __init__(
        self,
        study: Study,
        *,
        store: AnswerStore,
        base_urls: Mapping[str, str] | None = None,
        base_url: Callable[[ModelConfig], str] | None = None,
        environ: Mapping[str, str] | None = None,
        say: Callable[[str], None] = print,
        patience: Patience | None = None,
        spent_usd: float = 0.0,
    ) -> None:
        self.study, self.store, self.say = study, store, say
        # A copy: opening a client hides part of the environment for a moment.
        self.environ = dict(os.environ if environ is None else environ)
        self.budget = Budget(study.budget.stop_usd, spent_usd)
        self._base_urls, self._base_url = dict(base_urls or {}), base_url
        self._lanes = {model.alias: Lane(self, model, patience) for model in study.models}

    def generate(self, cell: Cell, prompt: str, task_sha256: str) -> Generation:
        """The cell's record; CallError if the model could not be asked now, StopRun if nobody should go on asking."""
        lane = self._lanes[self.study.model(cell.model).alias]
        return lane.record(cell, lane.answer(cell, prompt), task_sha256)

    def prepare_batches(self, cells: Iterable[tuple[Cell, str]]) -> None:
        """Tell all cells with their prompts beforehand, so that models with `transport: batch` get one batch."""
        for cell, prompt in cells:
            self._lanes[self.study.model(cell.model).alias].desk.expect(cell, prompt)

    def stop(self, reason: StopRun) -> None:
        """Hold back every further call of the run."""
        for lane in self._lanes.values():
            lane.limiter.stop(reason)

    def address_of(self, model: ModelConfig) -> str:
        """Where a model is asked; starts the embedded server if that is what the given callable does."""
        where = f"models: {model.alias}: base_url"
        url = self._base_urls.get(model.alias) or model.base_url
        if url is None and model.served_by == "embedded":
            if self._base_url is None:
                raise UserError("nobody serves the embedded model", where=where, hint="start it with the run")
            url = self._base_url(model)
        address, note = check_base_url(url or PROVIDER_URL, where)
        if note:
            self.say(note)
        return address

    def close(self) -> None:
        """Close all connections."""
        for lane in self._lanes.values():
            lane.close()
