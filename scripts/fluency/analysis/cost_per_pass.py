"""What a passed run costs in each shell, and how the shells compare."""

from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np
import pandas as pd

from fluency.analysis.decision_table import edge_of
from fluency.analysis.outcomes import Outcomes
from fluency.analysis.power import critical


class CostPerPass(NamedTuple):
    """Sums over all measured runs of the compared tasks, failed ones too, divided by the passes.

    Attributes:
        unit: What is summed.
        by_shell: None without a pass.
        ratio: The challenger's divided by the baseline's, and its 95 % interval; None if a shell
            passes almost nothing, or all tasks agree.
    """

    unit: str
    by_shell: dict[str, float | None]
    ratio: tuple[float, float, float] | None


def cost_per_pass(rows: pd.DataFrame, pair: Outcomes) -> list[CostPerPass]:
    """Tokens, dollars and seconds of one model; a unit that is unknown of some run is left out."""
    chosen = rows["shell"].isin([*pair.by_shell]) & rows["task"].isin(pair.tasks)
    known, found = rows[chosen & rows["status"].eq("measured")], []
    passes = [np.array(own.passes, dtype=float) for own in pair.by_shell.values()]
    for unit, amounts in (
        ("output tokens", known["output_tokens"]),
        ("dollars", known["cost_usd"]),
        ("seconds", known["t_gen_s"] + known["t_exec_s"].fillna(0)),
    ):
        if amounts.isna().any() or not amounts.sum():
            continue
        by_cell = amounts.astype(float).groupby([known["shell"], known["task"]]).sum()
        costs = [
            by_cell.loc[[(shell, task) for task in pair.tasks]].to_numpy()
            for shell in pair.by_shell
        ]
        by_shell = {
            shell: float(cost.sum() / own.sum()) if own.any() else None
            for shell, cost, own in zip(pair.by_shell, costs, passes, strict=True)
        }
        found.append(CostPerPass(unit, by_shell, _ratio(costs, passes, pair)))
    return found


def _ratio(
    costs: list[np.ndarray], passes: list[np.ndarray], pair: Outcomes
) -> tuple[float, float, float] | None:
    """By the t over tasks on the log scale, linearised around the means."""
    if any(edge_of(rate) == "floor" for rate in pair.rates) or not all(map(np.any, costs)):
        return None
    (lower, one), (upper, other) = (
        (cost / cost.mean() - own / own.mean(), cost.sum() / own.sum())
        for cost, own in zip(costs, passes, strict=True)
    )
    tasks = len(pair.tasks)
    spread = float(np.std(upper - lower, ddof=1)) if tasks > 1 else 0.0
    if not spread:
        return None
    centre, half = log(other / one), critical(tasks) * spread / sqrt(tasks)
    return exp(centre), exp(centre - half), exp(centre + half)
