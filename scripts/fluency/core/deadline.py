"""How long a command may take: so much longer than any reference needs that only a hung answer meets the deadline."""

from __future__ import annotations

FLOOR_S = 30.0
TIMES_THE_SLOWEST = 10.0


def least_s(slowest_s: float) -> float:
    """The shortest deadline, in seconds, for a shell whose slowest reference takes `slowest_s`."""
    return max(FLOOR_S, TIMES_THE_SLOWEST * slowest_s)


def sentence(shell: str, deadline_s: float, slowest_s: float) -> str:
    """What a measurement says of a study's deadline."""
    least = least_s(slowest_s)
    rule = f"the rule asks for max({FLOOR_S:.0f} s, {TIMES_THE_SLOWEST:.0f} x {slowest_s:.2f} s) = {least:.0f} s"
    if deadline_s >= least:
        return f"{shell}: slowest reference {slowest_s:.2f} s; {rule}, and the deadline is {deadline_s:.0f} s"
    return (
        f"{shell}: the deadline of {deadline_s:.0f} s is TOO SHORT for a slowest reference of {slowest_s:.2f} s; {rule}"
        ": set sandbox.limits.timeout_s, or measure again on a machine that is not busy"
    )
