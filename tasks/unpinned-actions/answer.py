"""References of the workflow files that are not pinned, each once."""

import re

USES = re.compile(r" *(?:- )?uses: *(.*)")
VALUE = re.compile(r"""(["']?)([^"'\s]+)\1(?: +#.*)?""")
PINNED = re.compile(r"[0-9a-f]{40}")


def expected(world, processes):
    names = [
        name for name in world.names_in(".github/workflows") if name.endswith((".yml", ".yaml"))
    ]
    lines = [line for name in names for line in world.lines(f".github/workflows/{name}")]
    values = {VALUE.fullmatch(found[1])[2] for line in lines if (found := USES.fullmatch(line))}
    remote = [value for value in values if not value.startswith(("./", "docker://"))]
    return sorted(value for value in remote if not PINNED.fullmatch(value.partition("@")[2]))
