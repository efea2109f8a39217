"""Version and date of each level-2 release heading of CHANGELOG.md, in the order of the file."""

import re

HEADING = re.compile(r"## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})")


def expected(world, processes):
    matches = [HEADING.fullmatch(line) for line in world.lines("CHANGELOG.md")]
    return [f"{match[1]} {match[2]}" for match in matches if match]
