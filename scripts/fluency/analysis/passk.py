"""pass@k (any of k trials passes) and pass^k (all k pass), with k the study's number of trials."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb

from fluency.analysis.gap import mean
from fluency.analysis.intervals import clopper_pearson
from fluency.analysis.outcomes import Outcomes


def pass_any(passes: int, scored: int, k: int) -> Fraction | None:
    """1 - C(n-c, k)/C(n, k): chance that k of n trials drawn without replacement hold a pass.

    None where fewer than k trials were measured; the plain formula would give a spurious 1 there.
    Source: Chen et al. (2021), arXiv 2107.03374.
    """
    if scored < k:
        return None
    return 1 - Fraction(comb(scored - passes, k), comb(scored, k))


def pass_all(passes: int, scored: int, k: int) -> Fraction | None:
    """C(c, k)/C(n, k): chance that k of n trials drawn without replacement all pass; None if n < k."""
    if scored < k:
        return None
    return Fraction(comb(passes, k), comb(scored, k))


@dataclass(frozen=True)
class ShareOfTasks:
    """Mean over tasks, the tasks it was defined for, and an exact interval where it counts whole tasks."""

    value: Fraction | None
    tasks: int
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class PassK:
    """Both measures in both shells, and the table of tasks solved at least once."""

    k: int
    any_of: dict[str, ShareOfTasks]
    all_of: dict[str, ShareOfTasks]
    both: int
    pwsh_only: int
    bash_only: int
    neither: int
    complete: int
    pwsh_share: tuple[float, float] | None


def pass_k(outcomes: Outcomes) -> PassK:
    """pass@k, pass^k and the 2x2 table over tasks with every trial measured in both shells."""
    k = outcomes.trials
    shares = {}
    for name, measure in (("any", pass_any), ("all", pass_all)):
        shares[name] = {}
        for shell in ("bash", "pwsh"):
            arm = outcomes.arm(shell)
            values = [measure(c, n, k) for c, n in zip(arm.passes, arm.scored, strict=True)]
            known = [value for value in values if value is not None]
            whole = sum(value == 1 for value in known)
            interval = clopper_pearson(whole, len(known)) if known else None
            shares[name][shell] = ShareOfTasks(mean(known) if known else None, len(known), interval)
    table = {(False, False): 0, (False, True): 0, (True, False): 0, (True, True): 0}
    arms = zip(outcomes.bash.passes, outcomes.bash.scored, outcomes.pwsh.passes, outcomes.pwsh.scored, strict=True)
    for bash_passes, bash_scored, pwsh_passes, pwsh_scored in arms:
        if min(bash_scored, pwsh_scored) >= k:
            table[bash_passes > 0, pwsh_passes > 0] += 1
    discordant = table[False, True] + table[True, False]
    return PassK(
        k=k,
        any_of=shares["any"],
        all_of=shares["all"],
        both=table[True, True],
        pwsh_only=table[False, True],
        bash_only=table[True, False],
        neither=table[False, False],
        complete=sum(table.values()),
        pwsh_share=clopper_pearson(table[False, True], discordant) if discordant else None,
    )
