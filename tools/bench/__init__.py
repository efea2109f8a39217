"""Benchmarks: ratios measured in one run, written to tools/bench/results/, never a timed test."""
