"""The gate before a run: what it will do and cost, what is missing, and whether somebody agreed to pay."""

from __future__ import annotations

import os
from typing import Any


def check_gate(pipeline: Any) -> None:
    """Before the first job."""
    from fluency.generation import require_keys

    require_keys(pipeline.study, os.environ)


def ask_price(pipeline: Any) -> str:
    """What `confirm` is to be."""
    return pipeline.study.confirm
