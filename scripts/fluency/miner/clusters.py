"""Requests of the same intent, counted, with a few examples each; memory is bounded by the caps below."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from fluency.miner.intent import Intent
from fluency.miner.transcript import ShellRequest

MOST_CLUSTERS = 5_000
EXAMPLES = 5


@dataclass
class Cluster:
    """All requests of one intent."""

    intent: Intent
    count: int = 0
    succeeded: int = 0
    shells: Counter[str] = field(default_factory=Counter)
    examples: list[ShellRequest] = field(default_factory=list)

    def add(self, request: ShellRequest) -> None:
        """Count a request; keep it as an example while there is room and its command is new."""
        self.count += 1
        self.succeeded += request.ok is True
        self.shells[request.shell] += 1
        if request.command not in {example.command for example in self.examples}:
            self.examples.append(request)
            self.examples.sort(key=_worth)
            del self.examples[EXAMPLES:]


class Clusters:
    """Clusters by intent."""

    def __init__(self) -> None:
        self._by_intent: dict[Intent, Cluster] = {}
        self.overflow = 0

    def add(self, intent: Intent, request: ShellRequest) -> None:
        """Put a request where it belongs."""
        if intent not in self._by_intent and len(self._by_intent) >= MOST_CLUSTERS:
            self.overflow += 1
            return
        self._by_intent.setdefault(intent, Cluster(intent)).add(request)

    def ranked(self) -> list[Cluster]:
        """The clusters, the most frequent first."""
        return sorted(self._by_intent.values(), key=lambda cluster: (-cluster.count, cluster.intent))


def _worth(request: ShellRequest) -> tuple[object, ...]:
    """Successful before unknown, described before prompted, short before long; the rest makes it definite."""
    return (request.ok is not True, not request.described, len(request.text), request.text, request.command)
