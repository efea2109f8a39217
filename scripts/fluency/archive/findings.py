"""What a verification finds, in three weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from fluency.common.errors import UserError


@dataclass(frozen=True)
class Finding:
    """Something in an archive that is not as it must be: the file or cell, and a sentence."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass
class Findings:
    """problems: the archive contradicts itself. unproven: this checkout cannot make the same bytes, because its code,
    tasks or libraries are others than those the archive states. remarks: allowed, and worth knowing.
    `checked` counts links and rebuilt files by kind.
    """

    layers: frozenset[str]
    problems: list[Finding] = field(default_factory=list)
    unproven: list[Finding] = field(default_factory=list)
    remarks: list[Finding] = field(default_factory=list)
    checked: dict[str, int] = field(default_factory=dict)

    def check(self, holds: bool, where: str, what: str, *, kind: str, layer: str | None = None) -> bool:
        """Count a check; if it fails, note it: a problem, or unproven when the layer's code is not the archive's."""
        self.checked[kind] = self.checked.get(kind, 0) + 1
        if not holds:
            if layer is None or layer in self.layers:
                self.problems.append(Finding(where, what))
            else:
                self.unproven.append(Finding(where, f"{what}, by this checkout's code, which is not the archive's"))
        return holds

    def remark(self, where: str, what: str) -> None:
        """Note what is allowed and worth knowing."""
        self.remarks.append(Finding(where, what))

    @contextmanager
    def noting_errors(self, where: str = "") -> Iterator[None]:
        """Note what the block refuses, as a problem of the file it names."""
        try:
            yield
        except UserError as error:
            self.problems.append(Finding(error.where or where, error.what))
