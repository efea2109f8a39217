"""Keys that config/.env.example defines and config/production.env does not."""

import string

CHARACTERS = set(string.ascii_letters + string.digits + "_")


def keys(world, path):
    found = set()
    for line in world.lines(path):
        words = line.partition("=")[0].lstrip(" \t")
        if words.startswith(("export ", "export\t")):
            words = words.removeprefix("export").lstrip(" \t")
        if "=" in line and words and set(words) <= CHARACTERS:
            found.add(words)
    return found


def expected(world, processes):
    return sorted(keys(world, "config/.env.example") - keys(world, "config/production.env"))
