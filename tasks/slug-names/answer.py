"""Sizes and new names, counted from the oldest file of each name."""

import re
from collections import Counter
from posixpath import basename, dirname


def expected(world, processes):
    files = world.under("docs/incoming")
    seen, lines = Counter(), []
    for path in sorted(files, key=world.ages.get, reverse=True):
        if dirname(path) != "docs/incoming":
            continue
        slug = re.sub("[^a-z0-9.]+", "-", basename(path).lower())
        slug = re.sub(r"-?\.-?", ".", slug).lstrip("-")
        seen[slug] += 1
        stem, _, extension = slug.rpartition(".")
        new = slug if seen[slug] == 1 else f"{stem}-{seen[slug]}.{extension}"
        lines.append(f"{len(files[path])} {new}")
    return lines
