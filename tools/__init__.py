"""What the developers run: benchmarks, random faults, disturbed runs, simulated studies, other programs' parts."""
