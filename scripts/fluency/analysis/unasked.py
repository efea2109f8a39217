"""Changes that no task asked for: how many tasks of each shell have one."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, NamedTuple

from fluency.analysis.descriptive import ShareOfTasks
from fluency.analysis.outcomes import Outcomes

if TYPE_CHECKING:
    import pandas as pd


class UnaskedChanges(NamedTuple):
    """Of one model, over the compared tasks.

    Attributes:
        by_shell: The tasks with a run that removed or changed a path unasked.
        unknown: Runs of which it is not known.
        p: Of the exact sign test, over the tasks that one shell alone has.
    """

    by_shell: dict[str, ShareOfTasks]
    unknown: dict[str, int]
    p: float


def unasked_changes(rows: pd.DataFrame, pair: Outcomes) -> UnaskedChanges:
    """The tasks with an unasked change, by shell."""
    known = rows[rows["status"].eq("measured") & rows["task"].isin(pair.tasks)]
    runs = {shell: known[known["shell"].eq(shell)] for shell in pair.by_shell}
    found = [{*own["task"][(own["unasked_changes"] > 0).fillna(False)]} for own in runs.values()]
    one, other = (len(mine - theirs) for mine, theirs in (found, found[::-1]))
    fewer = sum(comb(one + other, count) for count in range(min(one, other) + 1))
    return UnaskedChanges(
        by_shell={
            shell: ShareOfTasks(len(own), len(pair.tasks))
            for shell, own in zip(runs, found, strict=True)
        },
        unknown={shell: int(own["unasked_changes"].isna().sum()) for shell, own in runs.items()},
        p=min(1.0, 2 * fewer / 2 ** (one + other)),
    )
