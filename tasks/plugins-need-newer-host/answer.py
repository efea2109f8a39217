"""The plugins whose manifest requires a higher version of the API than the host has."""

import json


def expected(world, processes):
    host = _parts(json.loads(world.text("ops/host.json"))["api_version"])
    found = []
    for plugin in json.loads(world.route("/registry/index.json").body)["plugins"]:
        manifest = json.loads(world.route(plugin["manifest"]).body)
        if "requires" in manifest and _parts(manifest["requires"]["api"]) > host:
            found.append(plugin["name"])
    return found


def _parts(version):
    return tuple(int(part) for part in version.split("."))
