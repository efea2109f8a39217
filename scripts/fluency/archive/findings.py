"""The verification report: what was found in an archive, and the verdict that follows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from fluency.archive.manifest import Manifest
from fluency.common.errors import UserError
from fluency.common.words import plural

Aspect = Literal["evidence", "scores", "wording"]
"""evidence: bytes, links and what was measured. scores: what passed, and the numbers that follow. wording: classes,
reasons, report, figures and explorer, which a later version may put otherwise."""
ASPECT_OF: dict[str, Aspect] = {
    "scores": "scores",
    "table": "scores",
    "wording": "wording",
    "products": "wording",
}
"""Kind of check -> aspect; every other kind is evidence."""


@dataclass(frozen=True)
class Finding:
    """Something in an archive that is not as it must be: the file or cell, and a sentence."""

    where: str
    what: str
    aspect: Aspect = "evidence"

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


Verdict = Literal["proven", "unproven", "altered"]
EXIT_CODES: dict[Verdict, int] = {"proven": 0, "altered": 1, "unproven": 3}
"""2 is a user's mistake, such as a file that is no archive."""


@dataclass
class VerifyReport:
    """What a verification found, each finding once. `sha256`: the archive's own, to be compared with the decision
    record. problems: the archive contradicts itself. unproven: this checkout cannot make the same bytes, because its
    code, tasks or libraries are others than those the archive states. notes: allowed, and worth knowing.

    `checked` counts links and rebuilt files by kind. `same_code_stages`: those whose code here is the archive's.
    `not_rescored`: task -> its scores, where its check is none that this checkout may run. `unchecked_files`: names of
    files of which nothing but the hash was checked.
    """

    path: Path
    sha256: str
    manifest: Manifest
    same_code_stages: frozenset[str] = frozenset()
    problems: list[Finding] = field(default_factory=list)
    unproven: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)
    not_rescored: Counter[str] = field(default_factory=Counter)
    unchecked_files: list[str] = field(default_factory=list)
    seconds: float = 0
    _seen: set[tuple[str, Finding]] = field(default_factory=set)

    def check(
        self, holds: bool, where: str, what: str, kind: str, stage: str | None = None
    ) -> bool:
        """Count a check; if it fails, note it: a problem, or unproven where the stage's code is not the archive's."""
        self.checked[kind] += 1
        if not holds and (stage is None or stage in self.same_code_stages):
            self.add_problem(where, what, kind)
        elif not holds:
            self.add_unproven(
                where, f"{what}, by this checkout's code, which is not the archive's", kind
            )
        return holds

    def add_problem(self, where: str, what: str, kind: str = "") -> None:
        self._add("problems", where, what, kind)

    def add_unproven(self, where: str, what: str, kind: str) -> None:
        self._add("unproven", where, what, kind)

    def add_note(self, where: str, what: str) -> None:
        self._add("notes", where, what)

    def _add(self, weight: str, where: str, what: str, kind: str = "") -> None:
        finding = Finding(where, what, _aspect(kind))
        if (weight, finding) not in self._seen:
            self._seen.add((weight, finding))
            getattr(self, weight).append(finding)

    @contextmanager
    def collecting_errors(self, where: str = "") -> Iterator[None]:
        """Note what the block refuses, as a problem of the file it names."""
        try:
            yield
        except UserError as error:
            self.add_problem(error.where or where, error.what)

    @property
    def ok(self) -> bool:
        """Nothing contradicts; there may be things unproven."""
        return not self.problems

    @property
    def proven(self) -> bool:
        return self.verdict() == "proven"

    @property
    def only_words_differ(self) -> bool:
        """Evidence and scores are proven; other code words the report otherwise."""
        return self.ok and {finding.aspect for finding in self.unproven} == {"wording"}

    def verdict(self, aspect: Aspect | None = None) -> Verdict:
        """Of one aspect, or of the whole archive."""
        if _of(aspect, self.problems):
            return "altered"
        return "unproven" if _of(aspect, self.unproven) else "proven"

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict()]

    @property
    def conclusion(self) -> str:
        if self.problems:
            return "ALTERED: the archive was altered or is damaged, nothing may rest on it."
        if not self.unproven:
            return "PROVEN. Every hash, every link and every rebuilt file fits."
        if self.only_words_differ:
            return "UNPROVEN in words only: evidence and scores are proven; other code words the report otherwise."
        if self.verdict("scores") == "unproven":
            lost, tasks = self.not_rescored.total(), ", ".join(sorted(self.not_rescored))
            of_all = f"{lost:,} of {lost + self.checked['scores']:,} scores"
            which = (
                f"{of_all} could not be judged by this checkout: those of {tasks}. " if lost else ""
            )
            return (
                f"UNPROVEN: scores not reproduced. {which}{_firsts(_of('scores', self.unproven))}"
            )
        found = _firsts(_of("evidence", self.unproven))
        return f"UNPROVEN in part: the scores were reproduced, not all of the evidence. {found}"

    def lines(self, most: int = 20) -> list[str]:
        """The report for a terminal, at most so many lines of each weight."""
        lines = [self.path.name, f"SHA-256 {self.sha256}", f"checked in {self.seconds:.1f} s:"]
        for aspect in get_args(Aspect):
            counts = [
                f"{n:,} {kind}" for kind, n in self.checked.items() if _aspect(kind) == aspect
            ]
            lines.append(f"  {aspect:9}  {self.verdict(aspect):8}  {', '.join(counts)}".rstrip())
        if self.manifest.partial:
            lines.append(
                f"PARTIAL: {len(self.manifest.missing)} of {self.manifest.cells} cells are missing"
            )
        lines += [
            f"not measured: {shell}: {why}" for shell, why in self.manifest.not_measured.items()
        ]
        for title, found in (
            ("PROBLEM", self.problems),
            ("UNPROVEN", self.unproven),
            ("note", self.notes),
        ):
            ordered = [finding for aspect in get_args(Aspect) for finding in _of(aspect, found)]
            lines += [f"{title} {finding}" for finding in ordered[:most]]
            if len(found) > most:
                lines.append(f"{title} … and {len(found) - most:,} more")
        places = Counter(name.split("/")[0] + "/" * ("/" in name) for name in self.unchecked_files)
        if places:
            files = (
                f"{place} ({n:,})" if place.endswith("/") else place for place, n in places.items()
            )
            lines.append(f"checked by hash only: {', '.join(files)}")
        clean = "uncommitted changes" if self.manifest.dirty else "no uncommitted change"
        stated = f"version {self.manifest.made_by}, {clean}, the versions of Python and libraries, and the day"
        return [*lines, f"stated, and proven by nothing: {stated}", self.conclusion]


def _aspect(kind: str) -> Aspect:
    return ASPECT_OF.get(kind, "evidence")


def _of(aspect: Aspect | None, found: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in found if aspect in (None, finding.aspect)]


def _firsts(found: Sequence[Finding]) -> str:
    more = f", and {plural(len(found) - 1, 'finding')} more" if len(found) > 1 else ""
    return f"{found[0]}{more}."
