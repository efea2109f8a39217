"""All lines of the errors, from the part with the highest number to the log itself."""

import gzip
import re

PART = re.compile(r"logs/relay\.log(?:\.(\d+)(\.gz)?)?")


def expected(world, processes):
    parts = {}
    for path, data in world.under("logs").items():
        if found := PART.fullmatch(path):
            parts[int(found[1] or 0)] = gzip.decompress(data) if found[2] else data
    lines, error = [], False
    for number in sorted(parts, reverse=True):
        for line in parts[number].decode().splitlines():
            if line[0] not in " \t":
                error = line.split(" ")[1] == "ERROR"
            lines += [line] if error else []
    return lines
