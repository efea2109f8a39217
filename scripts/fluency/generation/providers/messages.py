"""The Messages wire: one call, or a batch of them, through the anthropic SDK; or a Failure that says what went wrong.

It serves the provider's own service, gateways, and any other server with POST /v1/messages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fluency.core.records import Request
from fluency.generation.providers.messages_calls import MessagesCalls
from fluency.generation.providers.messages_format import body_of
from fluency.generation.providers.provider import Batch, BatchResult, Listing
from fluency.generation.reply import decode


class MessagesProvider(MessagesCalls):
    """A connection to one endpoint with one key; safe for threads. Implements `BatchProvider`."""

    def _open(self, http_client: Any) -> Any:
        return self._errors.Anthropic(api_key=self.access.key, **self._options(http_client))

    def describe(self, model_id: str, seconds: float) -> Any:
        """GET /v1/models/{id}; see `DescribingProvider`."""
        self._turn.budget_s = lambda: seconds

        def call() -> bytes:
            with self.sdk.models.with_streaming_response.retrieve(model_id) as response:
                return self._clean(b"".join(response.http_response.iter_bytes()))

        try:
            return decode(self._guarded(call))
        finally:
            self._turn.budget_s = None

    # ------------------------------------------------------------ batches

    def order_batch(self, requests: Mapping[str, Request]) -> str:
        """POST /v1/messages/batches, with the version header that all the requests share."""
        orders = [{"custom_id": key, "params": body_of(request)} for key, request in requests.items()]
        headers = next(iter(requests.values())).headers
        return self._guarded(
            lambda: self._without_keys(self._batches.create(requests=orders, extra_headers=headers).id)
        )

    def newest_batch(self) -> str:
        """See `BatchProvider`; the service lists the newest first."""
        newest = self._guarded(lambda: next(iter(self._batches.list(limit=1)), None))
        return "" if newest is None else self._without_keys(newest.id)

    def batches_after(self, batch_id: str) -> Listing:
        """See `BatchProvider`."""

        def call() -> Listing:
            found: list[Batch] = []
            for batch in self._batches.list(limit=100):
                if batch.id == batch_id:
                    return Listing(found, True)
                counts = batch.request_counts
                size = counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired
                found.append(Batch(self._without_keys(batch.id), size))
            return Listing(found, not batch_id)

        return self._guarded(call)

    def batch_has_ended(self, batch_id: str) -> bool:
        """Whether the results are there; a Failure of status 404 if the service does not know the batch."""
        return self._guarded(lambda: bool(self._batches.retrieve(batch_id).processing_status == "ended"))

    def batch_results(self, batch_id: str) -> list[BatchResult]:
        """The lines of the results' file that can be read."""

        def call() -> bytes:
            with self._batches.with_streaming_response.results(batch_id) as response:
                return self._clean(b"".join(response.http_response.iter_bytes()))

        results = []
        for line in self._guarded(call).splitlines():
            with suppress(ValueError, KeyError, TypeError):
                entry = json.loads(line)
                result = entry["result"]
                message = result["message"] if result["type"] == "succeeded" else None
                results.append(BatchResult(str(entry["custom_id"]), message))
        return results

    @property
    def _batches(self) -> Any:
        return self.sdk.messages.batches
