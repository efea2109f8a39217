"""What asking a model needs of a service, whatever its wire: the one protocol that a further wire implements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from fluency.core.records import Request, ToolOffer
from fluency.core.study import ModelConfig
from fluency.generation.reply import Reading

Result = TypeVar("Result")


@dataclass(frozen=True)
class Access:
    """Where a service is and what it is asked with.

    `key_env` names the variable that held the key. `key_in_headers`: headers hold `$KEY` where the key goes.
    `region` and `project` as clouds name them; `environ` holds what goes with a key of several parts.
    """

    base_url: str
    key: str
    key_env: str = ""
    key_in_headers: bool = False
    region: str = ""
    project: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """A successful reply before anyone has read it; `latency_s` from sending to the last byte.

    `pause_s`: seconds for which, by the service's own headers, no call should start; 0 if it does not say.
    """

    body: bytes
    latency_s: float
    pause_s: float = 0.0
    request_id: str | None = None


class Provider(Protocol):
    """A connection to one address with one key; safe for threads."""

    name: str
    """The SDK and its version, as answers record it."""
    server: str
    """The host, as answers record it."""

    def __init__(self, access: Access) -> None:
        """UserError if it cannot be opened so."""

    @staticmethod
    def address(model: ModelConfig, url: str | None, where: str) -> tuple[str, str]:
        """The address as the SDK wants it (None: the service's own), and a note if it had to be corrected.

        UserError if it is none.
        """

    @staticmethod
    def read(message: Any, tool: ToolOffer | None) -> Reading:
        """A decoded message as an answer's parts, the answer being a call of `tool` if one was asked for.

        Failure if it is no message.
        """

    def ask(self, request: Request, budget_s: Callable[[], float], keep: Callable[[Reply], Result]) -> Result:
        """Send one request; what `keep` makes of the reply, before anything else happens to it.

        `budget_s` is called when the request is ready to go out: it waits for its turn and returns the seconds that
        the call may take, or raises to call it off. Failure for everything but a complete reply.
        """

    def close(self) -> None:
        """Close the connections."""


@runtime_checkable
class DescribingProvider(Provider, Protocol):
    """A provider whose service says what a model is and takes."""

    def describe(self, model_id: str, seconds: float) -> Any:
        """What the service says of a model, decoded; Failure if it says nothing within the time."""


@dataclass(frozen=True)
class Batch:
    """A batch in the service's list, and how many requests it holds."""

    id: str
    size: int


class Listing(NamedTuple):
    """Batches of the service's list, the newest first; `whole`: the list reached as far back as was asked."""

    batches: list[Batch]
    whole: bool


class BatchResult(NamedTuple):
    """What a batch brought for one request; `message` is null where it was not answered."""

    key: str
    message: Any


@runtime_checkable
class BatchProvider(Provider, Protocol):
    """A provider that also takes many requests at once, for answers within a day. Every call may raise Failure."""

    def order_batch(self, requests: Mapping[str, Request]) -> str:
        """Order the answers to requests by their keys; the batch's id."""

    def newest_batch(self) -> str:
        """The id of the batch that was made last; an empty text if there is none."""

    def batches_after(self, batch_id: str) -> Listing:
        """The batches made after one (empty: all there are); no clock has a part in it.

        All, and not `whole`, if that one is not among them: then the list may be that of another account.
        """

    def batch_has_ended(self, batch_id: str) -> bool:
        """Whether the results are there; a Failure of status 404 if the service does not know the batch."""

    def batch_results(self, batch_id: str) -> list[BatchResult]:
        """The results of a batch that has ended, in any order; lines that cannot be read are left out."""
