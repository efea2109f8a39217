"""Validation: whether the tasks are fair and their checks notice a wrong answer."""
