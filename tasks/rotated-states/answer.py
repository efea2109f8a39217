"""The last state of each worker, the parts read from the highest number down to the log itself."""

import gzip
import re

PART = re.compile(r"logs/workers\.log(?:\.(\d+)(\.gz)?)?")


def expected(world, processes):
    parts = {}
    for path, data in world.under("logs").items():
        if found := PART.fullmatch(path):
            parts[int(found[1] or 0)] = gzip.decompress(data) if found[2] else data
    last = {}
    for number in sorted(parts, reverse=True):
        last.update(line.split() for line in parts[number].decode().splitlines())
    return [f"{worker} {state}" for worker, state in last.items() if state != "idle"]
