"""Contractors of data/people.ldif: unfolded lines, decoded values, one entry after the other."""

import base64


def expected(world, processes):
    lines = []
    for entry in world.text("data/people.ldif").replace("\n ", "").split("\n\n"):
        values = {}
        for line in entry.split("\n"):
            name, colon, value = line.partition(":")
            if colon and not line.startswith("#"):
                text = (
                    base64.b64decode(value[1:].strip()).decode()
                    if value.startswith(":")
                    else value.strip()
                )
                values.setdefault(name, []).append(text)
        if "contractor" in values.get("employeeType", []):
            lines.append(f"{values['uid'][0]} {values['cn'][0]}")
    return lines
