"""Benchmarks: ratios measured in one run, written to bench/results/, never a timed test."""
