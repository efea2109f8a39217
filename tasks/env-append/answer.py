"""The lines of .env and those of the example with further keys."""

import re

LINE = re.compile(r"(\w+)=")


def state(world, processes):
    own, example = world.lines("web/.env"), world.lines("web/.env.example")
    keys = {found[1] for line in own if (found := LINE.match(line))}
    new = [line for line in example if (found := LINE.match(line)) and found[1] not in keys]
    return {
        "web/.env": {"lines": own + new},
        "web/.env.example": world.files["web/.env.example"],
        "web": {"files": [".env", ".env.example"]},
    }
