"""Simulated figures that the report prints; `make simulate` writes this file."""

NOISE_AT_0 = "32 to 57 %"  # of a true gap of 0, read as noise
FALSE_DIRECTION_AT_0 = "10 to 37 %"  # of a true gap of 0, read as a direction
SURVIVES = "16 to 34 %"  # whose row survives leaving any task out
SURVIVES_AT_10 = "35 to 40 %"  # the same at a true gap of 10
