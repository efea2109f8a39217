"""The files under their new names, counted from the oldest file of each name."""

import re
from collections import Counter
from posixpath import basename, dirname

FOLDER = "docs/incoming"


def state(world, processes):
    files = world.under(FOLDER)
    seen, renamed = Counter(), {}
    for path in sorted(files, key=world.ages.get, reverse=True):
        if dirname(path) != FOLDER:
            renamed[path] = files[path]
            continue
        slug = re.sub("[^a-z0-9.]+", "-", basename(path).lower())
        slug = re.sub(r"-?\.-?", ".", slug).lstrip("-")
        seen[slug] += 1
        stem, _, extension = slug.rpartition(".")
        new = slug if seen[slug] == 1 else f"{stem}-{seen[slug]}.{extension}"
        renamed[f"{FOLDER}/{new}"] = files[path]
    names = [path.removeprefix(f"{FOLDER}/") for path in renamed]
    return {FOLDER: {"files": names}, **renamed}
