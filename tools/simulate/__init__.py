"""Simulated studies of the design: every simulated figure of the docs and the report comes from here."""
