"""The settings with the key replaced where it is."""

import json


def state(world, processes):
    names = [path.removeprefix("services/") for path in world.under("services")]
    wanted = {"services": {"files": names}}
    for path, data in world.under("services").items():
        wanted[path] = data
        if path.endswith("/settings.json"):
            value = json.loads(data)
            if "timeout_ms" in value.get("http", {}):
                value["http"]["timeout_ms"] = 5000
            wanted[path] = {"json": value}
    return wanted
