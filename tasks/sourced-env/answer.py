"""The variables after both files, assignment by assignment, quotes as a POSIX shell reads them."""

import re

ASSIGNMENT = re.compile(r"(?:export +)?([A-Z_]+)=(.*)")
PIECE = re.compile(r"""'([^']*)'|"([^"]*)"|([^\s'"]+)""")
NAME = re.compile(r"\$(?:(\w+)|\{(\w+)\})")


def expected(world, processes):
    values = {}

    def expanded(text):
        return NAME.sub(lambda found: values.get(found[1] or found[2], ""), text)

    for line in (*world.lines("deploy/base.env"), *world.lines("deploy/local.env")):
        if found := ASSIGNMENT.fullmatch(line):
            name, rest, value = *found.groups(), ""
            while piece := PIECE.match(rest):
                value += expanded(piece[2] or piece[3] or "") if piece[1] is None else piece[1]
                rest = rest[piece.end() :]
            values[name] = value
    return [f"{name}={value}" for name, value in values.items()]
