"""The entries of the manifest whose artifact is missing where the redirects end."""


def expected(world, processes):
    entries = [line.split() for line in world.route("/dist/manifest.txt").body.decode().split("\n")]
    entries = [fields for fields in entries if fields and not fields[0].startswith("#")]
    return [name for name, _, path in entries if _final(world, path).status == 404]


def _final(world, path):
    route = world.route(path)
    return _final(world, route.headers["Location"]) if "Location" in route.headers else route
