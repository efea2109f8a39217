"""The events of type deploy, read as the HTML standard interprets an event stream."""

import json


def expected(world, processes):
    lines, kind, data = [], "", []
    for line in world.route("/events").body.decode().split("\n"):
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if kind == "deploy" and data:
                deploy = json.loads("\n".join(data))
                lines.append(f"{deploy['service']} {deploy['version']}")
            kind, data = "", []
        elif field == "event":
            kind = value
        elif field == "data":
            data.append(value)
    return lines
