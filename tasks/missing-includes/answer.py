"""Files that the sources of vox-bundle embed and that are not there, seen from the source that
embeds them."""

import posixpath
import re

INCLUDE = re.compile(r'\binclude_(?:str|bytes)!\(\s*"([^"]*)"\s*\)')


def expected(world, processes):
    missing = []
    for path in world.under("crates/vox-bundle"):
        if path.endswith(".rs"):
            code = "\n".join(line.partition("//")[0] for line in world.lines(path))
            for target in INCLUDE.findall(code):
                if (
                    posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
                    not in world.files
                ):
                    missing.append(f"{target} {path}")
    return missing
