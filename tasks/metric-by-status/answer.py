"""Sums of http_requests_total by its label status, read as the exposition format says."""

import re
from collections import Counter
from decimal import Decimal

SAMPLE = re.compile(
    r'([a-zA-Z_:][\w:]*)[ \t]*(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?[ \t]*(\S+)(?:[ \t]+-?\d+)?'
)
LABEL = re.compile(r'([a-zA-Z_]\w*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*,?[ \t]*')


def expected(world, processes):
    sums = Counter()
    for line in world.lines("data/metrics.prom"):
        if line.startswith("#"):
            continue
        name, labels, value = SAMPLE.fullmatch(line).groups()
        status = dict(LABEL.findall(labels or "")).get("status")
        if name == "http_requests_total" and status:
            sums[status] += Decimal(value)
    return [f"{status} {int(total)}" for status, total in sums.items()]
