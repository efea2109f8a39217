"""Findings, and the verification report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from fluency.archive.manifest import Manifest
from fluency.common.errors import UserError
from fluency.common.words import plural

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
    `checked` counts links and rebuilt files by kind. `layers`: the stages whose code here is the archive's.
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


Verdict = Literal["proven", "unproven", "altered"]
EXIT_CODES: dict[Verdict, int] = {"proven": 0, "altered": 1, "unproven": 3}
"""2 is a user's mistake, such as a file that is no archive."""
PROVEN = "Every hash, every link and every rebuilt file fits."
_KINDS: dict[str, Truth] = {"scores": "judgement", "table": "judgement", "products": "words"}
"""Whatever else is counted is evidence."""


@dataclass(frozen=True)
class VerifyReport:
    """What a verification found. `sha256` is the archive's own hash, to be held against the decision record.

    `problems`: the archive contradicts itself. `unproven`: this checkout cannot make the same bytes because its code,
    tasks or libraries are others. `by_hash_only`: files that nothing else vouches for. `checked`: counts by kind.
    `not_judged`: task -> scores that were not made anew, since its check is none that this checkout may run.
    """

    path: Path
    sha256: str
    manifest: Manifest
    problems: list[Finding]
    unproven: list[Finding]
    remarks: list[Finding]
    by_hash_only: list[str]
    checked: dict[str, int]
    not_judged: dict[str, int]
    seconds: float

    @property
    def ok(self) -> bool:
        """Nothing contradicts; what is unproven stands apart."""
        return not self.problems

    @property
    def proven(self) -> bool:
        """Everything that can be made anew came out the same."""
        return self.verdict() == "proven"

    def verdict(self, truth: Truth | None = None) -> Verdict:
        """Of one kind of truth, or of the whole archive."""
        if _of(truth, self.problems):
            return "altered"
        return "unproven" if _of(truth, self.unproven) else "proven"

    @property
    def exit_code(self) -> int:
        """0 proven, 1 altered, 3 not proven by this checkout."""
        return EXIT_CODES[self.verdict()]

    @property
    def conclusion(self) -> str:
        """The verdict in a sentence or two."""
        if self.problems:
            return "ALTERED: the archive was altered or is damaged, nothing may rest on it."
        if not self.unproven:
            return f"PROVEN. {PROVEN}"
        if self.verdict("judgement") == "unproven":
            return f"UNPROVEN: scores not reproduced. {self._unjudged}{_firsts(_of('judgement', self.unproven))}"
        if self.verdict("evidence") == "unproven":
            return (
                f"UNPROVEN in part: the scores were reproduced, not all of the evidence. "
                f"{_firsts(_of('evidence', self.unproven))}"
            )
        return "UNPROVEN in words only: evidence and scores are proven; other code words the report otherwise."

    @property
    def _unjudged(self) -> str:
        """How many scores this checkout could not judge at all, and of which tasks; empty if it could judge all."""
        if not self.not_judged:
            return ""
        lost = sum(self.not_judged.values())
        total, tasks = lost + self.checked.get("scores", 0), ", ".join(sorted(self.not_judged))
        return f"{lost:,} of {total:,} scores could not be judged by this checkout: those of {tasks}. "

    def lines(self, most: int = 20) -> list[str]:
        """The report for a terminal, at most so many lines of each weight."""
        lines = [self.path.name, f"SHA-256 {self.sha256}", f"checked in {self.seconds:.1f} s:"]
        for truth in get_args(Truth):
            counts = [f"{n:,} {kind}" for kind, n in self.checked.items() if _KINDS.get(kind, "evidence") == truth]
            lines.append(f"  {truth:9}  {self.verdict(truth):8}  {', '.join(counts)}".rstrip())
        if self.manifest.partial:
            lines.append(f"PARTIAL: {len(self.manifest.missing)} of {self.manifest.cells} cells are missing")
        lines += [f"not measured: {arm}: {why}" for arm, why in self.manifest.not_measured.items()]
        for title, found in (("PROBLEM", self.problems), ("UNPROVEN", self.unproven), ("remark", self.remarks)):
            ordered = [finding for truth in get_args(Truth) for finding in _of(truth, found)]
            lines += [f"{title} {finding}" for finding in ordered[:most]]
            if len(found) > most:
                lines.append(f"{title} … and {len(found) - most:,} more")
        return [*lines, *self._only_stated(most), self.conclusion]

    def _only_stated(self, most: int) -> list[str]:
        """What nobody can prove: files that nothing else vouches for, and what the manifest says of its own making."""
        more = f" … and {len(self.by_hash_only) - most:,} more" if len(self.by_hash_only) > most else ""
        files = [f"vouched for by their hash only: {', '.join(self.by_hash_only[:most])}{more}"]
        clean = "uncommitted changes" if self.manifest.dirty else "no uncommitted change"
        stated = f"version {self.manifest.made_by}, {clean}, the versions of Python and libraries, and the day"
        return [*(files if self.by_hash_only else []), f"stated, and proven by nothing: {stated}"]


def _of(truth: Truth | None, found: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in found if truth in (None, finding.truth)]


def _firsts(found: Sequence[Finding]) -> str:
    more = f", and {plural(len(found) - 1, 'finding')} more" if len(found) > 1 else ""
    return f"{found[0]}{more}."
