"""Files and their located warnings: a `warning: ` line whose next line is an arrow and a place."""

import re
from collections import Counter
from itertools import pairwise

PLACE = re.compile(r" *--> ([^:]+):\d+:\d+")


def expected(world, processes):
    counts = Counter()
    for line, after in pairwise(world.lines("logs/build.log")):
        place = PLACE.fullmatch(after)
        if line.startswith("warning: ") and place:
            counts[place[1]] += 1
    return [f"{path} {count}" for path, count in counts.items()]
