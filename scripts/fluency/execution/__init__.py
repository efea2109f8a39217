"""Execution: an answer in, what its command did in a clean container out."""
