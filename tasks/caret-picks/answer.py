"""For each wanted crate the highest release that Cargo's caret requirement allows."""

import json


def expected(world, processes):
    releases = [json.loads(line) for line in world.lines("data/registry.jsonl")]
    lines = []
    for line in world.lines("ops/wanted.txt"):
        name, wanted = line.split(" ")
        versions = [one["vers"] for one in releases if one["name"] == name and not one["yanked"]]
        lowest = _numbers(wanted)
        fitting = [
            one for one in versions if "-" not in one and lowest <= _numbers(one) < _end(*lowest)
        ]
        lines.append(f"{name} {max(fitting, key=_numbers)}")
    return lines


def _numbers(version):
    return tuple(int(part) for part in version.split("."))


def _end(major, minor, patch):
    """The first version that ^major.minor.patch excludes."""
    if major:
        return major + 1, 0, 0
    return (0, minor + 1, 0) if minor else (0, 0, patch + 1)
