"""Names with a CNAME and the address at the end of their chain, by the rules of a master file."""

import re

ORIGIN = "example.net."


def expected(world, processes):
    addresses, aliases, owner, depth = {}, {}, None, 0
    for line in world.lines("ops/zone.db"):
        text = re.sub(r'"[^"]*"', '""', line).split(";")[0]
        continued, depth = depth > 0, depth + text.count("(") - text.count(")")
        fields = text.split()
        if continued or not fields or text.startswith("$"):
            continue
        if not text[0].isspace():
            owner = _absolute(fields.pop(0))
        while fields[0] == "IN" or fields[0].isdigit():
            fields.pop(0)
        if fields[0] == "A":
            addresses[owner] = fields[1]
        elif fields[0] == "CNAME":
            aliases[owner] = _absolute(fields[1])
    lines = []
    for name in aliases:
        end = name
        while end in aliases:
            end = aliases[end]
        lines += [f"{name.removesuffix('.')} {addresses[end]}"] if end in addresses else []
    return lines


def _absolute(name):
    return ORIGIN if name == "@" else name if name.endswith(".") else f"{name}.{ORIGIN}"
