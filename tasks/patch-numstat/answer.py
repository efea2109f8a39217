"""Added and removed lines of each file, counted in its hunks as their headers say how long they
are."""

import re

HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def expected(world, processes):
    counts, own, before, after = {}, {}, 0, 0
    for line in world.lines("ops/change.patch"):
        if before or after:
            kind = line[0]
            if kind in "+-":
                own[kind] += 1
            before -= kind in " -"
            after -= kind in " +"
        elif line.startswith("diff --git "):
            path = re.fullmatch(r"diff --git a/(\S+) b/\1", line)[1]
            own = counts[path] = {"+": 0, "-": 0}
        elif found := HUNK.match(line):
            before, after = (int(count or 1) for count in found.groups())
    return [f"{count['+']} {count['-']} {path}" for path, count in counts.items()]
