"""Seeded draws, the same on every machine, and the names that worlds draw from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import chain, count
from struct import Struct
from typing import TypeVar

from fluency.common.data_file import data_file

T = TypeVar("T")
_WORDS = Struct(">8L")
"""The words of 32 bits in a SHA-256."""


class Rng:
    """An endless stream of draws that depends on `name` alone."""

    def __init__(self, name: str) -> None:
        self._name = name
        blocks = (hashlib.sha256(f"{name}#{number}".encode()).digest() for number in count())
        self._words: Iterator[int] = chain.from_iterable(map(_WORDS.unpack, blocks))

    def split(self, part: str) -> Rng:
        """A separate stream for one part: a change in one part does not change the others."""
        return Rng(f"{self._name}/{part}")

    def below(self, bound: int) -> int:
        """A whole number from 0 to `bound` - 1; the bias is below `bound` / 2**32."""
        return next(self._words) * bound >> 32

    def between(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def chance(self, percent: int) -> bool:
        """True in `percent` of 100 draws."""
        return self.below(100) < percent

    def pick(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        left = list(items)
        for end in range(len(left) - 1, 0, -1):
            other = self.below(end + 1)
            left[end], left[other] = left[other], left[end]
        return left

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """`count` different items in drawn order."""
        return self.shuffled(items)[:count]

    def bytes(self, count: int) -> bytes:
        """`count` bytes that look random; the stream's other draws are not moved."""
        return hashlib.shake_256(f"{self._name}/bytes".encode()).digest(count)


NAMES: dict[str, str] = data_file(__file__, "names.yaml")
