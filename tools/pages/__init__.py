"""The pages that are made from code."""
