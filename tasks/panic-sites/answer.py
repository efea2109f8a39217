"""Panics per site, record by record."""

import re
from collections import Counter

FRAME = re.compile(r" +at \./(crates/[^:]+:\d+):\d+")


def expected(world, processes):
    counts = Counter()
    for record in world.text("logs/panics.log").removesuffix("\n").split("\n\n"):
        lines = record.split("\n")
        frames = [found[1] for line in lines if (found := FRAME.fullmatch(line))]
        if frames and any(line.startswith("thread") and " panicked at " in line for line in lines):
            counts[frames[0]] += 1
    return [f"{count} {site}" for site, count in counts.items()]
