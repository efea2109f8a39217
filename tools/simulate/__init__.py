"""Simulated studies of the design: the source of every simulated figure of docs and report."""
