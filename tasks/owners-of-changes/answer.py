"""The owners of each changed file: those of the last rule that matches it, part by part of its
path."""

from fnmatch import fnmatchcase


def expected(world, processes):
    rules = [line.split("#")[0].split() for line in world.lines(".github/CODEOWNERS")]
    lines = []
    for path in world.lines("ops/changed.txt"):
        owners = [rule[1:] for rule in rules if rule and _matches(rule[0], path.split("/"))][-1]
        lines.append(f"{path} {' '.join(owners) or '-'}")
    return lines


def _matches(pattern, path):
    parts = pattern.strip("/").split("/")
    anchored = "/" in pattern.rstrip("/")
    for start in [0] if anchored else range(len(path)):
        below = path[start:]
        if len(below) >= len(parts) and all(map(fnmatchcase, below, parts)):
            inside = len(below) > len(parts)  # the pattern names a folder above the file
            if not (pattern.endswith("/*") and inside) and not (
                pattern.endswith("/") and not inside
            ):
                return True
    return False
