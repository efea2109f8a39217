"""Simulated figures that the report and `make power` print; `make simulate` writes this file."""

from __future__ import annotations

NOISE_AT_0 = "33 to 59 %"  # studies of a true gap of 0 that the table reads as noise
FALSE_DIRECTION_AT_0 = "9 to 36 %"  # those that it reads as a direction
SURVIVES = "18 to 34 %"  # those whose row survives every deletion of a task
SURVIVES_AT_10 = "35 to 41 %"  # the same at a true gap of 10 points
SHARES_RIGHT = "38 to 57 %"  # how often a share of resamples of 80 to 90 % named the true row
STOPPING = "14 %"  # the most that looking at 5, 10, 15 and 20 trials rejects a true gap of 0
SAMPLE_SIZES: dict[str, tuple[int | None, int | None, int | None]] = {
    "A": (66, 81, 297),
    "A2": (63, 67, 273),
    "B": (147, 156, 702),
    "C": (155, 127, 726),
    "D": (47, None, 222),
}
"""Scenario -> tasks of 5 trials at which 80 % of studies say who is ahead (of a true gap of 10),
that it is 10 or more (of 20), that there is no difference (of 0); None: more than the scenario holds."""
