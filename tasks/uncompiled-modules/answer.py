"""Sources that no declaration reaches, following Rust's rules for the files of modules."""

import re

ROOT = "crates/vox-atlas/src"
MOD = re.compile(r"\s*(?:pub(?:\([^)]*\))? )?mod (\w+);")
PATH = re.compile(r'\s*#\[path = "(.+)"\]')


def expected(world, processes):
    reached, left = set(), [f"{ROOT}/lib.rs"]
    while left:
        path = left.pop()
        reached.add(path)
        folder, name = path.rsplit("/", 1)
        below = folder if name in ("lib.rs", "mod.rs") else path.removesuffix(".rs")
        given = None
        for line in world.lines(path):
            if found := PATH.match(line):
                given = found[1]
            elif found := MOD.match(line):
                places = (
                    [f"{folder}/{given}"]
                    if given
                    else [f"{below}/{found[1]}.rs", f"{below}/{found[1]}/mod.rs"]
                )
                left += [place for place in places if place in world.files]
                given = None
    return [path for path in world.under(ROOT) if path.endswith(".rs") and path not in reached]
