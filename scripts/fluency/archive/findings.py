"""What a verification found in an archive, and its two verdicts: on evidence and on scores."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from fluency.archive.manifest import Manifest
from fluency.common.errors import UserError

ArchiveVerdict = Literal["ALTERED", "NOT CHECKED", "PROVEN"]
EXIT_CODES: dict[ArchiveVerdict, int] = {"ALTERED": 1, "NOT CHECKED": 3, "PROVEN": 0}
"""The worst first. 2 is a user's mistake, such as a file that is not an archive."""
Aspect = Literal["evidence", "scores"]
JUDGES = ("score", "control")
"""The stages whose code judges an archive: checks, and what a reply's command is."""
LIMIT_NOTE = (
    "note: no archive can prove that its answers came from the model, that its image was what its "
    "sources say, or that its times are right"
)


class ArchiveFinding(NamedTuple):
    """Something unexpected in an archive: the file or cell, and a sentence."""

    where: str
    what: str
    aspect: Aspect = "evidence"

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass
class VerifyReport:
    """What a verification found, each finding once.

    Attributes:
        sha256: the archive file's, to be compared with the decision record.
        same_code: stages of which this checkout has the code that the archive states.
        found: the findings by weight. ALTERED: the archive contradicts itself; NOT CHECKED: this
            checkout cannot judge it, because its code or tasks differ; note: allowed.
        checked: number of checks.
    """

    path: Path
    sha256: str
    manifest: Manifest
    same_code: frozenset[str] = frozenset()
    found: dict[str, dict[ArchiveFinding, None]] = field(default_factory=lambda: defaultdict(dict))
    checked: Counter[Aspect] = field(default_factory=Counter)
    seconds: float = 0

    @property
    def altered(self) -> list[ArchiveFinding]:
        return list(self.found["ALTERED"])

    def add(
        self,
        weight: Literal["ALTERED", "NOT CHECKED", "note"],
        where: str,
        what: str,
        aspect: Aspect = "evidence",
    ) -> None:
        """Add a finding, unless it is there already."""
        self.found[weight].setdefault(ArchiveFinding(where, what, aspect))

    def check(
        self,
        where: str,
        holds: bool,
        what: str,
        stage: str | None = None,
        aspect: Aspect = "evidence",
    ) -> bool:
        """Count a check, and note it if it fails.

        Args:
            stage: by whose code the check is decided. Where this checkout's differs from the
                archive's, a failure contradicts nothing: a judge's leaves the archive unchecked,
                any other is a note.
        """
        self.checked[aspect] += 1
        if holds:
            return True
        if stage is None or stage in self.same_code:
            self.add("ALTERED", where, what, aspect)
        elif stage in JUDGES:
            self.add("NOT CHECKED", where, what, aspect)
        else:
            self.add("note", where, f"by this checkout's code, {what}")
        return False

    @contextmanager
    def collecting_errors(self, where: str = "") -> Iterator[None]:
        """Note what the block refuses, as a contradiction in the file that it names."""
        try:
            yield
        except UserError as error:
            self.add("ALTERED", error.where or where, error.what)

    def verdict(self, aspect: Aspect | None = None) -> ArchiveVerdict:
        """The verdict on an aspect, or on the whole archive."""
        for verdict in EXIT_CODES:
            if any(aspect in (None, finding.aspect) for finding in self.found[verdict]):
                return verdict
        return "PROVEN"

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict()]

    def lines(self, most: int = 10) -> list[str]:
        """The report for a terminal, with at most `most` findings of each weight."""
        manifest = self.manifest
        state = "uncommitted changes" if manifest.dirty else "no uncommitted changes"
        same = f"{len(self.same_code)} of {len(manifest.code)} stages have this checkout's code"
        lines = [
            f"{self.path.name}, checked in {self.seconds:.1f} s",
            f"SHA-256 {self.sha256}",
            f"stated: version {manifest.made_by}, {manifest.utc_date}, commit {manifest.commit}, "
            f"{state}; {same}",
        ]
        for aspect in get_args(Aspect):
            lines.append(f"{aspect:8}  {self.verdict(aspect)}  {self.checked[aspect]:,} checks")
        if manifest.partial:
            lines.append(f"PARTIAL: {len(manifest.missing)} of {manifest.cells} cells are missing")
        if manifest.private_tasks:
            lines.append(f"It holds private tasks in full: {', '.join(manifest.private_tasks)}")
        lines += [f"not measured: {shell}: {why}" for shell, why in manifest.not_measured.items()]
        for weight in (*EXIT_CODES, "note"):
            found = list(self.found[weight])
            lines += [f"{weight} {finding}" for finding in found[:most]]
            lines += [f"{weight} … and {len(found) - most:,} more"] * (len(found) > most)
        lines.append(LIMIT_NOTE)
        if self.verdict() == "NOT CHECKED":
            lines.append(self.next_step)
        return [*lines, self.verdict()]

    @property
    def next_step(self) -> str:
        """How to check what this checkout cannot."""
        if self.manifest.dirty:
            return "It was made with uncommitted changes, so no commit holds the code to check it."
        return f"To check the rest: git checkout {self.manifest.commit}, and verify again there"
