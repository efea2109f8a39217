"""Scoring: a result and the expected answer in, a judgement out."""
