"""Pass rates and failures by task, model and shell, from the archives in example/."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fluency.analysis.outcomes import count_outcomes
from fluency.archive.archived_study import read_archived_study
from fluency.archive.unpack import unpacked
from fluency.common.paths import ROOT
from fluency.core.study import Study
from fluency.core.table import read_table

STUDIES = ROOT / "example"
"""Archives under version control, also in folders below."""


@dataclass(frozen=True)
class ObservedStudy:
    """A study's table. `prompts`: task -> SHA-256 of what it asked then."""

    study: Study
    frame: pd.DataFrame
    prompts: dict[str, str]

    def rates(self, model: str, tasks: Sequence[str]) -> dict[str, dict[str, tuple[int, int]]]:
        """Of those tasks that the study asked: task -> shell -> passes and measured trials."""
        asked = [task for task in tasks if task in self.prompts]
        outcomes = count_outcomes(self._rows(model), asked, self.study.trials, self.study.shells)
        return {
            task: {
                shell: (counts.passes[place], counts.scored[place])
                for shell, counts in outcomes.by_shell.items()
            }
            for place, task in enumerate(asked)
        }

    def failures(self, model: str, shell: str, tasks: Sequence[str]) -> dict[str, int]:
        """Failure class -> measured trials of these tasks that failed so, the most frequent first."""
        rows = self._rows(model)
        failed = rows[
            (rows["shell"] == shell) & rows["task"].isin(tasks) & (rows["status"] == "measured")
        ]
        failed = failed[failed["passed"].eq(False).fillna(False)]
        counts = Counter(failed["failure_class"].fillna("unclassified"))
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def _rows(self, model: str) -> pd.DataFrame:
        return self.frame[self.frame["model"] == model]


def observed_studies(folder: Path = STUDIES) -> list[ObservedStudy]:
    """The studies of the archives in a folder, in the order of their names; they are read, and not verified."""
    return list(_read(folder))


def _read(folder: Path) -> Iterator[ObservedStudy]:
    for path in sorted(Path(folder).rglob("*.tar.zst"), key=lambda path: path.name):
        with unpacked(path) as archive:
            archived = read_archived_study(archive)
            frame = read_table(archived.products / "cells.csv")
            yield ObservedStudy(
                archived.study, frame, {task.id: task.prompt_sha256 for task in archived.tasks}
            )
