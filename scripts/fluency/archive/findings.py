"""What a verification finds: in three weights, of three kinds of truth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from fluency.common.errors import UserError

Truth = Literal["evidence", "judgement", "words"]
"""evidence: bytes, links and what was measured. judgement: what passed, and the numbers that follow. words: classes,
reasons, report, figures and explorer, which a later version may put otherwise."""


@dataclass(frozen=True)
class Finding:
    """Something in an archive that is not as it must be: the file or cell, and a sentence."""

    where: str
    what: str
    truth: Truth = "evidence"

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass
class Findings:
    """problems: the archive contradicts itself. unproven: this checkout cannot make the same bytes, because its code,
    tasks or libraries are others than those the archive states. remarks: allowed, and worth knowing.
    `checked` counts links and rebuilt files by kind. `layers`: those whose code here is the archive's.
    """

    layers: frozenset[str]
    problems: list[Finding] = field(default_factory=list)
    unproven: list[Finding] = field(default_factory=list)
    remarks: list[Finding] = field(default_factory=list)
    checked: dict[str, int] = field(default_factory=dict)
    not_judged: dict[str, int] = field(default_factory=dict)
    """Task whose check this checkout does not have -> its scores, of which none was made anew."""
    _noted: set[tuple[bool, Finding]] = field(default_factory=set)

    def check(
        self, holds: bool, where: str, what: str, *, kind: str, layer: str | None = None, truth: Truth = "evidence"
    ) -> bool:
        """Count a check; if it fails, note it: a problem, or unproven when the layer's code is not the archive's."""
        self.checked[kind] = self.checked.get(kind, 0) + 1
        if not holds:
            if layer is None or layer in self.layers:
                self.problems.append(Finding(where, what, truth))
            else:
                self.cannot_tell(where, f"{what}, by this checkout's code, which is not the archive's", truth)
        return holds

    def cannot_tell(self, where: str, what: str, truth: Truth) -> None:
        """Note what this checkout cannot prove, once."""
        finding = Finding(where, what, truth)
        if (True, finding) not in self._noted:
            self._noted.add((True, finding))
            self.unproven.append(finding)

    def remark(self, where: str, what: str) -> None:
        """Note what is allowed and worth knowing, once."""
        finding = Finding(where, what)
        if (False, finding) not in self._noted:
            self._noted.add((False, finding))
            self.remarks.append(finding)

    @contextmanager
    def noting_errors(self, where: str = "") -> Iterator[None]:
        """Note what the block refuses, as a problem of the file it names."""
        try:
            yield
        except UserError as error:
            self.problems.append(Finding(error.where or where, error.what))
